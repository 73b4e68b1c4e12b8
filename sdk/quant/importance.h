// Importance that says nothing, before a quantizer takes it at its word.
#pragma once

namespace tenon::quant {

// What the quantizer of a block of `n` elements in sub-blocks of `sub` weighs its columns with.
// Taken literally, importance of zero for all elements of a sub-block that are not (next to) zero
// makes their scale, and with it the weights, zero or arbitrary. So a column without importance,
// and every column of such a sub-block, counts a little instead: as much as the least of the
// others, at most a 64th of their mean. A block of nothing but such sub-blocks gives NULL: quantize
// it as without importance. Numbers so large or small that sums of products would leave the range
// of floats are scaled. All other importance comes back as it is; what is changed is written to
// `room`, n floats.
const float* telling_importance(const float* x, const float* importance, int n, int sub,
                                float* room);

}  // namespace tenon::quant
