// What the process may use, read from trees of files as control groups show them.

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "core/base/limits.h"
#include "core/base/os.h"
#include "tenon/tenon.h"
#include "tests/support/emulated.h"

using namespace tenon;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20, kGiB = uint64_t{1} << 30;

// /proc and /sys/fs/cgroup of a machine with 64 GiB, 60 of them available.
class Machine {
public:
    Machine()
        : root_(fs::temp_directory_path() / ("tenon_limits_" + std::to_string(os::now_ns()))) {
        write("proc/meminfo", "MemTotal: 67108864 kB\nMemFree: 100 kB\nMemAvailable: 1024000 kB\n");
    }
    ~Machine() { fs::remove_all(root_); }

    void write(const std::string& path, const std::string& text) {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }
    void in_groups(const std::string& text) { write("proc/self/cgroup", text); }
    os::Limits limits() const {
        return os::process_limits({(root_ / "cgroup").string(), (root_ / "proc").string()});
    }

private:
    fs::path root_;
};

constexpr uint64_t kAvailable = 1024000u * 1024;  // of Machine

TEST(Limits, WithoutGroupsAreThoseOfTheMachine) {
    const os::Limits limits = Machine().limits();
    EXPECT_GT(limits.memory_total, kMiB);
    EXPECT_EQ(limits.memory_available, kAvailable);
    EXPECT_EQ(limits.threads, os::kNoLimit);
    EXPECT_GE(limits.cpus, 1u);
}

TEST(Limits, OfAGroupOfVersion2CountCachesThatNobodyUses) {
    Machine machine;
    machine.in_groups("0::/\n");
    machine.write("cgroup/memory.max", "536870912\n");
    machine.write("cgroup/memory.current", "500000000\n");
    machine.write("cgroup/memory.stat",
                  "anon 100\nfile 450000000\ninactive_file 400000000\nactive_file 1\n");
    const os::Limits limits = machine.limits();
    EXPECT_EQ(limits.memory_total, 536870912u);
    EXPECT_EQ(limits.memory_available, 536870912u - 100000000u);
}

TEST(Limits, OfGroupsAroundTheOwnOneHoldToo) {
    Machine machine;
    machine.in_groups("0::/outer/inner\n");
    machine.write("cgroup/outer/inner/memory.max", "max\n");
    machine.write("cgroup/outer/memory.max", "268435456\n");
    machine.write("cgroup/outer/memory.current", "0\n");
    machine.write("cgroup/outer/pids.max", "100\n");
    machine.write("cgroup/outer/pids.current", "97\n");
    machine.write("cgroup/outer/inner/pids.max", "max\n");
    machine.write("cgroup/outer/inner/pids.current", "2\n");
    machine.write("cgroup/other/memory.max", "1\n");
    machine.write("cgroup/outer/inner/cpu.max", "max 100000\n");
    machine.write("cgroup/outer/cpu.max", "50000 100000\n");
    const os::Limits limits = machine.limits();
    EXPECT_EQ(limits.memory_total, 256 * kMiB);
    EXPECT_EQ(limits.memory_available, 256 * kMiB);
    EXPECT_EQ(limits.threads, 3u);
    EXPECT_EQ(limits.cpus, 1u);
}

TEST(Limits, OfVersion1AreReadPerController) {
    Machine machine;
    machine.in_groups("5:memory:/box\n4:pids:/box\n3:cpu,cpuacct:/box\n2:name=systemd:/\n0::/\n");
    machine.write("cgroup/memory/box/memory.limit_in_bytes", "268435456\n");
    machine.write("cgroup/memory/box/memory.usage_in_bytes", "300000000\n");
    machine.write("cgroup/memory/box/memory.stat", "cache 5\ntotal_inactive_file 250000000\n");
    machine.write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    machine.write("cgroup/pids/box/pids.max", "8\n");
    machine.write("cgroup/pids/box/pids.current", "9\n");
    machine.write("cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "100000\n");
    machine.write("cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    const os::Limits limits = machine.limits();
    EXPECT_EQ(limits.memory_total, 256 * kMiB);
    EXPECT_EQ(limits.memory_available, 256 * kMiB - 50000000);
    EXPECT_EQ(limits.threads, 0u);
    EXPECT_EQ(limits.cpus, 1u);
}

// A container whose own group is the mount point, though it is named by its path outside.
TEST(Limits, OfAGroupThatIsTheMountPointAreFound) {
    Machine machine;
    machine.in_groups("1:memory:/docker/0123\n0::/docker/0123\n");
    machine.write("cgroup/memory/memory.limit_in_bytes", "134217728\n");
    EXPECT_EQ(machine.limits().memory_total, 128 * kMiB);
}

TEST(Limits, OfNoMeaningAreNone) {
    Machine machine;
    machine.in_groups("nonsense\n::\n0::/a/../b\n");
    machine.write("cgroup/memory.max", "soon\n");
    machine.write("cgroup/cpu.max", "-1 0\n");
    machine.write("cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    machine.write("cgroup/cpu/cpu.cfs_period_us", "0\n");
    machine.write("cgroup/pids.max", "");
    const os::Limits limits = machine.limits();
    EXPECT_EQ(limits.memory_available, kAvailable);
    EXPECT_EQ(limits.threads, os::kNoLimit);
    EXPECT_EQ(limits.cpus, Machine().limits().cpus);
}

#ifndef __SANITIZE_ADDRESS__
TEST(Limits, OfTheAddressSpaceCount) {
    if (test::kEmulated) GTEST_SKIP() << "an emulator keeps limits of address space to itself";
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
    const rlimit less = {64 * kGiB, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &less), 0);
    const os::Limits limits = os::process_limits();
    ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
    EXPECT_LT(limits.address_space, 64 * kGiB);
    EXPECT_GT(limits.address_space, 32 * kGiB);
}
#endif

TEST(Limits, OfThisProcessAreThoseTheApiTells) {
    EXPECT_EQ(tenon_usable_cpus(), os::process_limits().cpus);
    EXPECT_LE(os::process_limits().memory_available, os::process_limits().memory_total);
}

}  // namespace
