// Steps 2, 4 and 5: what stands in the file, read without running it.

#include "loader/note.h"

#include <elf.h>

#include <cstddef>
#include <filesystem>
#include <random>

#include "tests/loader/fixture.h"

namespace tenon::test {
namespace {

using Notes = LoaderTest;

std::string number(uint64_t value, size_t n_bytes) {
    return {reinterpret_cast<const char*>(&value), n_bytes};
}

TEST_F(Notes, FileCutAnywhereIsRefusedWithoutOpeningIt) {
    const std::string whole = read_file(put("good"));
    for (size_t n = 0; n < whole.size(); n += n < 1024 ? 1 : 997) {
        write_file(path("cut.so"), whole.substr(0, n));
        tenon_note_desc note{};
        const Check no = read_note(path("cut.so"), &note);
        if (!no) {
            // Everything the program headers promise is there: only section headers are missing.
            EXPECT_GT(n, whole.size() / 2);
            continue;
        }
        EXPECT_EQ(no->word, std::string(n < 4 ? "not-elf" : "truncated")) << n << " bytes";
        EXPECT_FALSE(no->text.empty());
    }
}

TEST_F(Notes, CutFilesAreReportedAsSuch) {
    const std::string whole = read_file(put("good"));
    for (const size_t n : {3, 20, 63, 64, 200, 600}) {
        write_file(path("cut" + std::to_string(n) + ".so"), whole.substr(0, n));
    }
    const Outcome o = run();
    EXPECT_EQ(o.state("cut3.so"), "not-elf");
    for (const char* name : {"cut20.so", "cut63.so", "cut64.so", "cut200.so", "cut600.so"}) {
        EXPECT_EQ(o.state(name), "truncated") << name;
    }
    EXPECT_EQ(o.state("good.so"), "loaded");  // nobody was disturbed
}

TEST_F(Notes, OtherClassesAndByteOrdersAreRefused) {
    patch(put("good", "bits32"), EI_CLASS, number(ELFCLASS32, 1));
    patch(put("good", "big"), EI_DATA, number(ELFDATA2MSB, 1));
    const Outcome o = run();
    EXPECT_EQ(o.state("bits32.so"), "wrong-class");
    EXPECT_EQ(o.state("big.so"), "wrong-class");
}

TEST_F(Notes, OtherMachinesAreRefused) {
    patch(put("good"), offsetof(Elf64_Ehdr, e_machine), number(EM_S390, 2));
    const Outcome o = run();
    EXPECT_EQ(o.state("good.so"), "wrong-machine");
    EXPECT_NE(o.message("good.so").find("ELF machine 22"), std::string::npos);
}

TEST_F(Notes, ExecutablesAreRefused) {
    patch(put("good", "exec"), offsetof(Elf64_Ehdr, e_type), number(ET_EXEC, 2));
    std::filesystem::copy_file("/proc/self/exe", path("program.so"));
    std::filesystem::permissions(path("program.so"), std::filesystem::perms(0755));
    const Outcome o = run();
    EXPECT_EQ(o.state("exec.so"), "not-shared");
    EXPECT_EQ(o.state("program.so"), "no-note");
}

TEST_F(Notes, TooManyProgramHeadersAreRefused) {
    patch(put("good"), offsetof(Elf64_Ehdr, e_phnum), number(65535, 2));
    const Outcome o = run();
    EXPECT_EQ(o.state("good.so"), "bad-note");
    EXPECT_NE(o.message("good.so").find("65535 program headers"), std::string::npos);
}

TEST_F(Notes, DescriptorLargerThanTheFileIsBad) {
    const std::string file = put("good");
    patch(file, note_offset(read_file(file)) - 16, number(0xffffffff, 4));  // n_descsz
    const Outcome o = run();
    EXPECT_EQ(o.state("good.so"), "bad-note");
    EXPECT_NE(o.message("good.so").find("4294967295"), std::string::npos);
}

TEST_F(Notes, DescriptorSmallerThanMinorZeroIsBad) {
    const std::string file = put("good", "short");
    patch(file, note_offset(read_file(file)) - 16, number(100, 4));
    patch_note(put("good", "says_less"), [](tenon_note_desc& d) { d.desc_size = 199; });
    patch_note(put("good", "says_more"), [](tenon_note_desc& d) { d.desc_size = 201; });
    const Outcome o = run();
    EXPECT_EQ(o.state("short.so"), "bad-note");
    EXPECT_EQ(o.state("says_less.so"), "bad-note");
    EXPECT_EQ(o.state("says_more.so"), "bad-note");
}

TEST_F(Notes, TextWithoutNulIsBad) {
    const auto fill = [](char* field, size_t n) { std::fill(field, field + n, 'x'); };
    patch_note(put("good", "family"), [&](tenon_note_desc& d) { fill(d.family, sizeof d.family); });
    patch_note(put("good", "variant"),
               [&](tenon_note_desc& d) { fill(d.variant, sizeof d.variant); });
    patch_note(put("good", "id"), [&](tenon_note_desc& d) { fill(d.id, sizeof d.id); });
    patch_note(put("good", "version"),
               [&](tenon_note_desc& d) { fill(d.version, sizeof d.version); });
    const Outcome o = run();
    for (const std::string name : {"family", "variant", "id", "version"}) {
        EXPECT_EQ(o.state(name + ".so"), "bad-note");
        EXPECT_NE(o.message(name + ".so").find(name + " has no NUL"), std::string::npos);
    }
}

TEST_F(Notes, EmptyOrBrokenTextIsBad) {
    patch_note(put("good", "empty"), [](tenon_note_desc& d) { d.family[0] = 0; });
    patch_note(put("good", "bytes"), [](tenon_note_desc& d) { d.id[0] = '\xff'; });
    const Outcome o = run();
    EXPECT_EQ(o.message("empty.so"), "family is empty");
    EXPECT_EQ(o.message("bytes.so"), "id is not UTF-8");
}

TEST_F(Notes, OtherAbiVersionsAreRefused) {
    patch_note(put("good", "major"), [](tenon_note_desc& d) { d.abi_major = 2; });
    patch_note(put("good", "minor"), [](tenon_note_desc& d) { d.abi_minor_needed = 9; });
    patch_note(put("good", "layout"), [](tenon_note_desc& d) { d.tensor_layout = 2; });
    const Outcome o = run();
    EXPECT_EQ(o.state("major.so"), "abi-major");
    EXPECT_EQ(o.state("minor.so"), "abi-minor");
    EXPECT_NE(o.message("minor.so").find("needs plugin ABI 1.9"), std::string::npos);
    EXPECT_EQ(o.state("layout.so"), "tensor-layout");
    EXPECT_EQ(o.warnings(": abi-m"), 2u);
}

TEST_F(Notes, FeatureNobodyHasIsNamed) {
    patch_note(put("good"), [](tenon_note_desc& d) { d.isa_need[3] = 1u << 31; });
    const Outcome o = run();
    EXPECT_EQ(o.state("good.so"), "cpu-features");
    EXPECT_NE(o.message("good.so").find("feature-127"), std::string::npos);
}

TEST_F(Notes, MissingNoteIsNoPlugin) {
    std::filesystem::copy_file(std::string(TENON_BUILD_DIR) + "/generated/libfake_gone.so",
                               path("other.so"));
    const Outcome o = run();
    EXPECT_EQ(o.state("other.so"), "no-note");
    EXPECT_EQ(o.warnings("no-note"), 0u);
}

// Whatever the first bytes of a file say, reading them ends with a word or a whole note.
TEST_F(Notes, RandomDamageIsSurvived) {
    const std::string whole = read_file(put("good"));
    std::mt19937 random(1);
    const std::string words =
        "not-elf truncated wrong-class wrong-machine not-shared bad-note bad-elf no-note";
    for (int round = 0; round < 800; ++round) {
        std::string damaged = whole;
        for (int k = 0; k < 8; ++k) {
            damaged[random() % 1200] = static_cast<char>(random());
        }
        write_file(path("damaged.so"), damaged);
        tenon_note_desc note{};
        if (const Check no = read_note(path("damaged.so"), &note)) {
            EXPECT_NE(words.find(no->word), std::string::npos) << no->word;
        } else {
            EXPECT_NE(std::memchr(note.version, 0, sizeof note.version), nullptr);
        }
        (void)needed_libraries(path("damaged.so"));
    }
}

TEST_F(Notes, NeededLibrariesAreListed) {
    const std::vector<std::string> names = needed_libraries(put("needs_gone"));
    EXPECT_NE(std::find(names.begin(), names.end(), "libfake_gone.so"), names.end());
}

}  // namespace
}  // namespace tenon::test
