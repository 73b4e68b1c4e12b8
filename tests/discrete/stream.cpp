// The queue of a stream and the thread that works it off.

#include "tests/discrete/stream.h"

#include <chrono>
#include <cstring>

#include "tenon/kit/graph_reading.h"
#include "tenon/kit/layout.h"
#include "tests/discrete/math.h"

namespace tenon::discrete {
namespace {

constexpr size_t kQueueLength = 1024;

// Years are "for ever", and do not overflow the clock.
std::chrono::nanoseconds bounded(uint64_t timeout_ns) {
    constexpr uint64_t kLong = 1ull << 60;
    return std::chrono::nanoseconds(static_cast<int64_t>(timeout_ns < kLong ? timeout_ns : kLong));
}

}  // namespace

uint64_t Signal::record() {
    const std::lock_guard lock(mutex_);
    return ++recorded_;
}

uint64_t Signal::last() const {
    const std::lock_guard lock(mutex_);
    return recorded_;
}

void Signal::complete(uint64_t ticket) {
    {
        const std::lock_guard lock(mutex_);
        if (ticket > completed_) completed_ = ticket;
    }
    changed_.notify_all();
}

bool Signal::done(uint64_t ticket) const {
    const std::lock_guard lock(mutex_);
    return completed_ >= ticket;
}

bool Signal::wait(uint64_t ticket, uint64_t timeout_ns) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, bounded(timeout_ns), [&] { return completed_ >= ticket; });
}

bool DeviceEvent::done() {
    state_->check();
    return signal_->done(signal_->last());
}

void DeviceEvent::synchronize(uint64_t timeout_ns) {
    state_->check();
    if (!signal_->wait(signal_->last(), timeout_ns)) {
        throw Failure(TENON_E_TIMEOUT,
                      "the event took longer than " + std::to_string(timeout_ns) + " ns");
    }
}

DeviceStream::DeviceStream(std::shared_ptr<State> state)
    : state_(std::move(state)), progress_(std::make_shared<Signal>()), ring_(kQueueLength) {
    state_->check();
    worker_ = std::thread([this] { work(); });
}

DeviceStream::~DeviceStream() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
    worker_.join();
}

void DeviceStream::push(Job job) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return tail_ - head_ < ring_.size(); });
    ring_[tail_++ % ring_.size()] = std::move(job);
    lock.unlock();
    changed_.notify_all();
}

void DeviceStream::push_complete(const std::shared_ptr<Signal>& signal, uint64_t ticket) {
    Job job;
    job.kind = Job::kComplete;
    job.signal = signal;
    job.ticket = ticket;
    push(std::move(job));
}

void DeviceStream::push_wait(const std::shared_ptr<Signal>& signal, uint64_t ticket) {
    Job job;
    job.kind = Job::kWait;
    job.signal = signal;
    job.ticket = ticket;
    push(std::move(job));
}

// A job stays in the ring until it is done, so an empty ring means that all work is finished.
void DeviceStream::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return closing_ || head_ != tail_; });
        if (head_ == tail_) return;
        const Job job = ring_[head_ % ring_.size()];
        lock.unlock();
        execute(job);
        lock.lock();
        ring_[head_ % ring_.size()].signal.reset();
        ++head_;
        changed_.notify_all();
    }
}

// A lost device does no work, but nobody who waits for it may hang.
void DeviceStream::execute(const Job& job) const {
    if (job.kind == Job::kComplete) return job.signal->complete(job.ticket);
    if (state_->lost.load(std::memory_order_acquire)) return;
    switch (job.kind) {
        case Job::kSet:
            for_each_row(job.region, [&](uint64_t at, uint64_t host, uint64_t n) {
                std::memcpy(job.bytes + at, static_cast<const char*>(job.from) + host, n);
            });
            break;
        case Job::kGet:
            for_each_row(job.region, [&](uint64_t at, uint64_t host, uint64_t n) {
                std::memcpy(static_cast<char*>(job.to) + host, job.bytes + at, n);
            });
            break;
        case Job::kCopy:
            std::memmove(job.bytes, job.from, job.size);
            break;
        case Job::kNode:
            compute(*state_, *job.node);
            break;
        case Job::kWait:
            (void)job.signal->wait(job.ticket, UINT64_MAX);
            break;
        case Job::kComplete:
            break;
    }
}

void DeviceStream::run(const tenon_graph_view& graph, const tenon_run_params& params) {
    state_->check();
    if (strikes(state_->lose_device_in)) {
        state_->lost.store(true, std::memory_order_release);
        state_->check();
    }
    for (uint32_t i = 0; i < graph.n_nodes; i++) {
        if (params.should_cancel && params.should_cancel(params.cancel_arg)) {
            throw Failure(TENON_E_CANCELLED, "cancelled before node " + std::to_string(i));
        }
        const ggml_tensor* node = graph.nodes[i];
        if (!kit::computes(*node)) continue;
        Job job;
        job.node = node;
        push(std::move(job));
    }
}

void DeviceStream::synchronize(uint64_t timeout_ns) {
    {
        std::unique_lock lock(mutex_);
        const uint64_t end = tail_;
        if (!changed_.wait_for(lock, bounded(timeout_ns), [&] { return head_ >= end; })) {
            throw Failure(TENON_E_TIMEOUT, std::to_string(end - head_) + " jobs left after " +
                                               std::to_string(timeout_ns) + " ns");
        }
    }
    state_->check();
}

void DeviceStream::set(ggml_tensor& tensor, const void* src, const tenon_region& region) {
    state_->check();
    Job job;
    job.kind = Job::kSet;
    job.bytes = bytes_of(*state_, tensor);
    job.from = src;
    job.region = region;
    push(std::move(job));
}

void DeviceStream::get(const ggml_tensor& tensor, void* dst, const tenon_region& region) {
    state_->check();
    Job job;
    job.kind = Job::kGet;
    job.bytes = bytes_of(*state_, tensor);
    job.to = dst;
    job.region = region;
    push(std::move(job));
}

bool DeviceStream::copy(Stream& from, const ggml_tensor& src, ggml_tensor& dst) {
    state_->check();
    Job job;
    job.kind = Job::kCopy;
    job.bytes = bytes_of(*state_, dst);
    job.from = bytes_of(*state_, src);
    job.size = kit::span_bytes(src);
    auto& source = static_cast<DeviceStream&>(from);
    if (&source == this) {
        push(std::move(job));
        return true;
    }
    const uint64_t before = source.progress_->record();
    source.push_complete(source.progress_, before);
    push_wait(source.progress_, before);
    push(std::move(job));
    const uint64_t after = progress_->record();
    push_complete(progress_, after);
    source.push_wait(progress_, after);
    return true;
}

void DeviceStream::record(Event& event) {
    state_->check();
    const std::shared_ptr<Signal>& signal = static_cast<DeviceEvent&>(event).signal();
    push_complete(signal, signal->record());
}

void DeviceStream::wait(Event& event) {
    state_->check();
    const std::shared_ptr<Signal>& signal = static_cast<DeviceEvent&>(event).signal();
    push_wait(signal, signal->last());
}

}  // namespace tenon::discrete
