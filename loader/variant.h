// Steps 6 and 7: which files stand for the same plugin, and which variant of a family goes first.
#pragma once

#include <string>
#include <vector>

#include "loader/candidate.h"

namespace tenon {

// Step 6, in search order: refuses files that are the same as, or carry the id and variant of, one
// before them in `all` or one of `loaded`. Looks only at candidates without a state.
void refuse_duplicates(const std::vector<Candidate*>& all, const std::vector<Candidate*>& loaded);

// The variants of one family, best first: the preferred one, then larger rank, then search order,
// then name. A preference that names no usable variant is a warning that lists the valid names.
void order_variants(const std::string& family, std::vector<Candidate*>* variants);

// Why `winner` stands before `loser` in that order: "avx512 has a higher rank".
std::string why_first(const Candidate& winner, const Candidate& loser);

// Load order of families: the well-known ones, then the others in byte order, cpu last.
bool family_before(const std::string& a, const std::string& b);

// Whether it is one of the well-known families, installed or not.
bool is_family_of_ours(const std::string& family);

}  // namespace tenon
