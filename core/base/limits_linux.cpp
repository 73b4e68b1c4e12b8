// Linux: control groups, resource limits, affinity.

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/os.h"

namespace tenon::os {
namespace {

// The start of a small file; empty when it cannot be read.
std::string read_text(const std::string& path) {
    const NoCancel held_back;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    char text[8192];
    const ssize_t n = ::read(fd, text, sizeof text);
    ::close(fd);
    return n > 0 ? std::string(text, static_cast<size_t>(n)) : std::string();
}

// The number at the start of `text`, which blanks may precede. False for words ("max", "-1").
bool parse_number(std::string_view text, uint64_t* value) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return std::from_chars(text.data(), text.data() + text.size(), *value).ec == std::errc();
}

bool read_number(const std::string& path, uint64_t* value) {
    return parse_number(read_text(path), value);
}

// The number after `key` at the start of a line.
uint64_t number_of(const std::string& text, std::string_view key) {
    uint64_t value = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line(text.data() + at, end - at);
        if (line.starts_with(key) && parse_number(line.substr(key.size()), &value)) return value;
        at = end + 1;
    }
    return 0;
}

// The directories of a controller's groups, the process's own first, then those around it up to
// the mount point. A container may see its group as the mount point and yet name it by its path
// outside: directories that are not there have no files, and the walk ends at the mount point.
std::vector<std::string> groups_of(const std::string& mount, std::string path) {
    std::vector<std::string> groups;
    while (path.size() > 1) {
        groups.push_back(mount + path);
        path.resize(std::min(path.rfind('/'), path.size()));
    }
    groups.push_back(mount);
    return groups;
}

// Lines "number:controllers:path", with no controllers for version 2. `controller` "" asks for
// that; its mount point is the root or, beside version 1, unified.
std::vector<std::string> groups(const LimitSources& from, std::string_view controller) {
    const std::string text = read_text(from.proc + "/self/cgroup");
    std::string path = "/", mount;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line(text.data() + at, end - at);
        at = end + 1;
        const size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == line.npos || second == line.npos) continue;
        const std::string_view names = line.substr(first + 1, second - first - 1);
        const std::string padded = "," + std::string(names) + ",";
        const bool found = controller.empty()
                               ? names.empty()
                               : padded.find("," + std::string(controller) + ",") != padded.npos;
        if (!found) continue;
        path = line.substr(second + 1);
        mount = from.cgroup + "/" + std::string(names);
    }
    if (!controller.empty()) {
        // "cpu,cpuacct" is mounted under that name, with links of the single ones.
        std::vector<std::string> all = groups_of(from.cgroup + "/" + std::string(controller), path);
        if (!mount.empty()) {
            for (std::string& group : groups_of(mount, path)) all.push_back(std::move(group));
        }
        return all;
    }
    std::vector<std::string> all = groups_of(from.cgroup, path);
    for (std::string& group : groups_of(from.cgroup + "/unified", path)) {
        all.push_back(std::move(group));
    }
    return all;
}

// Memory of one group: its limit, and what is left of it when the caches that nobody uses are
// dropped.
struct MemoryFiles {
    const char *limit, *used, *inactive;
};
constexpr MemoryFiles kMemoryV1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                   "total_inactive_file"};
constexpr MemoryFiles kMemoryV2 = {"/memory.max", "/memory.current", "inactive_file"};

void limit_memory(const std::vector<std::string>& groups, const MemoryFiles& files, Limits& to) {
    for (const std::string& group : groups) {
        uint64_t limit, used;
        if (!read_number(group + files.limit, &limit)) continue;
        to.memory_total = std::min(to.memory_total, limit);
        if (!read_number(group + files.used, &used)) continue;
        const uint64_t cached = number_of(read_text(group + "/memory.stat"), files.inactive);
        used -= std::min(used, cached);
        to.memory_available = std::min(to.memory_available, limit - std::min(limit, used));
    }
}

void limit_memory(const LimitSources& from, Limits& limits) {
    limits.memory_total = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES))) *
                          static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const uint64_t kib = number_of(read_text(from.proc + "/meminfo"), "MemAvailable:");
    limits.memory_available = kib ? kib * 1024 : limits.memory_total;
    limit_memory(groups(from, "memory"), kMemoryV1, limits);
    limit_memory(groups(from, ""), kMemoryV2, limits);
}

uint64_t soft_limit(decltype(RLIMIT_AS) resource) {
    rlimit limit;
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
    return limit.rlim_cur;
}

void limit_resources(const LimitSources& from, Limits& limits) {
    limits.lockable_memory = soft_limit(RLIMIT_MEMLOCK);
    const uint64_t address_space = soft_limit(RLIMIT_AS);
    if (address_space == kNoLimit) return;
    uint64_t pages = 0;
    (void)read_number(from.proc + "/self/statm", &pages);
    const uint64_t mapped = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    limits.address_space = address_space - std::min(address_space, mapped);
    limits.memory_total = std::min(limits.memory_total, address_space);
    limits.memory_available = std::min(limits.memory_available, limits.address_space);
}

void limit_threads(const std::vector<std::string>& groups, Limits& limits) {
    for (const std::string& group : groups) {
        uint64_t most, now;
        if (!read_number(group + "/pids.max", &most)) continue;
        if (!read_number(group + "/pids.current", &now)) continue;
        limits.threads = std::min(limits.threads, most - std::min(most, now));
    }
}

// A quota of time per period, in CPUs rounded up.
void limit_cpus(uint64_t quota, uint64_t period, Limits& limits) {
    if (period == 0) return;
    const uint64_t cpus = std::max<uint64_t>(quota / period + (quota % period != 0), 1);
    if (cpus < limits.cpus) limits.cpus = static_cast<uint32_t>(cpus);
}

void limit_cpus(const LimitSources& from, Limits& limits) {
    for (const std::string& group : groups(from, "cpu")) {
        uint64_t quota, period;
        if (!read_number(group + "/cpu.cfs_quota_us", &quota)) continue;  // -1: none
        if (read_number(group + "/cpu.cfs_period_us", &period)) limit_cpus(quota, period, limits);
    }
    for (const std::string& group : groups(from, "")) {
        const std::string both = read_text(group + "/cpu.max");  // "quota period" or "max period"
        uint64_t quota, period;
        if (!parse_number(both, &quota)) continue;
        const size_t blank = both.find(' ');
        if (blank != both.npos && parse_number(both.substr(blank), &period)) {
            limit_cpus(quota, period, limits);
        }
    }
}

uint32_t cpus_of_affinity() {
    constexpr size_t kMaxCpus = 8192;  // more than any kernel is configured for
    const size_t size = CPU_ALLOC_SIZE(kMaxCpus);
    std::vector<unsigned char> bits(size);
    auto* set = reinterpret_cast<cpu_set_t*>(bits.data());
    const int n = ::sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 1;
    return n < 1 ? 1 : static_cast<uint32_t>(n);
}

}  // namespace

Limits process_limits(const LimitSources& from) {
    Limits limits;
    limits.cpus = cpus_of_affinity();
    limit_cpus(from, limits);
    limit_memory(from, limits);
    limit_resources(from, limits);
    limit_threads(groups(from, "pids"), limits);
    limit_threads(groups(from, ""), limits);
    return limits;
}

Limits process_limits() { return process_limits(LimitSources{}); }

}  // namespace tenon::os
