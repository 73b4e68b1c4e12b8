// What the tools share: options, misspellings, tables, numbers.

#include "tools/cli/cli.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/program.h"

using namespace tenon::cli;
using tenon::test::has;

namespace {

// What print(file) prints.
template <class Print>
std::string printed(Print&& print) {
    char* text = nullptr;
    size_t size = 0;
    std::FILE* file = open_memstream(&text, &size);
    print(file);
    std::fclose(file);
    std::string out(text, size);
    std::free(text);
    return out;
}

// The message and code of the Stop that `body` throws.
template <class Body>
std::pair<std::string, int> stopped(Body&& body) {
    try {
        body();
    } catch (const Stop& stop) {
        return {stop.what(), stop.code()};
    }
    return {"", 0};
}

po::options_description options() {
    po::options_description all;
    all.add_options()("json", "")("explain", po::value<std::string>()->implicit_value(""), "")(
        "threads", po::value<std::string>(), "")("verbose,v", counter(), "")(
        "file", po::value<std::vector<std::string>>(), "");
    return all;
}

TEST(CliOptions, StandAnywhereAndAreNeverGuessed) {
    const auto all = options();
    po::positional_options_description positional;
    positional.add("file", -1);
    const auto map = parse({"a", "--json", "b", "--threads", "3"}, all, positional);
    EXPECT_EQ(map["file"].as<std::vector<std::string>>(), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(map["threads"].as<std::string>(), "3");
    EXPECT_EQ(stopped([&] {
                  parse({"--thread", "3"}, all);
              }),
              std::pair(std::string("unknown option '--thread', nearest is '--threads'"), 2));
    EXPECT_EQ(stopped([&] { parse({"--qqqqqqq"}, all); }).first, "unknown option '--qqqqqqq'");
    EXPECT_EQ(stopped([&] { parse({"--threads"}, all); }).second, kUsage);
    EXPECT_EQ(stopped([&] { parse({"--json=3"}, all); }).second, kUsage);
    EXPECT_EQ(stopped([&] { parse({"word"}, all); }).second, kUsage);
}

TEST(CliOptions, AnOptionalValueIsTheNextWordUnlessThatIsAnOption) {
    const auto all = options();
    EXPECT_EQ(parse({"--explain", "hip"}, all)["explain"].as<std::string>(), "hip");
    EXPECT_EQ(parse({"--explain=hip"}, all)["explain"].as<std::string>(), "hip");
    const auto alone = parse({"--explain", "--json"}, all);
    EXPECT_EQ(alone["explain"].as<std::string>(), "");
    EXPECT_EQ(alone.count("json"), 1u);
    EXPECT_EQ(parse({"--explain"}, all)["explain"].as<std::string>(), "");
}

TEST(CliOptions, CountsRepeatedFlags) {
    const auto all = options();
    EXPECT_EQ(count_of(parse({}, all), "verbose"), 0);
    EXPECT_EQ(count_of(parse({"-vv"}, all), "verbose"), 2);
    EXPECT_EQ(count_of(parse({"-v", "--verbose", "-v"}, all), "verbose"), 3);
}

TEST(CliNames, NearestIsWhatWasMeant) {
    const std::vector<std::string> names{"CPU", "CUDA0", "Vulkan1"};
    EXPECT_EQ(nearest("cuda9", names), "CUDA0");
    EXPECT_EQ(nearest("vulcan1", names), "Vulkan1");
    EXPECT_EQ(nearest("vulk", names), "Vulkan1");
    EXPECT_EQ(nearest("banana", names), "");
    const auto [text, code] = stopped([&] { throw unknown_name("device", "cuda9", names); });
    EXPECT_EQ(text, "unknown device 'cuda9', nearest is 'CUDA0'; valid: CPU, CUDA0, Vulkan1");
    EXPECT_EQ(code, kUnknownName);
}

TEST(CliNames, GlobsMatchWithoutRegardToCase) {
    EXPECT_TRUE(glob_match("blk.*.attn_?.weight", "blk.12.ATTN_q.weight"));
    EXPECT_FALSE(glob_match("blk.*.attn_?.weight", "blk.12.attn_qk.weight"));
    EXPECT_TRUE(glob_match("*", ""));
    EXPECT_FALSE(glob_match("a.b", "axb"));
    EXPECT_TRUE(glob_match("*a*b*", "xxaxxbxaxb"));
}

TEST(CliNames, NumbersAreCheckedWhole) {
    EXPECT_EQ(parse_integer("--threads", "8", 1, 512), 8);
    for (const char* bad : {"", "0", "513", "8x", " 8", "99999999999999999999"}) {
        const auto [text, code] = stopped([&] { parse_integer("--threads", bad, 1, 512); });
        EXPECT_EQ(code, kUsage) << bad;
        EXPECT_TRUE(has(text, "--threads takes a number from 1 to 512")) << text;
    }
}

TEST(CliText, IsMadePrintable) {
    EXPECT_EQ(printable("a\033[1mb\x7f\n"), "a?[1mb??");
    EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
    EXPECT_EQ(printable("\xff\xc0\xaf\xed\xa0\x80"),
              std::string("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") +
                  "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m"),
              "?31m")
        << "the eight-bit escape";
    EXPECT_EQ(cut_to_width("gr\xc3\xbc\xc3\x9f"
                           "e",
                           4),
              "gr\xc3\xbc…");
    EXPECT_EQ(cut_to_width("abc", 3), "abc");
}

TEST(CliText, NumbersForPeople) {
    EXPECT_EQ(bytes_text(0), "0 B");
    EXPECT_EQ(bytes_text(1023), "1023 B");
    EXPECT_EQ(bytes_text(1536), "1.5 KiB");
    EXPECT_EQ(bytes_text((1 << 20) - 1), "1.0 MiB");
    EXPECT_EQ(count_text(7), "7");
    EXPECT_EQ(count_text(1234567), "1 234 567");
    EXPECT_EQ(time_text(0.0021), "2.1 ms");
}

Table example() {
    Table table;
    table.add_column("NAME");
    table.add_column("SIZE", Align::kRight);
    table.add_column("NOTE");
    table.add_row({"a", "1 234", ""});
    table.add_row({"a very long name indeed", "5", {"bad\n", Color::kRed}});
    return table;
}

TEST(CliTable, AlignsColumnsWithoutTrailingBlanks) {
    EXPECT_EQ(printed([](std::FILE* out) { example().print(out, {}); }),
              "NAME                      SIZE  NOTE\n"
              "a                        1 234\n"
              "a very long name indeed      5  bad?\n");
}

TEST(CliTable, CutsTextButNotNumbersOnANarrowTerminal) {
    const Terminal narrow{true, false, 24};
    EXPECT_EQ(printed([&](std::FILE* out) { example().print(out, narrow); }),
              "NAME          SIZE  NOTE\n"
              "a            1 234\n"
              "a very lon…      5  bad?\n");
}

TEST(CliTable, ColoursOnlyWhenAsked) {
    const Terminal colored{true, true, 0};
    const std::string text = printed([&](std::FILE* out) { example().print(out, colored); });
    EXPECT_TRUE(has(text, "\033[31mbad?\033[0m"));
    EXPECT_FALSE(has(printed([](std::FILE* out) { example().print(out, {}); }), "\033"));
}

TEST(CliTable, AFileIsNoTerminal) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
    const Terminal terminal = terminal_of(file.get());
    EXPECT_FALSE(terminal.is_terminal);
    EXPECT_FALSE(terminal.color);
    EXPECT_EQ(terminal.width, 0u);
    EXPECT_TRUE(terminal_of(file.get(), ColorWhen::kAlways).color);
}

TEST(CliJson, InvalidTextStillGivesAValidDocument) {
    const nlohmann::ordered_json document{{"name", "\xff\"\n"}};
    const std::string text = printed([&](std::FILE* out) { print_json(out, document); });
    EXPECT_EQ(nlohmann::json::parse(text)["name"], "\xEF\xBF\xBD\"\n");
    EXPECT_EQ(text.back(), '\n');
}

}  // namespace
