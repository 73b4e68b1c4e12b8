// Moving runs of elements as bytes, whatever their type. An element is a block of the type.
#pragma once

#include <cstdint>
#include <cstring>

namespace tenon::cpu {

template <size_t kBytes>
void move_strided(char* dst, size_t dst_stride, const char* src, size_t src_stride, int64_t n) {
    for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * dst_stride, src + i * src_stride, kBytes);
}

// n elements of `bytes` bytes, which lie `stride` bytes apart. Dense runs may overlap.
inline void move_run(char* dst, size_t dst_stride, const char* src, size_t src_stride, int64_t n,
                     size_t bytes) {
    if (dst_stride == bytes && src_stride == bytes) {
        std::memmove(dst, src, static_cast<size_t>(n) * bytes);
        return;
    }
    switch (bytes) {
        case 1:
            return move_strided<1>(dst, dst_stride, src, src_stride, n);
        case 2:
            return move_strided<2>(dst, dst_stride, src, src_stride, n);
        case 4:
            return move_strided<4>(dst, dst_stride, src, src_stride, n);
        case 8:
            return move_strided<8>(dst, dst_stride, src, src_stride, n);
    }
    for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * dst_stride, src + i * src_stride, bytes);
}

}  // namespace tenon::cpu
