// What anybody may read about plugins while loads go on: copies of the candidates' records.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "loader/candidate.h"

namespace tenon {

// Held for copies only, never while a plugin runs.
class Reports {
public:
    // Puts the record of a candidate in, or in place of its last one. `key` identifies the
    // candidate.
    void put(const std::string& key, const Report& report);

    size_t count() const;
    bool at(size_t index, Report* out) const;  // in the order of tenon_plugin_count()

private:
    struct Entry {
        std::string key;
        Report report;
    };
    static bool before(const Entry& a, const Entry& b);

    mutable std::mutex mutex_;
    std::vector<Entry> entries_;  // sorted
};

}  // namespace tenon
