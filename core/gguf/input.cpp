// Bounded, buffered reading; declared in input.h.

#include "core/gguf/input.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "core/base/bits.h"

namespace tenon::gguf {
namespace {

constexpr size_t kBuffer = 64 << 10;         // bytes read ahead at most
constexpr uint64_t kStep = 16 << 20;         // bytes a vector grows by at first
constexpr uint64_t kLargestRead = 64 << 20;  // bytes per call of the source

}  // namespace

Input::Input(const Source& source) : source_(source), end_(source.size) {
    if (source_.max_chunk == 0) source_.max_chunk = SIZE_MAX;
}

bool Input::take_buffered(void* out, uint64_t size) {
    if (buffered() < size) return false;
    if (size > 0) std::memcpy(out, buffer_.data() + taken_, size);
    taken_ += size;
    position_ += size;
    return true;
}

// One call of the source, when the buffer is used up; false when nothing comes any more.
bool Input::read_some(uint8_t* out, uint64_t size, uint64_t* got) {
    const uint64_t at = position_;
    const uint64_t want = std::min({size, kLargestRead, uint64_t{source_.max_chunk}, left()});
    if (want == 0) return false;
    *got = source_.read(source_.user, out, at, static_cast<size_t>(want));
    if (*got > want) {
        overrun_ = true;
        end_ = at;
        return false;
    }
    if (*got < want) end_ = at + *got;
    return *got > 0;
}

Error Input::ends_early(const char* field, uint64_t size) const {
    if (overrun_) {
        return fail(TENON_E_IO,
                    "%s: the reader returned more bytes than were asked for at %" PRIu64,
                    subject_.c_str(), position_);
    }
    return fail(TENON_E_IO, "%s: %s needs %" PRIu64 " bytes at %" PRIu64 ", file ends at %" PRIu64,
                subject_.c_str(), field, size, position_, end_);
}

Result<void> Input::bytes(void* out, uint64_t size, const char* field) {
    if (size > left()) return ends_early(field, size);
    auto* to = static_cast<uint8_t*>(out);
    uint64_t missing = size;
    while (missing > 0) {
        const size_t ready = std::min(missing, buffered());
        if (ready > 0) {
            take_buffered(to, ready);
        } else if (missing >= kBuffer) {
            uint64_t got = 0;
            if (!read_some(to, missing, &got)) return ends_early(field, missing);
            position_ += got;
            to += got;
            missing -= got;
            continue;
        } else {
            if (buffer_.empty()) buffer_.resize(kBuffer);
            const uint64_t ahead = std::min<uint64_t>(promised_, kBuffer - missing);
            uint64_t got = 0;
            buffered_ = taken_ = 0;
            if (!read_some(buffer_.data(), missing + ahead, &got)) {
                return ends_early(field, missing);
            }
            buffered_ = static_cast<size_t>(got);
            continue;
        }
        to += ready;
        missing -= ready;
    }
    return {};
}

Result<void> Input::append(std::vector<uint8_t>& out, uint64_t size, const char* field) {
    if (size > left()) return ends_early(field, size);
    for (uint64_t missing = size; missing > 0;) {
        const auto step = static_cast<size_t>(std::min(missing, kStep));
        const size_t before = out.size();
        out.resize(before + step);
        // The rest of the item must exist as well.
        const uint64_t promised = promised_;
        promised_ += std::min(missing - step, UINT64_MAX - promised);
        auto done = bytes(out.data() + before, step, field);
        promised_ = promised;
        if (!done) return done;
        missing -= step;
    }
    return {};
}

Result<void> Input::skip_to(uint64_t position, const char* field) {
    if (position > end_) {
        return fail(TENON_E_IO, "%s: %s starts at %" PRIu64 ", file ends at %" PRIu64,
                    subject_.c_str(), field, position, end_);
    }
    // Read-ahead covers only what was promised, and padding never is.
    taken_ = buffered_ = 0;
    position_ = position;
    return {};
}

}  // namespace tenon::gguf
