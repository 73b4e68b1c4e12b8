// Reads the ELF note of a plugin without running, mapping or trusting a byte of the file.
#pragma once

#include <string>
#include <vector>

#include "loader/candidate.h"

namespace tenon {

// The note of the file at `path`, every string of it NUL-terminated.
Check read_note(const std::string& path, tenon_note_desc* out);

// Names of the libraries the file needs (DT_NEEDED), in order; empty when it cannot be read.
std::vector<std::string> needed_libraries(const std::string& path);

}  // namespace tenon
