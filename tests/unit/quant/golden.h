// Golden data of the tensor types, as tests/golden/types/README.md describes it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/quant.h"

namespace tenon::golden {

enum Kind : uint32_t {
    kQuantPlain = 1,
    kDecodedPlain = 2,
    kQuantWeighted = 3,
    kDecodedWeighted = 4,
    kPartner = 5,
    kDot = 6,
    kQuantCpu = 8,
    kQuantRef = 9,
    kRaw = 16,
    kRawDecoded = 17,
    kRawPartner = 18,
    kRawDot = 19,
    kRawX = 20,
    kRawXDecoded = 21,
    kInputA = 32,
    kInputB = 33,
    kInputW = 34,
};

enum Case : uint32_t { kZero = 4, kSubnormal = 6, kHoles = 14 };

struct Section {
    uint32_t kind, case_id;
    uint32_t n_rows, n_per_row;
    std::vector<uint8_t> bytes;

    template <class T>
    std::vector<T> as() const {
        std::vector<T> values(bytes.size() / sizeof(T));
        std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
        return values;
    }
};

struct File {
    uint32_t type, block, block_bytes, partner;
    std::vector<Section> sections;

    const Section* find(uint32_t kind, uint32_t case_id) const {
        for (const Section& s : sections) {
            if (s.kind == kind && s.case_id == case_id) return &s;
        }
        return nullptr;
    }
};

inline std::string directory() { return std::string(TENON_TEST_DATA) + "/golden/types/"; }

inline std::vector<uint8_t> read_bytes(const std::string& name) {
    std::ifstream in(directory() + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// An empty list of sections if the file is missing or malformed.
inline File read_file(const std::string& name) {
    const std::vector<uint8_t> data = read_bytes(name);
    File file{};
    uint32_t header[8];
    if (data.size() < sizeof header || std::memcmp(data.data(), "TGT1", 4) != 0) return file;
    std::memcpy(header, data.data(), sizeof header);
    file.type = header[2];
    file.block = header[3];
    file.block_bytes = header[4];
    file.partner = header[5];
    size_t at = sizeof header;
    for (uint32_t i = 0; i < header[6]; ++i) {
        uint32_t head[4];
        uint64_t size;
        if (at + 24 > data.size()) return {};
        std::memcpy(head, data.data() + at, sizeof head);
        std::memcpy(&size, data.data() + at + 16, sizeof size);
        at += 24;
        if (size > data.size() - at) return {};
        file.sections.push_back(
            {head[0], head[1], head[2], head[3], {data.begin() + at, data.begin() + at + size}});
        at += (size + 7) / 8 * 8;
    }
    return file;
}

inline const File& inputs() {
    static const File file = read_file("inputs.bin");
    return file;
}

// Rows of numbers of a table, decimal or 0x…; the line of titles is left out.
inline std::vector<std::vector<std::string>> read_table(const std::string& name) {
    std::ifstream in(directory() + name);
    std::vector<std::vector<std::string>> rows;
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
        std::istringstream cells(line);
        std::vector<std::string> row;
        for (std::string cell; std::getline(cells, cell, '\t');) row.push_back(cell);
        rows.push_back(row);
    }
    return rows;
}

inline uint32_t hex(const std::string& text) {
    return static_cast<uint32_t>(std::stoul(text, nullptr, 16));
}

}  // namespace tenon::golden
