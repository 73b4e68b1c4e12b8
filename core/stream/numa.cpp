// NUMA: ggml_numa_init reads the nodes once; teams started later pin their members.

#include "core/stream/numa.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/base/os.h"
#include "core/base/result.h"
#include "ggml-cpu.h"

namespace tenon {
namespace {

constexpr int kMaxNodes = 8;
using Mask = std::vector<bool>;  // GGML_MAX_N_THREADS entries

struct Numa {
    std::mutex mutex;
    bool initialised = false;
    ggml_numa_strategy strategy = GGML_NUMA_STRATEGY_DISABLED;
    std::vector<Mask> nodes;
    size_t home = 0;  // node of the thread that initialised
    Mask inherited;   // affinity the process had then
};

Numa& numa() {
    static Numa* state = new Numa;
    return *state;
}

// First line of a small text file, "" when it cannot be read.
std::string first_line(const std::string& path) {
    char text[4096];
    const os::File file(os::open_file(path.c_str(), "r"));
    return file && std::fgets(text, sizeof text, file.get()) ? text : "";
}

// A kernel list of CPUs: "0-3,8,10-11".
Mask parse_cpu_list(const std::string& list) {
    Mask mask(GGML_MAX_N_THREADS);
    const char* at = list.c_str();
    while (*at >= '0' && *at <= '9') {
        char* end;
        const unsigned long first = std::strtoul(at, &end, 10);
        unsigned long last = first;
        if (*end == '-') last = std::strtoul(end + 1, &end, 10);
        for (unsigned long i = first; i <= last && i < mask.size(); ++i) mask[i] = true;
        at = *end == ',' ? end + 1 : end;
    }
    return mask;
}

// The CPU this thread runs on at the moment: field 39 of its stat file, counted from 1. The second
// field is a name in parentheses that may contain blanks.
size_t current_cpu() {
    const std::string line = first_line("/proc/thread-self/stat");
    size_t at = line.rfind(')');
    if (at == std::string::npos) return 0;
    constexpr int kFieldsAfterName = 37;
    for (int i = 0; i < kFieldsAfterName && at != std::string::npos; ++i) {
        at = line.find(' ', at + 1);
    }
    return at == std::string::npos ? 0 : std::strtoul(line.c_str() + at + 1, nullptr, 10);
}

void read_nodes(Numa& state) {
    for (int i = 0; i < kMaxNodes; ++i) {
        const std::string list =
            first_line("/sys/devices/system/node/node" + std::to_string(i) + "/cpulist");
        if (list.empty()) break;
        state.nodes.push_back(parse_cpu_list(list));
    }
    const size_t cpu = current_cpu();
    for (size_t i = 0; i < state.nodes.size(); ++i) {
        if (cpu < state.nodes[i].size() && state.nodes[i][cpu]) state.home = i;
    }
    bool inherited[GGML_MAX_N_THREADS] = {};
    os::get_thread_affinity(inherited, GGML_MAX_N_THREADS);
    state.inherited.assign(inherited, inherited + GGML_MAX_N_THREADS);
}

}  // namespace

bool numa_mask(uint32_t member, bool* mask) {
    Numa& state = numa();
    const std::lock_guard lock(state.mutex);
    if (state.nodes.size() < 2) return false;
    const Mask* chosen = nullptr;
    switch (state.strategy) {
        case GGML_NUMA_STRATEGY_DISTRIBUTE:
            chosen = &state.nodes[member % state.nodes.size()];
            break;
        case GGML_NUMA_STRATEGY_ISOLATE:
            chosen = &state.nodes[state.home];
            break;
        case GGML_NUMA_STRATEGY_NUMACTL:
            chosen = &state.inherited;
            break;
        default:
            return false;
    }
    std::copy(chosen->begin(), chosen->end(), mask);
    return true;
}

}  // namespace tenon

using namespace tenon;

extern "C" void ggml_numa_init(ggml_numa_strategy strategy) {
    guard_void([&] {
        Numa& state = numa();
        const std::lock_guard lock(state.mutex);
        if (state.initialised) {
            log(GGML_LOG_LEVEL_WARN, "numa: initialised already, the second call changes nothing");
            return;
        }
        state.initialised = true;
        state.strategy = strategy;
        read_nodes(state);
        const std::string balancing = first_line("/proc/sys/kernel/numa_balancing");
        if (state.nodes.size() > 1 && !balancing.empty() && balancing[0] != '0') {
            log(GGML_LOG_LEVEL_WARN,
                "numa: the kernel balances memory between nodes, which may slow computing down");
        }
    });
}

extern "C" bool ggml_is_numa(void) {
    Numa& state = numa();
    const std::lock_guard lock(state.mutex);
    return state.nodes.size() > 1;
}
