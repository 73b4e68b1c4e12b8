// The steps of loading that look at one candidate: what stands in the file, then what its code
// says.
#pragma once

#include "loader/candidate.h"
#include "loader/trust.h"

namespace tenon {

// Steps 1 to 5; nothing of the file runs. A candidate that fails one gets its state.
void run_file_steps(Candidate* candidate, const TrustContext& trust);

// Steps 3 to 5 for a note that is there already.
void run_note_steps(Candidate* candidate);

// Whether any glob of the comma list matches the id, family or file name. The note must be there.
bool matches_candidate(const std::string& globs, const Candidate& candidate);

// Steps 8 to 14. On success the candidate holds a registration that nobody sees yet. `trust` is for
// looking at the file once more when it changed on disk meanwhile.
bool run_code_steps(Candidate* candidate, const TrustContext& trust);

// Ends what init began.
void shut_down(const Candidate& candidate);

// Steps 11 to 14 for a table that is there already.
bool run_table_steps(Candidate* candidate);

}  // namespace tenon
