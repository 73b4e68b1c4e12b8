// Steps 6 and 7: which files stand for the same plugin, and which variant of a family goes first.

#include "loader/variant.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "core/base/log.h"
#include "core/base/settings.h"
#include "core/base/text.h"

namespace tenon {
namespace {

// What users of ggml see: accelerators in this order, the CPU last.
constexpr const char* kFamilyOrder[] = {"blas", "cann", "cuda", "hip", "sycl", "vulkan"};

size_t family_class(const std::string& family) {
    for (size_t i = 0; i < std::size(kFamilyOrder); ++i) {
        if (family == kFamilyOrder[i]) return i;
    }
    return std::size(kFamilyOrder) + (family == "cpu" ? 1 : 0);
}

// Why `later` is a double of `earlier`; empty when it is not.
std::string double_of(const Candidate& earlier, const Candidate& later) {
    if (!earlier.path.empty() && earlier.identity.same_file(later.identity)) {
        return "same file as " + earlier.report.file;
    }
    if (earlier.report.note.id == std::string(later.report.note.id) &&
        earlier.variant() == later.variant()) {
        return text("id %s, variant %s, already found in %s", later.report.note.id,
                    later.report.note.variant,
                    earlier.path.empty() ? "the program" : earlier.report.file.c_str());
    }
    return {};
}

std::string preferred_variant(const std::string& family) {
    const char* name = setting(("variant." + family).c_str());
    return name ? name : "";
}

}  // namespace

void refuse_duplicates(const std::vector<Candidate*>& all, const std::vector<Candidate*>& loaded) {
    std::vector<const Candidate*> taken(loaded.begin(), loaded.end());
    for (Candidate* candidate : all) {
        if (candidate->loaded() || candidate->refused()) continue;
        for (const Candidate* earlier : taken) {
            const std::string why = double_of(*earlier, *candidate);
            if (why.empty()) continue;
            candidate->refuse(kStepDuplicates, {"shadowed", why});
            break;
        }
        if (candidate->refused()) continue;
        candidate->pass(kStepDuplicates);
        taken.push_back(candidate);
    }
}

void order_variants(const std::string& family, std::vector<Candidate*>* variants) {
    const std::string preferred = preferred_variant(family);
    const auto is_preferred = [&](const Candidate* c) {
        return !preferred.empty() && lower(c->variant()) == lower(preferred);
    };
    std::sort(variants->begin(), variants->end(), [&](const Candidate* a, const Candidate* b) {
        const auto key = [&](const Candidate* c) {
            return std::tuple(!is_preferred(c), ~c->report.note.rank, c->order);
        };
        return key(a) != key(b) ? key(a) < key(b) : a->name() < b->name();
    });
    if (preferred.empty() || std::any_of(variants->begin(), variants->end(), is_preferred)) return;
    std::string valid;
    for (const Candidate* c : *variants) valid += (valid.empty() ? "" : ", ") + c->variant();
    log_once(GGML_LOG_LEVEL_WARN,
             "variant '%s' of family %s is unknown or unusable here; valid: %s", preferred.c_str(),
             family.c_str(), valid.c_str());
}

std::string why_first(const Candidate& winner, const Candidate& loser) {
    const std::string name = winner.variant().empty() ? winner.name() : winner.variant();
    const std::string preferred = preferred_variant(winner.family());
    if (!preferred.empty() && lower(preferred) == lower(winner.variant())) {
        return name + " was asked for";
    }
    if (winner.report.note.rank > loser.report.note.rank) return name + " has a higher rank";
    if (winner.report.note.rank == loser.report.note.rank) return name + " was found first";
    return name + " is in use";
}

bool is_family_of_ours(const std::string& family) {
    return family_class(lower(family)) != std::size(kFamilyOrder);
}

bool family_before(const std::string& a, const std::string& b) {
    const size_t ca = family_class(a), cb = family_class(b);
    return ca != cb ? ca < cb : a < b;
}

}  // namespace tenon
