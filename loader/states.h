// Every word a plugin's state may be, told once: what it means, how loudly it is logged, what
// helps.
#pragma once

#include <string_view>

#include "ggml.h"
#include "tenon/tenon.h"

namespace tenon {

struct StateRow {
    const char* word;
    uint32_t step;  // of the pipeline that gives it
    ggml_log_level level;
    tenon_status status;  // of an error about it
    tenon_state_kind kind;
    const char* help;  // what to do about it, one line
};

// NULL for a word that is none.
const StateRow* state_row(std::string_view word);

}  // namespace tenon
