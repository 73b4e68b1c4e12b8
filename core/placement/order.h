// What has to wait for what: for every pair of streams, how much of the work of one the other is
// known to come after. Only the scheduler's own calls are counted, so every run starts knowing
// nothing.
#pragma once

#include <cstdint>

#include "core/placement/image.h"

namespace tenon::placement {

class StreamOrder {
public:
    // Backends that queue work; the others finish inside the call, so nobody waits for them.
    void set_async(int b, bool async) { async_[b] = async; }
    bool is_async(int b) const { return async_[b]; }

    // Everybody may have work from elsewhere.
    void forget() {
        for (int b = 0; b < kMaxBackends; b++) ++issued_[b];
    }
    // Work was queued on b.
    void issue(int b) { ++issued_[b]; }

    // Whether later work on `a` may overlap what is queued on b now.
    bool must_wait(int a, int b) const { return async_[b] && a != b && seen_[a][b] != issued_[b]; }
    void waited(int a, int b) { seen_[a][b] = issued_[b]; }

    // The host waited for b. Streams that finish inside the call run on the host.
    bool host_must_wait(int b) const { return async_[b] && host_seen_[b] != issued_[b]; }
    void host_waited(int b) {
        host_seen_[b] = issued_[b];
        for (int a = 0; a < kMaxBackends; a++)
            seen_[a][b] = issued_[b];  // whatever is issued next is later
    }

private:
    bool async_[kMaxBackends] = {};
    uint64_t issued_[kMaxBackends] = {};
    uint64_t seen_[kMaxBackends][kMaxBackends] = {};
    uint64_t host_seen_[kMaxBackends] = {};
};

}  // namespace tenon::placement
