// Memory of a pretended device: the addresses it gives out are reserved and fault when touched; the
// bytes lie elsewhere and are reached only by the device's own code.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "tenon/plugin.hpp"

namespace tenon::discrete {

constexpr uint64_t kAlignment = 256;  // bytes, of every allocation

// What one opened device, its buffers and its streams share.
struct State {
    const tenon_host* host = nullptr;
    uint32_t serial = 0;
    uint64_t memory_total = 0;  // bytes
    std::atomic<uint64_t>* memory_used = nullptr;
    std::atomic<bool> lost{false};
    std::atomic<uint64_t> fail_alloc_in{0}, lose_device_in{0};  // 1: the next one; 0: never

    // Throws DEVICE_LOST once the device is lost.
    void check() const;
};

// Whether a countdown set by tenon.fault/1 hits with this call.
bool strikes(std::atomic<uint64_t>& countdown);

class DeviceBuffer final : public Buffer {
public:
    DeviceBuffer(std::shared_ptr<State> state, uint64_t size);
    ~DeviceBuffer() override;
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    void* base() override { return address_; }
    void set(ggml_tensor& tensor, const void* src, const tenon_region& region) override;
    void get(const ggml_tensor& tensor, void* dst, const tenon_region& region) override;
    void fill(ggml_tensor& tensor, uint8_t value, uint64_t offset, uint64_t size) override;
    bool copy(const ggml_tensor& src, ggml_tensor& dst) override;
    void clear(uint8_t value) override;

    // Where the bytes behind an address of this buffer are.
    char* bytes(const void* address) const {
        return bytes_.get() + (static_cast<const char*>(address) - address_);
    }

private:
    std::shared_ptr<State> state_;
    uint64_t size_;      // asked for
    uint64_t reserved_;  // of addresses and of memory
    char* address_;
    std::unique_ptr<char[]> bytes_;
};

// The bytes of a tensor in this plugin's memory; throws when it lies elsewhere.
char* bytes_of(const State& state, const ggml_tensor& tensor);

}  // namespace tenon::discrete
