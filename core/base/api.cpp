// Small things of the ggml API that stand on the platform alone: version, clock, files, guids.

#include <cstring>
#include <ctime>

#include "core/base/limits.h"
#include "core/base/os.h"
#include "core/base/result.h"
#include "ggml.h"
#include "tenon/tenon.h"

extern "C" const char* ggml_version() { return "0.23.0"; }
extern "C" const char* ggml_commit() { return "unknown"; }
extern "C" const char* tenon_version() { return TENON_LIBRARY_VERSION; }

extern "C" void ggml_time_init() {}
extern "C" int64_t ggml_time_ms() { return static_cast<int64_t>(tenon::os::now_ns() / 1000000); }
extern "C" int64_t ggml_time_us() { return static_cast<int64_t>(tenon::os::now_ns() / 1000); }

// Processor time of the process, in units of clock().
extern "C" int64_t ggml_cycles() { return static_cast<int64_t>(std::clock()); }
extern "C" int64_t ggml_cycles_per_ms() { return CLOCKS_PER_SEC / 1000; }

extern "C" uint32_t tenon_usable_cpus() {
    return tenon::guard<uint32_t>(1, [] { return tenon::os::process_limits().cpus; });
}

extern "C" FILE* ggml_fopen(const char* fname, const char* mode) {
    return fname && mode ? tenon::os::open_file(fname, mode) : nullptr;
}

extern "C" bool ggml_guid_matches(ggml_guid_t guid_a, ggml_guid_t guid_b) {
    return guid_a && guid_b && std::memcmp(guid_a, guid_b, sizeof(ggml_guid)) == 0;
}
