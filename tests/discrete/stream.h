// Streams and events of the discrete test plugin: a queue with a worker thread of its own.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/discrete/memory.h"

namespace tenon::discrete {

// A point in a queue that others can wait for: tickets are handed out in order and completed in
// order.
class Signal {
public:
    uint64_t record();  // hands out the next ticket
    uint64_t last() const;
    void complete(uint64_t ticket);
    bool done(uint64_t ticket) const;
    bool wait(uint64_t ticket, uint64_t timeout_ns) const;  // false: timed out

private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    uint64_t recorded_ = 0, completed_ = 0;
};

class DeviceEvent final : public Event {
public:
    explicit DeviceEvent(std::shared_ptr<State> state)
        : state_(std::move(state)), signal_(std::make_shared<Signal>()) {}
    bool done() override;
    void synchronize(uint64_t timeout_ns) override;
    const std::shared_ptr<Signal>& signal() const { return signal_; }

private:
    std::shared_ptr<State> state_;
    std::shared_ptr<Signal> signal_;
};

struct Job {
    enum Kind { kSet, kGet, kCopy, kNode, kComplete, kWait };
    Kind kind = kNode;
    char* bytes = nullptr;       // of the device
    const void* from = nullptr;  // kSet: host; kCopy: device
    void* to = nullptr;          // kGet: host
    uint64_t size = 0;           // kCopy
    tenon_region region{};       // kSet, kGet
    const ggml_tensor* node = nullptr;
    std::shared_ptr<Signal> signal;
    uint64_t ticket = 0;
};

class DeviceStream final : public Stream {
public:
    explicit DeviceStream(std::shared_ptr<State> state);
    ~DeviceStream() override;

    uint32_t offers() const noexcept override { return kCopies | kStreamCopy | kEvents; }
    void run(const tenon_graph_view& graph, const tenon_run_params& params) override;
    void synchronize(uint64_t timeout_ns) override;
    void set(ggml_tensor& tensor, const void* src, const tenon_region& region) override;
    void get(const ggml_tensor& tensor, void* dst, const tenon_region& region) override;
    bool copy(Stream& from, const ggml_tensor& src, ggml_tensor& dst) override;
    void record(Event& event) override;
    void wait(Event& event) override;

private:
    void push(Job job);
    void push_complete(const std::shared_ptr<Signal>& signal, uint64_t ticket);
    void push_wait(const std::shared_ptr<Signal>& signal, uint64_t ticket);
    void work();
    void execute(const Job& job) const;

    std::shared_ptr<State> state_;
    std::shared_ptr<Signal> progress_;  // completed by jobs of this queue
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Job> ring_;
    uint64_t head_ = 0, tail_ = 0;  // jobs taken, jobs put
    bool closing_ = false;
    std::thread worker_;
};

}  // namespace tenon::discrete
