// What anybody may read about plugins while loads go on: copies of the candidates' records.

#include "loader/reports.h"

#include <algorithm>
#include <cstring>

#include "loader/variant.h"

namespace tenon {

// Families in load order, inside one by rank; files without a note last, by name.
bool Reports::before(const Entry& a, const Entry& b) {
    if (a.report.has_note != b.report.has_note) return a.report.has_note;
    const tenon_note_desc &na = a.report.note, &nb = b.report.note;
    if (std::strcmp(na.family, nb.family) != 0) return family_before(na.family, nb.family);
    if (na.rank != nb.rank) return na.rank > nb.rank;
    return a.key < b.key;
}

void Reports::put(const std::string& key, const Report& report) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const Entry& entry) { return entry.key == key; });
    Entry entry{key, report};
    entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), entry, before),
                    std::move(entry));
}

size_t Reports::count() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
}

bool Reports::at(size_t index, Report* out) const {
    const std::lock_guard lock(mutex_);
    if (index >= entries_.size()) return false;
    *out = entries_[index].report;
    return true;
}

}  // namespace tenon
