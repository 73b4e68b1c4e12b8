// Worker teams: the threads of the process that compute. One implementation serves ggml_threadpool,
// streams without a pool, and the extension tenon.threads/1.
#pragma once

#include <cstdint>

#include "ggml-cpu.h"
#include "tenon/plugin.h"

namespace tenon {

// Threads of a compute call: `pool` if given, else the stream's own team of n members.
tenon_team* team_of_pool(ggml_threadpool* pool);

const tenon_ext_host_threads* host_threads_extension();

}  // namespace tenon
