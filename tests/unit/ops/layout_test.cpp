// Nodes and errors of the builders in layout.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::Maker;

namespace {

constexpr ggml_type kNoType = static_cast<ggml_type>(31);  // retired

TEST(OpsLayout, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_cpy(m.ctx, m.f32("a", 6, 4), m.f16("b", 4, 6)); },
         "CPY f16 [4,6,1,1] <a,b> =b 'b (copy of a)'"},
        {[](const Maker& m) { return ggml_cpy(m.ctx, m.f32("a", 6, 4), m.f16("", 4, 6)); },
         "CPY f16 [4,6,1,1] <a,> = 'a (copy)'"},
        {[](const Maker& m) { return ggml_cpy(m.ctx, m.f32("a", 6, 4), m.padded("b", 6, 4)); },
         "CPY f32 [6,4,1,1] <a,b> =base |4,48,192,192 'b (copy of a)'"},
        {[](const Maker& m) { return ggml_cast(m.ctx, m.f32("a", 256, 4), GGML_TYPE_Q4_K); },
         "CPY q4_K [256,4,1,1] <a,itself> 'a (copy)'"},
        {[](const Maker& m) { return ggml_cont(m.ctx, m.transposed("a", 6, 4)); },
         "CONT f32 [6,4,1,1] <a> 'a (cont)'"},
        {[](const Maker& m) { return ggml_cont_1d(m.ctx, m.f16("a", 6, 4), 24); },
         "CONT f16 [24,1,1,1] <a> 'a (cont)'"},
        {[](const Maker& m) { return ggml_cont_2d(m.ctx, m.f16("a", 6, 4), 12, 2); },
         "CONT f16 [12,2,1,1] <a> 'a (cont)'"},
        {[](const Maker& m) { return ggml_cont_3d(m.ctx, m.f16("a", 6, 4), 3, 4, 2); },
         "CONT f16 [3,4,2,1] <a> 'a (cont)'"},
        {[](const Maker& m) { return ggml_cont_4d(m.ctx, m.f16("a", 6, 4), 3, 2, 2, 2); },
         "CONT f16 [3,2,2,2] <a> 'a (cont)'"},
        {[](const Maker& m) { return ggml_repeat(m.ctx, m.f16("a", 3, 2), m.f32("b", 6, 2, 5)); },
         "REPEAT f16 [6,2,5,1] <a>"},
        {[](const Maker& m) { return ggml_repeat_4d(m.ctx, m.f32("a", 3, 2), 3, 4, 1, 2); },
         "REPEAT f32 [3,4,1,2] <a>"},
        {[](const Maker& m) { return ggml_repeat_4d(m.ctx, m.f32("a", 0, 2), 0, 4, 1, 2); },
         "REPEAT f32 [0,4,1,2] <a>"},
        {[](const Maker& m) { return ggml_repeat_back(m.ctx, m.f32("a", 6, 4), m.f32("b", 3)); },
         "REPEAT_BACK f32 [3,1,1,1] <a>"},
        {[](const Maker& m) { return ggml_concat(m.ctx, m.f16("a", 3, 2), m.f16("b", 3, 5), 1); },
         "CONCAT f16 [3,7,1,1] <a,b> {1}"},
        {[](const Maker& m) { return ggml_concat(m.ctx, m.f32("a", 3, 2), m.f32("b", 4, 2), 0); },
         "CONCAT f32 [7,2,1,1] <a,b>"},
    });
}

TEST(OpsLayout, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) { return ggml_cpy(m.ctx, m.f32("a", 6), m.f32("b", 5)); },
         "CPY: src1 'b' of shape [5, 1, 1, 1] has 5 elements, must have 6"},
        {[](const Maker& m) { return ggml_cast(m.ctx, m.f32("a", 6), kNoType); },
         "CPY: tensor type 31 does not exist"},
        {[](const Maker& m) { return ggml_cast(m.ctx, m.f32("a", 6), GGML_TYPE_Q8_0); },
         "CPY: tensor of q8_0, shape [6, 1, 1, 1]: 6 is not a multiple of the block size 32"},
        {[](const Maker& m) { return ggml_cont_2d(m.ctx, m.f32("a", 6), 2, 2); },
         "CONT: src0 'a' of shape [6, 1, 1, 1] has 6 elements, must have 4"},
        {[](const Maker& m) { return ggml_repeat(m.ctx, m.f32("a", 3), m.f32("b", 5)); },
         "REPEAT: src0 'a' of shape [3, 1, 1, 1] cannot be repeated to [5, 1, 1, 1]"},
        {[](const Maker& m) { return ggml_repeat_4d(m.ctx, m.f32("a", 0), 4, 1, 1, 1); },
         "REPEAT: src0 'a' of shape [0, 1, 1, 1] cannot be repeated to [4, 1, 1, 1]"},
        {[](const Maker& m) { return ggml_repeat_back(m.ctx, m.f32("a", 5), m.f32("b", 3)); },
         "REPEAT_BACK: src0 'a' of shape [5, 1, 1, 1] is no repetition of [3, 1, 1, 1]"},
        {[](const Maker& m) { return ggml_concat(m.ctx, m.f32("a", 3), m.f32("b", 3), 4); },
         "CONCAT: dim is 4, must be 0 to 3"},
        {[](const Maker& m) { return ggml_concat(m.ctx, m.f32("a", 3), m.f16("b", 3), 0); },
         "CONCAT: src0 'a' is f32, src1 'b' is f16"},
        {[](const Maker& m) { return ggml_concat(m.ctx, m.f32("a", 3), m.f32("b", 3, 2), 0); },
         "CONCAT: src0 'a' has ne[1] = 1, src1 'b' has ne[1] = 2"},
    });
}

}  // namespace
