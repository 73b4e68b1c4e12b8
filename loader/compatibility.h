// What two sides of the ABI must agree on: versions, features of the processor, tables.
#pragma once

#include <string>

#include "loader/candidate.h"

namespace tenon {

// Step 4: versions and tensor layout of a note. *detail describes what was compared.
Check check_abi(const tenon_note_desc& note, std::string* detail);

// Step 5: whether this processor and operating system have what the note needs.
Check check_cpu(const tenon_note_desc& note, std::string* detail);

// The part of step 11 that needs no note: a whole table with texts that can be read.
Check check_table_head(const tenon_plugin* table);

// Step 11: the table a plugin gave, and that it is the one its note announces.
Check check_table(const tenon_plugin* table, const tenon_note_desc& note);

// A note made from the table of a plugin that is linked in and has none.
tenon_note_desc note_of_table(const tenon_plugin& table);

// Names of feature bits: "avx2 fma", "" for none.
std::string isa_names(const uint32_t need[4]);

}  // namespace tenon
