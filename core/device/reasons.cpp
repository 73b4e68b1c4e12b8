// Why a device does not take a node, in words.

#include <iterator>

#include "tenon/tenon.h"

namespace {

// By TENON_REASON_*.
constexpr const char* kWords[] = {"none",      "unknown-op",  "not-implemented", "type",
                                  "type-mix",  "shape",       "strides",         "alignment",
                                  "too-large", "op-param",    "hardware",        "driver",
                                  "disabled",  "buffer-type", "workspace"};
static_assert(std::size(kWords) == TENON_REASON_WORKSPACE + 1);

}  // namespace

extern "C" const char* tenon_reason_word(uint32_t reason) {
    return reason < std::size(kWords) ? kWords[reason] : "unknown";
}
