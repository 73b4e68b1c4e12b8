// What the tools share: options with helpful errors, tables, progress, numbers as text, JSON
// output.
//
// A tool is `int main` = one call of run_tool around its body; the body throws Stop to end early.
// Only the tools use this: the library never prints and never throws.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/text.h"

namespace tenon::cli {

namespace po = boost::program_options;

// ---- the frame of a tool ----------------------------------------------------------------------

// Runs `body`, turns what it throws into "name: text" on stderr, and flushes `stdout`; returns the
// exit code (kFailed when stdout cannot take the output). After kUsage it points to --help. A
// mapped file that becomes shorter meanwhile ends it in words, too (files.h).
int run_tool(const char* name, const std::function<int()>& body);

// ---- options ----------------------------------------------------------------------------------

// An option that counts how often it is given: ("verbose,v", counter(), "…"); -vv is 2.
struct Count {
    int n = 0;
};
po::typed_value<Count>* counter();
int count_of(const po::variables_map& options, const char* name);  // 0 when not given

// Parses, without guessing abbreviations; options may stand anywhere. Throws Stop(kUsage) with the
// nearest valid spelling. An option with implicit_value takes the next word unless it starts with
// '-'.
po::variables_map parse(int argc, const char* const* argv, const po::options_description& options,
                        const po::positional_options_description& positional = {});
po::variables_map parse(const std::vector<std::string>& args,
                        const po::options_description& options,
                        const po::positional_options_description& positional = {});

// ---- the terminal -----------------------------------------------------------------------------

enum class ColorWhen { kAuto, kAlways, kNever };
ColorWhen parse_color(const std::string& word);  // auto, always, never; throws Stop(kUsage)

struct Terminal {
    bool is_terminal = false;
    bool color = false;
    size_t width = 0;  // columns; 0: unlimited
};
// Colour under kAuto: only on a terminal, without NO_COLOR, and with TERM not "dumb".
Terminal terminal_of(std::FILE* file, ColorWhen when = ColorWhen::kAuto);

// Opens the null device at descriptors 0 to 2 that are closed: else the first file anybody opens
// would take their place. run_tool() does it first.
void fill_closed_descriptors();

// Keeps the real stdout for the answer and points descriptor 1 at stderr, so that nothing a plugin
// prints spoils the answer. Call it before any plugin is loaded; the first call decides, later ones
// return the same stream. Never NULL: falls back to stdout.
std::FILE* answer_stream();

// Control characters become '?', invalid UTF-8 becomes U+FFFD.
std::string printable(std::string_view text);
size_t display_width(std::string_view text);                    // code points
std::string cut_to_width(std::string_view text, size_t width);  // ends in '…' when cut

// ---- tables -----------------------------------------------------------------------------------

enum class Color { kNone, kRed, kGreen, kYellow, kDim, kBold };

struct Cell {
    Cell(std::string words, Color tint = Color::kNone) : text(std::move(words)), color(tint) {}
    Cell(const char* words, Color tint = Color::kNone) : text(words), color(tint) {}
    std::string text;  // made printable by the table
    Color color;
};

enum class Align { kLeft, kRight };

// Columns two spaces apart, as wide as their longest cell; on a narrow terminal the widest
// left-aligned columns are cut. No trailing blanks.
class Table {
public:
    void add_column(std::string title, Align align = Align::kLeft);
    void add_row(std::vector<Cell> cells);  // missing cells are empty, extra ones are dropped
    bool empty() const { return rows_.empty(); }
    void print(std::FILE* out, const Terminal& terminal) const;

private:
    struct Column {
        std::string title;
        Align align;
    };
    std::vector<size_t> widths(size_t limit) const;
    void print_row(std::FILE* out, const std::vector<Cell>& cells, std::span<const size_t> widths,
                   bool color) const;
    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

// ---- progress ---------------------------------------------------------------------------------

// A bar on stderr, redrawn at most ten times a second, erased at the end; nothing at all when
// stderr is no terminal. One thread at a time.
class Progress {
public:
    Progress(std::string label, uint64_t total);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void update(uint64_t done, std::string_view note = {});
    void finish();

private:
    std::string label_;
    uint64_t total_;
    Terminal terminal_;
    uint64_t last_ns_ = 0;
    bool drawn_ = false;
};

// ---- JSON ---------------------------------------------------------------------------------------

// One document, UTF-8 (invalid text replaced), two spaces per level, newline at the end.
void print_json(std::FILE* out, const nlohmann::ordered_json& document);

}  // namespace tenon::cli
