// Processor features: names, what depends on what, the mask.

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include "core/base/cpu_features.h"
#include "tenon/plugin.h"

using namespace tenon;

namespace {

TEST(CpuFeatures, EveryBitHasAName) {
    uint64_t seen = 0;
    for (const IsaBit& row : isa_bits()) {
        EXPECT_EQ(seen & row.bit, 0u);
        EXPECT_GT(row.bit, seen);
        seen |= row.bit;
        EXPECT_STREQ(isa_bit_name(row.bit), row.name);
    }
    EXPECT_STREQ(isa_bit_name(uint64_t{1} << 63), "unknown");
    EXPECT_EQ(cpu_features().isa & ~seen, 0u);
}

TEST(CpuFeatures, RemovingWhatIsThereRecordsWhy) {
    CpuFeatures f;
    for (const IsaBit& row : isa_bits()) f.isa |= row.bit;
    const uint64_t all = f.isa;
    for (const IsaBit& row : isa_bits()) {
        CpuFeatures g = f;
        ASSERT_EQ(remove_features(g, ("-" + std::string(row.name)).c_str()), "");
        EXPECT_FALSE(g.has(row.bit));
        EXPECT_EQ(g.isa, all & ~detail::dependent_bits(row.bit));
        EXPECT_GE(g.n_masked, 1);
        EXPECT_STREQ(g.masked[0].reason, "removed by TENON_CPU_FEATURES");
    }
}

TEST(CpuFeatures, OnlyRemovalIsPossible) {
    CpuFeatures f;
    for (const char* list : {"+avx2", "avx2", "-nonsense", "- avx2", "-"}) {
        CpuFeatures g = f;
        g.isa = 1;
        EXPECT_EQ(remove_features(g, list), list);
        EXPECT_EQ(g.isa, 1u);
    }
    EXPECT_EQ(remove_features(f, ""), "");
    EXPECT_EQ(f.isa, 0u);
    EXPECT_EQ(f.n_masked, 0);
}

TEST(CpuFeatures, StrangeEntriesAreNamedAndTheOthersCount) {
    CpuFeatures f;
    const IsaBit& known = isa_bits()[0];
    f.isa = known.bit;
    EXPECT_EQ(remove_features(f, ("-nonsense,-" + std::string(known.name) + ",,x").c_str()),
              "-nonsense,x");
    EXPECT_FALSE(f.has(known.bit));
}

#if defined(__x86_64__)
TEST(CpuFeatures, ExtensionsGoWithWhatTheyExtend) {
    CpuFeatures f;
    f.isa = TENON_X86_AVX | TENON_X86_AVX2 | TENON_X86_AVX512_CORE | TENON_X86_AVX512_VNNI |
            TENON_X86_FMA | TENON_X86_BMI2 | TENON_X86_AMX_INT8;
    ASSERT_EQ(remove_features(f, "-avx512_core,-amx_int8"), "");
    EXPECT_EQ(f.isa, uint64_t{TENON_X86_AVX | TENON_X86_AVX2 | TENON_X86_FMA | TENON_X86_BMI2});
    EXPECT_EQ(f.n_masked, 3);
    ASSERT_EQ(remove_features(f, "-avx"), "");
    EXPECT_EQ(f.isa, uint64_t{TENON_X86_BMI2});
}

// The kernel lists what it enabled itself; an independent opinion.
TEST(CpuFeatures, AgreesWithTheKernel) {
    std::ifstream in("/proc/cpuinfo");
    std::string line;
    while (std::getline(in, line) && line.rfind("flags", 0) != 0) {
    }
    if (line.rfind("flags", 0) != 0) GTEST_SKIP() << "no flags in /proc/cpuinfo";
    line += " ";
    const auto kernel_has = [&](const char* flag) {
        return line.find(" " + std::string(flag) + " ") != std::string::npos;
    };
    CpuFeatures f = detail::detect_cpu();
    EXPECT_EQ(f.arch, uint32_t{TENON_ARCH_X86_64});
    EXPECT_EQ(f.has(TENON_X86_SSE42), kernel_has("sse4_2"));
    EXPECT_EQ(f.has(TENON_X86_AVX), kernel_has("avx"));
    EXPECT_EQ(f.has(TENON_X86_AVX2), kernel_has("avx2"));
    EXPECT_EQ(f.has(TENON_X86_FMA), kernel_has("fma"));
    EXPECT_EQ(f.has(TENON_X86_F16C), kernel_has("f16c"));
    EXPECT_EQ(f.has(TENON_X86_BMI2), kernel_has("bmi2"));
    EXPECT_EQ(f.has(TENON_X86_AVX512_CORE), kernel_has("avx512f") && kernel_has("avx512cd") &&
                                                kernel_has("avx512vl") && kernel_has("avx512dq") &&
                                                kernel_has("avx512bw"));
    EXPECT_EQ(f.has(TENON_X86_AVX512_VNNI), kernel_has("avx512_vnni"));
    EXPECT_EQ(f.has(TENON_X86_AVX512_BF16), kernel_has("avx512_bf16"));
}
#endif

}  // namespace
