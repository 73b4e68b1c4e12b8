// The bytes of a model file, read forwards: bounded, buffered, never past what must exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "gguf.h"

namespace tenon::gguf {

// Where bytes come from. `read` has the contract of gguf_reader_callback_t.
struct Source {
    gguf_reader_callback_t read = nullptr;
    void* user = nullptr;
    size_t max_chunk = SIZE_MAX;  // bytes per call
    uint64_t size = 0;            // bytes, or an upper bound of them
    uint64_t start = 0;           // absolute position of offset 0, for gguf_get_data_offset
};

// Reads fields one after the other. A callback may answer all or nothing, so a request never covers
// a byte that a valid file might not have: reads reach ahead only over what was promised.
class Input {
public:
    explicit Input(const Source& source);

    // What the next messages are about: "header", "key 'a.b'".
    void about(std::string subject) { subject_ = std::move(subject); }
    const std::string& subject() const { return subject_; }

    // Bytes that any valid file still has after the next item; saturates.
    void promise(uint64_t bytes) { promised_ = bytes; }

    uint64_t position() const { return position_; }  // of the next byte
    uint64_t left() const { return end_ - position_; }

    // `size` bytes into `out`; `field` names them in the error.
    Result<void> bytes(void* out, uint64_t size, const char* field);

    uint64_t buffered() const { return buffered_ - taken_; }

    // The fast path of `bytes`: false, and nothing taken, unless all of it is buffered already.
    bool take_buffered(void* out, uint64_t size);

    template <class T>
    Result<T> number(const char* field) {
        T value{};
        if (take_buffered(&value, sizeof value)) return value;
        auto done = bytes(&value, sizeof value, field);
        if (!done) return done.error();
        return value;
    }

    // `size` bytes appended to `out`, which grows only as bytes arrive.
    Result<void> append(std::vector<uint8_t>& out, uint64_t size, const char* field);

    // Moves on without reading.
    Result<void> skip_to(uint64_t position, const char* field);

private:
    bool read_some(uint8_t* out, uint64_t size, uint64_t* got);
    Error ends_early(const char* field, uint64_t size) const;

    Source source_;
    uint64_t end_;           // believed end; lowered by a short read
    uint64_t position_ = 0;  // of the next byte handed out
    uint64_t promised_ = 0;
    std::string subject_;
    bool overrun_ = false;  // the callback claimed more than was asked for
    std::vector<uint8_t> buffer_;
    size_t buffered_ = 0;  // bytes in buffer_
    size_t taken_ = 0;     // of which handed out
};

// ---- streams of C (stream_<platform>.cpp) -----------------------------------------------------

// Position of the stream; an error when it cannot seek.
Result<uint64_t> stream_position(std::FILE* file);
Result<uint64_t> stream_end(std::FILE* file);
bool stream_seek(std::FILE* file, uint64_t position);
bool is_directory(std::FILE* file);

}  // namespace tenon::gguf
