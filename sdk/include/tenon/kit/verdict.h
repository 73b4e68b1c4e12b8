// tenon/kit/verdict.h - an answer to "does this kernel compute this node?".
#pragma once

#include "tenon/kit/tag.h"
#include "tenon/plugin.h"

namespace tenon::kit {
inline namespace TENON_KIT_TAG {

// A refusal names its reason (TENON_REASON_*) and completes "because …" with a static text.
struct Verdict {
    uint32_t reason = TENON_REASON_NONE;
    const char* detail = nullptr;
    explicit constexpr operator bool() const { return reason == TENON_REASON_NONE; }
};

constexpr Verdict yes() { return {}; }
constexpr Verdict no(uint32_t reason, const char* detail) { return {reason, detail}; }

}  // namespace TENON_KIT_TAG
}  // namespace tenon::kit
