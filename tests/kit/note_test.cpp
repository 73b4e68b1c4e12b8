// Notes by name.

#include "tenon/note.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace tenon {
namespace {

constexpr tenon_note_desc kNote = Note()
                                      .family("acme")
                                      .variant("a1")
                                      .id("com.acme.a1")
                                      .version("1.2.3")
                                      .rank(20)
                                      .runs_on(TENON_ARCH_X86_64, TENON_X86_AVX2 | TENON_X86_FMA)
                                      .flags(TENON_NOTE_FORK_SAFE)
                                      .needs_abi_minor(0);

TEST(Note, SaysWhatItWasTold) {
    EXPECT_STREQ(kNote.family, "acme");
    EXPECT_STREQ(kNote.variant, "a1");
    EXPECT_STREQ(kNote.id, "com.acme.a1");
    EXPECT_STREQ(kNote.version, "1.2.3");
    EXPECT_EQ(kNote.rank, 20u);
    EXPECT_EQ(kNote.arch, uint32_t{TENON_ARCH_X86_64});
    EXPECT_EQ(kNote.isa_need[0], uint32_t{TENON_X86_AVX2 | TENON_X86_FMA});
    EXPECT_EQ(kNote.flags, uint32_t{TENON_NOTE_FORK_SAFE});
}

TEST(Note, IsByteForByteTheOneByPosition) {
    constexpr tenon_note_desc by_name =
        Note().family("acme").variant("a1").id("com.acme.a1").version("1.0");
    constexpr tenon_note_desc by_position = {sizeof(tenon_note_desc),
                                             TENON_ABI_MAJOR,
                                             TENON_ABI_MINOR,
                                             0,
                                             TENON_TENSOR_LAYOUT_1,
                                             0,
                                             TENON_ARCH_ANY,
                                             10,
                                             {0, 0, 0, 0},
                                             "acme",
                                             "a1",
                                             "com.acme.a1",
                                             "1.0"};
    EXPECT_EQ(std::memcmp(&by_name, &by_position, sizeof by_name), 0);
}

TEST(Note, ALaterTextLeavesNothingOfAnEarlierOne) {
    constexpr tenon_note_desc note =
        Note().family("a long family").family("b").variant("v").id("i").version("1");
    EXPECT_STREQ(note.family, "b");
    EXPECT_EQ(note.family[2], '\0');
}

}  // namespace
}  // namespace tenon
