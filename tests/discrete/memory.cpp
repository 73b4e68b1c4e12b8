// Buffers of the discrete test plugin: reserved addresses in front, bytes behind.

#include "tests/discrete/memory.h"

#include <sys/mman.h>

#include <cstring>

#include "tenon/kit/layout.h"

namespace tenon::discrete {
namespace {

constexpr uint64_t kPage = 4096;

std::string numbers(const char* what, uint64_t want, uint64_t have) {
    return std::string(what) + ": " + std::to_string(want) + " bytes asked, " +
           std::to_string(have) + " free";
}

}  // namespace

void State::check() const {
    if (lost.load(std::memory_order_acquire))
        throw Failure(TENON_E_DEVICE_LOST, "the device was lost");
}

bool strikes(std::atomic<uint64_t>& countdown) {
    uint64_t n = countdown.load();
    while (n > 0) {
        if (countdown.compare_exchange_weak(n, n - 1)) return n == 1;
    }
    return false;
}

DeviceBuffer::DeviceBuffer(std::shared_ptr<State> state, uint64_t size)
    : state_(std::move(state)), size_(size) {
    state_->check();
    if (strikes(state_->fail_alloc_in)) {
        throw Failure(TENON_E_NO_DEVICE_MEMORY,
                      "allocation of " + std::to_string(size) + " bytes failed on request");
    }
    const uint64_t room = state_->memory_total - state_->memory_used->load();
    if (size > room) throw Failure(TENON_E_NO_DEVICE_MEMORY, numbers("device memory", size, room));
    reserved_ = (size / kPage + 1) * kPage;
    bytes_.reset(new char[reserved_]);
    void* p =
        mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        throw Failure(TENON_E_NO_HOST_MEMORY, "no addresses left for device memory");
    address_ = static_cast<char*>(p);
    std::memset(bytes_.get(), 0xa5, reserved_);  // fresh device memory holds rubbish
    state_->memory_used->fetch_add(size_);
}

DeviceBuffer::~DeviceBuffer() {
    state_->memory_used->fetch_sub(size_);
    munmap(address_, reserved_);
}

void DeviceBuffer::set(ggml_tensor& tensor, const void* src, const tenon_region& region) {
    state_->check();
    char* to = bytes(tensor.data);
    for_each_row(region, [&](uint64_t at, uint64_t host, uint64_t n) {
        std::memcpy(to + at, static_cast<const char*>(src) + host, n);
    });
}

void DeviceBuffer::get(const ggml_tensor& tensor, void* dst, const tenon_region& region) {
    state_->check();
    const char* from = bytes(tensor.data);
    for_each_row(region, [&](uint64_t at, uint64_t host, uint64_t n) {
        std::memcpy(static_cast<char*>(dst) + host, from + at, n);
    });
}

void DeviceBuffer::fill(ggml_tensor& tensor, uint8_t value, uint64_t offset, uint64_t size) {
    state_->check();
    std::memset(bytes(tensor.data) + offset, value, size);
}

bool DeviceBuffer::copy(const ggml_tensor& src, ggml_tensor& dst) {
    state_->check();
    if (!own_buffer(src, state_->serial)) return false;
    std::memmove(bytes(dst.data), bytes_of(*state_, src), kit::span_bytes(src));
    return true;
}

void DeviceBuffer::clear(uint8_t value) {
    state_->check();
    std::memset(bytes_.get(), value, size_);
}

char* bytes_of(const State& state, const ggml_tensor& tensor) {
    Buffer* buffer = own_buffer(tensor, state.serial);
    if (!buffer) {
        throw Failure(TENON_E_INVALID,
                      std::string("tensor '") + tensor.name + "' is not in memory of this plugin");
    }
    return static_cast<DeviceBuffer*>(buffer)->bytes(tensor.data);
}

}  // namespace tenon::discrete
