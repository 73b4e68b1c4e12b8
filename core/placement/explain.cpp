// Reasons for placement: words, texts, and the functions of tenon.h that hand them out.

#include "core/placement/explain.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "core/base/log.h"
#include "core/tensor/shape.h"
#include "tenon/tenon.h"

namespace tenon::placement {
namespace {

constexpr const char* kWhyWords[] = {"fallback", "user",   "weights",   "input",
                                     "output",   "only",   "neighbour", "cheaper",
                                     "refused",  "memory", "fallback",  "untrusted"};
static_assert(std::size(kWhyWords) == static_cast<size_t>(Why::kUntrusted) + 1);

void write_verdict(const ggml_backend_sched& sched, const Item& item, int b, char* out,
                   size_t size) {
    const tenon_op_verdict* verdict = sched.verdict_of(b, item);
    const char* word = tenon_reason_word(verdict ? verdict->reason : 0u);
    const char* detail = verdict && verdict->detail ? verdict->detail : "";
    std::snprintf(out, size, "%s: %s%s%s%s", ggml_backend_name(sched.backends[b]), detail,
                  *detail ? " (" : "", word, *detail ? ")" : "");
}

void write_detail(const ggml_backend_sched& sched, const Item& item, char* out, size_t size) {
    const auto name = [&] {
        return item.about >= 0 ? sched.image.items[item.about].tensor->name : "";
    };
    const auto home = [&] {
        const ggml_backend_buffer_type* type =
            sched.type_of(item.about >= 0 ? sched.image.items[item.about] : item);
        return type ? type->name.c_str() : "";
    };
    out[0] = '\0';
    switch (item.why) {
        case Why::kWeights:
            std::snprintf(out, size, "'%s' lies in %s", name(), home());
            break;
        case Why::kInput:
            std::snprintf(out, size, "the application writes it");
            break;
        case Why::kOutput:
            std::snprintf(out, size, "writes into '%s' in %s", name(), home());
            break;
        case Why::kRefused:
            write_verdict(sched, item, item.refused_by, out, size);
            break;
        case Why::kOnly:
            std::snprintf(out, size, "no other backend runs the op");
            break;
        case Why::kNeighbour:
            if (item.about < 0) break;
            std::snprintf(out, size, item.is_view_op() ? "a view of '%s'" : "next to '%s'", name());
            break;
        case Why::kCheaper:
            if (item.about >= 0) {
                std::snprintf(out, size, "worth sending it '%s' from %s", name(), home());
            } else {
                std::snprintf(out, size, "works in the same memory");
            }
            break;
        default:
            break;
    }
}

// Split of a node: the last one that begins at or before it.
int32_t split_of(const ggml_backend_sched& sched, int32_t node) {
    size_t low = 0, high = sched.splits.size();
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        (sched.splits[middle].first <= node ? low : high) = middle;
    }
    return static_cast<int32_t>(low);
}

// Entries of a record that the caller knows of are written, no more. 0: it has no room for any.
template <class T>
bool give(T* out, T& record) {
    const size_t known = out->struct_size < sizeof(T) ? out->struct_size : sizeof(T);
    if (known < sizeof(uint32_t)) return false;
    record.struct_size = out->struct_size;
    std::memcpy(out, &record, known);
    return true;
}

}  // namespace

const char* why_word(Why why) { return kWhyWords[static_cast<size_t>(why)]; }

void write_refusals(const ggml_backend_sched& sched, const Item& item, BackendMask mask, char* out,
                    size_t size) {
    out[0] = '\0';
    size_t used = 0;
    for (int b = 0; b < sched.n && used + 4 < size; b++) {
        if (!(mask >> b & 1u)) continue;
        if (used > 0) used += static_cast<size_t>(std::snprintf(out + used, size - used, "; "));
        write_verdict(sched, item, b, out + used, size - used);
        used += std::strlen(out + used);
    }
}

}  // namespace tenon::placement

using namespace tenon;
using namespace tenon::placement;

void ggml_backend_sched::log_splits() const {
    for (size_t i = 0; i < splits.size(); i++) {
        const Split& s = splits[i];
        log(GGML_LOG_LEVEL_DEBUG, "split %zu on %s: nodes %d to %d, %d copies", i,
            ggml_backend_name(backends[s.backend]), s.first, s.end - 1,
            s.copies_end - s.copies_first);
        for (int32_t c = s.copies_first; c < s.copies_end; c++) {
            const ggml_tensor& t = *image.items[copies[c].item].tensor;
            log(GGML_LOG_LEVEL_DEBUG, "  copies '%s', %zu bytes", t.name, nbytes(t));
        }
        for (int32_t k = s.first; debug > 1 && k < s.end; k++) {
            const Item& x = image.node(static_cast<size_t>(k));
            if (x.is_view_op()) continue;
            char detail[224];
            write_detail(*this, x, detail, sizeof detail);
            log(GGML_LOG_LEVEL_DEBUG, "  node %d '%s' (%s) on %s: %s %s", k, x.tensor->name,
                ggml_op_desc(x.tensor), ggml_backend_name(backends[x.backend]), why_word(x.why),
                detail);
        }
    }
}

extern "C" {

size_t tenon_placement_count(ggml_backend_sched_t sched) {
    return sched ? sched->image.nodes.size() : 0;
}

bool tenon_placement_explain(ggml_backend_sched_t sched, size_t node, tenon_placement_node* out) {
    if (!sched || !out || node >= sched->image.nodes.size()) return false;
    const Item& x = sched->image.node(node);
    tenon_placement_node record{};
    const bool runs = !x.is_view_op();
    record.split = runs ? split_of(*sched, static_cast<int32_t>(node)) : -1;
    record.node = x.tensor;
    record.op = ggml_op_desc(x.tensor);
    record.backend = sched->backends[x.backend];
    record.device = ggml_backend_name(record.backend);
    record.reason = why_word(x.why);
    const auto copied = std::ranges::equal_range(sched->replacements, static_cast<int32_t>(node),
                                                 {}, &Replacement::node);
    record.n_copies = static_cast<uint32_t>(copied.size());
    std::snprintf(record.name, sizeof record.name, "%s", x.tensor->name);
    write_detail(*sched, x, record.detail, sizeof record.detail);
    return give(out, record);
}

bool tenon_placement_get_split(ggml_backend_sched_t sched, size_t split,
                               tenon_placement_split* out) {
    if (!sched || !out || sched->image.nodes.empty() || split >= sched->splits.size()) return false;
    const Split& s = sched->splits[split];
    tenon_placement_split record{};
    record.first_node = static_cast<uint32_t>(s.first);
    record.n_nodes = static_cast<uint32_t>(s.end - s.first);
    record.n_copies = static_cast<uint32_t>(s.copies_end - s.copies_first);
    for (int32_t c = s.copies_first; c < s.copies_end; c++) {
        record.copy_bytes += nbytes(*sched->image.items[sched->copies[c].item].tensor);
    }
    record.backend = sched->backends[s.backend];
    record.device = ggml_backend_name(record.backend);
    return give(out, record);
}

}  // extern "C"
