// Damaged plugins: whatever their headers say, opening one ends with a reason, never with the
// process.

#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "loader/note.h"
#include "tests/loader/fixture.h"

namespace tenon::test {
namespace {

using Mutants = LoaderTest;

// What a whole load of the file in a process of its own came to.
enum Ending { kLoaded = 0, kRefused = 1, kRefusedWithoutReason = 2 };

[[noreturn]] void load_and_exit(const std::string& file) {
    ::alarm(60);
    ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    tenon_setting_set("autoload", "0");
    if (tenon_plugin_load(file.c_str(), nullptr) == TENON_OK) ::_exit(kLoaded);
    const std::string reason = tenon_last_error();
    const bool has_word = reason.find(": " + file + ": ") != std::string::npos;
    ::_exit(has_word ? kRefused : kRefusedWithoutReason);
}

// The exit code, or minus the signal.
int ending_of(const std::string& file) {
    const pid_t child = ::fork();
    if (child == 0) load_and_exit(file);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// A plugin whose bytes are changed one way at a time.
class Original {
public:
    explicit Original(const std::string& path) : bytes_(read_file(path)) {
        std::memcpy(&header_, bytes_.data(), sizeof header_);
    }
    size_t size() const { return bytes_.size(); }
    size_t n_segments() const { return header_.e_phnum; }
    size_t header_at(size_t i) const { return header_.e_phoff + i * sizeof(Elf64_Phdr); }
    Elf64_Phdr segment(size_t i) const {
        Elf64_Phdr s;
        std::memcpy(&s, bytes_.data() + header_at(i), sizeof s);
        return s;
    }
    Elf64_Phdr segment_of_type(uint32_t type) const {
        for (size_t i = 0; i < n_segments(); ++i) {
            if (segment(i).p_type == type) return segment(i);
        }
        return {};
    }
    uint64_t dynamic_value(uint64_t tag) const {
        const Elf64_Phdr dynamic = segment_of_type(PT_DYNAMIC);
        for (size_t at = dynamic.p_offset; word(at) != DT_NULL; at += sizeof(Elf64_Dyn)) {
            if (word(at) == tag) return word(at + 8);
        }
        return 0;
    }
    uint64_t word(size_t at) const {
        uint64_t value = 0;
        std::memcpy(&value, bytes_.data() + at, sizeof value);
        return value;
    }
    // Without section headers, as after sstrip: only the segments count.
    void strip() {
        header_.e_shoff = 0;
        header_.e_shnum = header_.e_shstrndx = 0;
        std::memcpy(bytes_.data(), &header_, sizeof header_);
    }
    const std::string& bytes() const { return bytes_; }

private:
    std::string bytes_;
    Elf64_Ehdr header_;
};

std::string with(const Original& original, size_t at, uint64_t value, size_t n) {
    std::string mutant = original.bytes();
    std::memcpy(mutant.data() + at, &value, n);
    return mutant;
}

std::vector<uint64_t> values_near(uint64_t old, size_t file_size) {
    return {0,
            1,
            8,
            0x38,
            0xff0,
            0x1000,
            0x2000,
            0x2001,
            0x10000,
            file_size,
            old + 1,
            old - 1,
            old + 8,
            old - 8,
            old + 0x1000,
            old - 0x1000,
            old + 0x10000,
            old * 2,
            old / 2,
            0x40000000,
            1ull << 40,
            1ull << 47,
            1ull << 63,
            ~0ull - 0xfff,
            ~0ull};
}

class Runs {
public:
    Runs(std::string file, std::string what) : file_(std::move(file)), what_(std::move(what)) {}
    void run(const std::string& mutant, const std::string& change) {
        ++n_;
        write_file(file_, mutant);
        const int ending = ending_of(file_);
        if (ending == kRefused) ++refused_;
        if (ending == kLoaded || ending == kRefused) return;
        ADD_FAILURE() << what_ << ", " << change << (ending < 0 ? ": signal " : ": exit ")
                      << std::abs(ending);
    }
    void expect_most_refused() const {
        EXPECT_GT(refused_, n_ / 2) << what_;
        EXPECT_LT(refused_, n_) << what_;
        ::testing::Test::RecordProperty("mutants", static_cast<int>(n_));
    }

private:
    std::string file_, what_;
    size_t n_ = 0, refused_ = 0;
};

std::string change_text(const char* what, size_t index, const char* field, uint64_t value) {
    char text[128];
    std::snprintf(text, sizeof text, "%s %zu, %s = 0x%llx", what, index, field,
                  static_cast<unsigned long long>(value));
    return text;
}

TEST_F(Mutants, EveryProgramHeaderFieldIsSurvived) {
    Original original(put("good"));
    original.strip();
    ASSERT_EQ(ending_of(path("good.so")), kLoaded);
    Runs runs(path("mutant.so"), "good.so without sections");
    constexpr uint32_t kTypes[] = {PT_NULL,         PT_LOAD,      PT_DYNAMIC,      PT_INTERP,
                                   PT_NOTE,         PT_PHDR,      PT_TLS,          PT_GNU_STACK,
                                   PT_GNU_EH_FRAME, PT_GNU_RELRO, PT_GNU_PROPERTY, 0x60000000};
    const char* const fields[] = {"offset", "vaddr", "paddr", "filesz", "memsz", "align"};
    for (size_t i = 0; i < original.n_segments(); ++i) {
        const size_t at = original.header_at(i);
        for (const uint32_t type : kTypes) {
            runs.run(with(original, at, type, 4), change_text("header", i, "type", type));
        }
        for (const uint32_t flags : {0, 1, 2, 3, 4, 5, 6, 7, 0x100}) {
            runs.run(with(original, at + 4, flags, 4), change_text("header", i, "flags", flags));
        }
        for (size_t k = 0; k < std::size(fields); ++k) {
            const size_t field_at = at + 8 + k * 8;
            for (const uint64_t value : values_near(original.word(field_at), original.size())) {
                runs.run(with(original, field_at, value, 8),
                         change_text("header", i, fields[k], value));
            }
        }
    }
    runs.expect_most_refused();
}

// Damage that leaves a file in order, like a changed instruction: a function of the linker's that
// begins elsewhere in the code, relocations that end early.
bool nobody_can_tell(uint64_t tag, uint64_t old, uint64_t value) {
    const bool begins_elsewhere = tag == DT_INIT || tag == DT_FINI;
    const bool ends_early = (tag == DT_PLTRELSZ || tag == DT_RELASZ) && value < old;
    return begins_elsewhere || ends_early;
}

TEST_F(Mutants, EveryDynamicEntryIsSurvived) {
    Original original(put("good"));
    original.strip();
    Runs runs(path("mutant.so"), "good.so without sections");
    std::vector<uint64_t> tags = {DT_GNU_HASH, DT_VERSYM,    DT_VERNEED, DT_VERNEEDNUM,
                                  DT_VERDEF,   DT_RELACOUNT, DT_FLAGS_1, DT_AUXILIARY & 0xffffffffu,
                                  0x6000000f,  0x70000003};
    for (uint64_t tag = 0; tag <= DT_RELRENT; ++tag) tags.push_back(tag);
    const Elf64_Phdr dynamic = original.segment_of_type(PT_DYNAMIC);
    for (size_t i = 0; i < dynamic.p_filesz / sizeof(Elf64_Dyn); ++i) {
        const size_t at = dynamic.p_offset + i * sizeof(Elf64_Dyn);
        for (const uint64_t tag : tags) {
            runs.run(with(original, at, tag, 8), change_text("entry", i, "tag", tag));
        }
        const uint64_t tag = original.word(at), old = original.word(at + 8);
        for (const uint64_t value : values_near(old, original.size())) {
            if (nobody_can_tell(tag, old, value)) continue;
            runs.run(with(original, at + 8, value, 8), change_text("entry", i, "value", value));
        }
        if (tag == DT_NULL) break;
    }
    runs.expect_most_refused();
}

// Headers, notes, the hash table, versions of symbols: a few bytes at a time. Not the relocations
// and symbols, which say what code and data are.
TEST_F(Mutants, RandomDamageOfTablesIsSurvived) {
    Original original(put("good"));
    original.strip();
    Runs runs(path("mutant.so"), "good.so without sections");
    const uint64_t symbols = original.dynamic_value(DT_SYMTAB);
    const uint64_t versions = original.dynamic_value(DT_VERSYM);
    const uint64_t relocations = original.dynamic_value(DT_RELA);
    ASSERT_LT(symbols, versions);
    ASSERT_LT(versions, relocations);
    std::mt19937 random(17);
    for (int round = 0; round < 1500; ++round) {
        std::string mutant = original.bytes();
        std::string change = "round " + std::to_string(round) + ":";
        for (uint32_t k = 0, n = 1 + random() % 3; k < n; ++k) {
            const size_t at =
                random() % 4 ? random() % symbols : versions + random() % (relocations - versions);
            const auto value = static_cast<char>(random() % 3 == 0 ? 0xff : random());
            mutant[at] = value;
            change += " " + std::to_string(at) + "=" + std::to_string(static_cast<uint8_t>(value));
        }
        runs.run(mutant, change);
    }
}

// With section headers the segments' story is told twice, and what one of them says alone is seen.
TEST_F(Mutants, BytesOfTheWrongPlaceAreSeenByTheSections) {
    const Original original(put("good"));
    for (size_t i = 0; i < original.n_segments(); ++i) {
        const Elf64_Phdr s = original.segment(i);
        if (s.p_type != PT_LOAD || !(s.p_flags & PF_W)) continue;
        write_file(path("mutant.so"),
                   with(original, original.header_at(i) + offsetof(Elf64_Phdr, p_memsz), s.p_filesz,
                        sizeof s.p_memsz));
        EXPECT_EQ(ending_of(path("mutant.so")), kRefused);  // nothing is left of .bss
        tenon_note_desc note{};
        const Check no = read_note(path("mutant.so"), &note);
        ASSERT_TRUE(no);
        EXPECT_STREQ(no->word, "bad-elf");
        EXPECT_NE(no->text.find("section"), std::string::npos) << no->text;
    }
}

}  // namespace
}  // namespace tenon::test
