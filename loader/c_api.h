// What the C functions of the loader share: records of any length, statuses from results.
#pragma once

#include <algorithm>
#include <cstring>

#include "core/base/result.h"

namespace tenon {

// Writes a record as far as the caller's struct_size allows, which stays. False without a record.
template <class T>
bool write_record(T* out, const T& record) {
    if (!out || out->struct_size < sizeof out->struct_size) return false;
    const uint32_t size = out->struct_size;
    std::memcpy(static_cast<void*>(out), &record, std::min<size_t>(size, sizeof record));
    out->struct_size = size;
    return true;
}

// Runs a body that gives Result<void>; its error becomes the thread's message and the status.
template <class Body>
tenon_status status_of_call(Body&& body) {
    return guard<tenon_status>(TENON_E_INTERNAL, [&]() -> tenon_status {
        const Result<void> ok = body();
        if (ok) return TENON_OK;
        report(ok.error());
        return ok.error().code;
    });
}

}  // namespace tenon
