// Text on a terminal: printable text, tables and the progress bar; declared in cli.h.

#include <algorithm>
#include <chrono>
#include <numeric>

#include "tools/cli/cli.h"

namespace tenon::cli {
namespace {

constexpr const char kReplacement[] = "\xEF\xBF\xBD";  // U+FFFD
constexpr const char kEllipsis[] = "…";
constexpr size_t kGap = 2;        // blanks between columns
constexpr size_t kNarrowest = 8;  // a column is never cut below this

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Bytes of the UTF-8 character at the start of `text`, 0 when it is invalid (overlong forms,
// surrogates and numbers past U+10FFFF included).
size_t character_bytes(std::string_view text) {
    const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = at(0);
    if (first < 0x80) return 1;
    const size_t n = first >= 0xC2 && first <= 0xDF   ? 2
                     : first >= 0xE0 && first <= 0xEF ? 3
                     : first >= 0xF0 && first <= 0xF4 ? 4
                                                      : 0;
    if (n == 0 || text.size() < n) return 0;
    for (size_t i = 1; i < n; ++i) {
        if (!is_continuation(text[i])) return 0;
    }
    if (first == 0xE0 && at(1) < 0xA0) return 0;
    if (first == 0xED && at(1) > 0x9F) return 0;
    if (first == 0xF0 && at(1) < 0x90) return 0;
    if (first == 0xF4 && at(1) > 0x8F) return 0;
    return n;
}

const char* escape_of(Color color) {
    switch (color) {
        case Color::kNone:
            return "";
        case Color::kRed:
            return "\033[31m";
        case Color::kGreen:
            return "\033[32m";
        case Color::kYellow:
            return "\033[33m";
        case Color::kDim:
            return "\033[2m";
        case Color::kBold:
            return "\033[1m";
    }
    return "";
}

uint64_t now_ns() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const size_t n = character_bytes(text);
        const auto first = static_cast<unsigned char>(text[0]);
        const bool c1 = n == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
        if (n == 0) {
            out += kReplacement;
        } else if (first < 0x20 || first == 0x7F || c1) {
            out += '?';
        } else {
            out += text.substr(0, n);
        }
        text.remove_prefix(std::max<size_t>(n, 1));
    }
    return out;
}

size_t display_width(std::string_view text) {
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string cut_to_width(std::string_view text, size_t width) {
    if (display_width(text) <= width) return std::string(text);
    if (width == 0) return {};
    size_t bytes = 0;
    for (size_t seen = 0; bytes < text.size(); ++bytes) {
        if (!is_continuation(text[bytes]) && seen++ == width - 1) break;
    }
    return std::string(text.substr(0, bytes)) + kEllipsis;
}

void Table::add_column(std::string title, Align align) {
    columns_.push_back({std::move(title), align});
}

void Table::add_row(std::vector<Cell> cells) {
    cells.resize(columns_.size(), Cell(""));
    for (Cell& cell : cells) cell.text = printable(cell.text);
    rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::widths(size_t limit) const {
    std::vector<size_t> width;
    for (size_t c = 0; c < columns_.size(); ++c) {
        size_t widest = display_width(columns_[c].title);
        for (const auto& row : rows_) widest = std::max(widest, display_width(row[c].text));
        width.push_back(widest);
    }
    if (limit == 0 || columns_.empty()) return width;
    const auto total = [&] {
        return std::accumulate(width.begin(), width.end(), kGap * (width.size() - 1));
    };
    while (total() > limit) {
        // Numbers that are cut would lie, so only text columns give way.
        size_t widest = columns_.size();
        for (size_t c = 0; c < columns_.size(); ++c) {
            if (columns_[c].align != Align::kLeft || width[c] <= kNarrowest) continue;
            if (widest == columns_.size() || width[c] > width[widest]) widest = c;
        }
        if (widest == columns_.size()) break;
        --width[widest];
    }
    return width;
}

void Table::print_row(std::FILE* out, const std::vector<Cell>& cells, std::span<const size_t> width,
                      bool color) const {
    std::string line;
    size_t blanks = 0;  // held back until something follows
    for (size_t c = 0; c < columns_.size(); ++c) {
        const std::string text = cut_to_width(cells[c].text, width[c]);
        const size_t pad = width[c] - std::min(width[c], display_width(text));
        if (c > 0) blanks += kGap;
        if (columns_[c].align == Align::kRight) blanks += pad;
        if (!text.empty()) {
            line.append(blanks, ' ');
            blanks = 0;
            const bool tinted = color && cells[c].color != Color::kNone;
            if (tinted) line += escape_of(cells[c].color);
            line += text;
            if (tinted) line += "\033[0m";
        }
        if (columns_[c].align == Align::kLeft) blanks += pad;
    }
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), out);
}

void Table::print(std::FILE* out, const Terminal& terminal) const {
    const std::vector<size_t> width = widths(terminal.width);
    std::vector<Cell> titles;
    for (const Column& column : columns_) titles.emplace_back(column.title, Color::kBold);
    print_row(out, titles, width, terminal.color);
    for (const auto& row : rows_) print_row(out, row, width, terminal.color);
}

Progress::Progress(std::string label, uint64_t total)
    : label_(std::move(label)), total_(total), terminal_(terminal_of(stderr)) {}

Progress::~Progress() { finish(); }

void Progress::update(uint64_t done, std::string_view note) {
    if (!terminal_.is_terminal) return;
    const uint64_t now = now_ns();
    if (drawn_ && now - last_ns_ < 100'000'000) return;
    last_ns_ = now;
    drawn_ = true;
    constexpr size_t kBar = 24;
    const double part =
        total_ == 0 ? 1.0
                    : static_cast<double>(std::min(done, total_)) / static_cast<double>(total_);
    const auto filled = static_cast<size_t>(part * kBar);
    std::string line =
        format("%s [%s%s] %3.0f%% ", label_.c_str(), std::string(filled, '#').c_str(),
               std::string(kBar - filled, '.').c_str(), part * 100);
    line += printable(note);
    // One column stays free: a full line would wrap.
    if (terminal_.width > 1) line = cut_to_width(line, terminal_.width - 1);
    std::fprintf(stderr, "\r%s\033[K", line.c_str());
    std::fflush(stderr);
}

void Progress::finish() {
    if (!drawn_) return;
    drawn_ = false;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
}

}  // namespace tenon::cli
