// One axis of a convolution or of pooling: which input a tap of an output position reads.
#pragma once

#include "plugins/cpu/kernel.h"

namespace tenon::cpu {

struct Axis {
    int64_t n_in = 1, n_out = 1, n_taps = 1;
    int64_t stride = 1, padding = 0, dilation = 1;

    // May lie outside [0, n_in): padding.
    int64_t input(int64_t out, int64_t tap) const {
        return out * stride + tap * dilation - padding;
    }
    bool has(int64_t in) const { return in >= 0 && in < n_in; }

    // The outputs whose `tap` falls inside the input.
    Range outputs_inside(int64_t tap) const {
        const int64_t first = input(0, tap);
        return clipped(steps_up(-first, stride), steps_up(n_in - first, stride), n_out);
    }
    // The taps of `out` that fall inside the input.
    Range taps_inside(int64_t out) const {
        const int64_t first = input(out, 0);
        return clipped(steps_up(-first, dilation), steps_up(n_in - first, dilation), n_taps);
    }

    bool is_sane() const { return stride >= 1 && dilation >= 1; }

private:
    // The least i >= 0 with i*step >= distance.
    static int64_t steps_up(int64_t distance, int64_t step) {
        if (distance <= 0) return 0;
        return step == 1 ? distance : (distance + step - 1) / step;
    }
    static Range clipped(int64_t begin, int64_t end, int64_t n) {
        begin = std::min(begin, n);
        return {begin, std::clamp(end, begin, n)};
    }
};

}  // namespace tenon::cpu
