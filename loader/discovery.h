// Where plugins are looked for, in order, and the files that are there.
#pragma once

#include <string>
#include <vector>

#include "loader/candidate.h"

namespace tenon {

// One directory of the search, or one file somebody named.
struct SearchPlace {
    std::string path;
    std::string origin;              // as tenon_directory.origin
    std::string state;               // ok, missing, unreadable, relative, ignored
    std::string detail;              // for people
    bool is_file = false;            // `path` is the plugin itself
    bool by_name = false;            // the user named that file: a refusal is an error
    TrustPlace trust;                // who may own what is there
    std::vector<std::string> files;  // full paths, in byte order of their names
};

// The places of the default search, or `application_directory` only when that is not NULL. Reads
// the settings and the directories; a directory that cannot be read is reported, not an error.
std::vector<SearchPlace> search_places(const char* application_directory);

// The name made absolute with the working directory; links stay.
std::string absolute(const std::string& path);

}  // namespace tenon
