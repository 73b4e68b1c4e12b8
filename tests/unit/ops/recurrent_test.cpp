// Nodes and errors of the builders in recurrent.

#include <gtest/gtest.h>

#include "tests/support/op_nodes.h"

using tenon::test::expect_errors;
using tenon::test::expect_nodes;
using tenon::test::Maker;

namespace {

// n 6, p 3, h 4, g 2, t 5, seqs 2; a shape is changed by naming it.
struct Scan {
    int64_t s_p = 3, s_h = 4, dt_t = 5, a_rows = 1, a_h = 4, b_n = 6, b_t = 5, b_seqs = 2, ids = 2;
    ggml_type ids_type = GGML_TYPE_I32;
    int64_t slots = 1;
};

ggml_tensor* ssm_scan(const Maker& m, const Scan& c) {
    return ggml_ssm_scan(
        m.ctx, m.f32("s", 6, c.s_p, c.s_h, 7), m.f32("x", 3, 4, 5, 2), m.f32("dt", 4, c.dt_t, 2),
        m.f32("A", c.a_rows, c.a_h), m.f32("B", c.b_n, 2, c.b_t, c.b_seqs),
        m.f32("C", c.b_n, 2, c.b_t, c.b_seqs), m("ids", c.ids_type, c.ids), c.slots);
}

ggml_tensor* wkv6(const Maker& m, int64_t k_h, int64_t tf_h, int64_t state) {
    return ggml_rwkv_wkv6(m.ctx, m.f32("k", 4, k_h, 6), m.f32("v", 4, 3, 6), m.f32("r", 4, 3, 6),
                          m.f32("tf", 4, tf_h), m.f32("td", 4, 3, 6), m.f32("state", state, 2));
}

ggml_tensor* gla(const Maker& m, int64_t g_t, int64_t state) {
    return ggml_gated_linear_attn(m.ctx, m.f32("k", 4, 3, 6), m.f32("v", 4, 3, 6),
                                  m.f32("q", 4, 3, 6), m.f32("g", 4, 3, g_t),
                                  m.f32("state", state, 2), 0.5f);
}

ggml_tensor* wkv7(const Maker& m, int64_t r_t, int64_t a_t, int64_t state) {
    return ggml_rwkv_wkv7(m.ctx, m.f32("r", 4, 3, r_t), m.f32("w", 4, 3, 6), m.f32("k", 4, 3, 6),
                          m.f32("v", 4, 3, 6), m.f32("a", 4, 3, a_t), m.f32("b", 4, 3, 6),
                          m.f32("state", state, 2));
}

// s 4, heads 6 (2 of keys), t 5, b 2
struct Delta {
    int64_t k_heads = 2, k_b = 2, gates = 1, beta = 1, state_h = 6, slots = 1;
    ggml_type v_type = GGML_TYPE_F32;
};

ggml_tensor* delta(const Maker& m, const Delta& c) {
    return ggml_gated_delta_net(m.ctx, m.f32("q", 4, c.k_heads, 5, c.k_b),
                                m.f32("k", 4, c.k_heads, 5, c.k_b), m("v", c.v_type, 4, 6, 5, 2),
                                m.f32("g", c.gates, 6, 5, 2), m.f32("beta", c.beta, 6, 5, 2),
                                m.f32("state", 4, 4, c.state_h, 2), c.slots);
}

TEST(OpsRecurrent, NodesAreAsSpecified) {
    expect_nodes({
        {[](const Maker& m) { return ggml_ssm_conv(m.ctx, m.f32("x", 7, 3, 2), m.f32("c", 4, 3)); },
         "SSM_CONV f32 [3,4,2,1] <x,c>"},
        // 3*4*5*2 outputs, K * 6*3*4*2 states
        {[](const Maker& m) { return ssm_scan(m, {}); },
         "SSM_SCAN f32 [264,1,1,1] <s,x,dt,A,B,C,ids> {1}"},
        {[](const Maker& m) { return ssm_scan(m, {.slots = 3}); },
         "SSM_SCAN f32 [552,1,1,1] <s,x,dt,A,B,C,ids> {3}"},
        {[](const Maker& m) { return ssm_scan(m, {.a_rows = 6}); },
         "SSM_SCAN f32 [264,1,1,1] <s,x,dt,A,B,C,ids> {1}"},
        {[](const Maker& m) { return wkv6(m, 3, 3, 48); },
         "RWKV_WKV6 f32 [12,14,1,1] <k,v,r,tf,td,state>"},
        {[](const Maker& m) { return gla(m, 6, 48); },
         "GATED_LINEAR_ATTN f32 [12,14,1,1] <k,v,q,g,state> {0.5f}"},
        {[](const Maker& m) { return wkv7(m, 6, 6, 48); },
         "RWKV_WKV7 f32 [12,14,1,1] <r,w,k,v,a,b,state>"},
        // 4*6 wide; 5*2 tokens, K * 4*2 rows of states
        {[](const Maker& m) { return delta(m, {}); },
         "GATED_DELTA_NET f32 [24,18,1,1] <q,k,v,g,beta,state> {1}"},
        {[](const Maker& m) { return delta(m, {.k_b = 1, .gates = 4, .slots = 2}); },
         "GATED_DELTA_NET f32 [24,26,1,1] <q,k,v,g,beta,state> {2}"},
        {[](const Maker& m) {
             return ggml_dsv4_hc_comb(m.ctx, m.f32("m", 24, 5), m.f32("s", 3), m.f32("b", 24),
                                      1e-6f, 20);
         },
         "DSV4_HC_COMB f32 [4,4,5,1] <m,s,b> {1e-06f,20}"},
        {[](const Maker& m) {
             return ggml_dsv4_hc_pre(m.ctx, m.f32("x", 8, 4, 5), m.f32("w", 4, 5));
         },
         "DSV4_HC_PRE f32 [8,5,1,1] <x,w>"},
        {[](const Maker& m) {
             return ggml_dsv4_hc_post(m.ctx, m.f32("x", 8, 5), m.f32("r", 8, 4, 5),
                                      m.f32("p", 4, 5), m.f32("c", 4, 4, 5));
         },
         "DSV4_HC_POST f32 [8,4,5,1] <x,r,p,c>"},
    });
}

TEST(OpsRecurrent, ErrorsNameTheOpTheSourceAndBothNumbers) {
    expect_errors({
        {[](const Maker& m) {
             return ggml_ssm_conv(m.ctx, m.f32("x", 7, 3, 2, 2), m.f32("c", 4, 3));
         },
         "SSM_CONV: src0 'x' of shape [7, 3, 2, 2] has more than 3 dimensions"},
        {[](const Maker& m) { return ggml_ssm_conv(m.ctx, m.f32("x", 7, 3), m.f32("c", 4, 3, 2)); },
         "SSM_CONV: src1 'c' of shape [4, 3, 2, 1] has more than 2 dimensions"},
        {[](const Maker& m) { return ggml_ssm_conv(m.ctx, m.f32("x", 7, 3), m.f32("c", 4, 2)); },
         "SSM_CONV: src0 'x' has ne[1] = 3, src1 'c' has ne[1] = 2"},
        {[](const Maker& m) { return ggml_ssm_conv(m.ctx, m.f32("x", 2, 3), m.f32("c", 4, 3)); },
         "SSM_CONV: number of tokens is -1, must be at least 0"},
        {[](const Maker& m) { return ssm_scan(m, {.slots = 0}); },
         "SSM_SCAN: K is 0, must be 1 to 2147483647"},
        {[](const Maker& m) { return ssm_scan(m, {.slots = int64_t{1} << 31}); },
         "SSM_SCAN: K is 2147483648, must be 1 to 2147483647"},
        {[](const Maker& m) { return ssm_scan(m, {.s_p = 2}); },
         "SSM_SCAN: src0 's' has ne[1] = 2, must be 3"},
        {[](const Maker& m) { return ssm_scan(m, {.s_h = 2}); },
         "SSM_SCAN: src0 's' has ne[2] = 2, must be 4"},
        {[](const Maker& m) { return ssm_scan(m, {.dt_t = 6}); },
         "SSM_SCAN: src2 'dt' has ne[1] = 6, must be 5"},
        {[](const Maker& m) { return ssm_scan(m, {.a_rows = 5}); },
         "SSM_SCAN: src3 has ne[0] = 5, must be 1 or ne[0] of src0"},
        {[](const Maker& m) { return ssm_scan(m, {.a_rows = 6, .slots = 2}); },
         "SSM_SCAN: src3 has ne[0] = 6, must be 1 with more than one state slot"},
        {[](const Maker& m) { return ssm_scan(m, {.a_h = 3}); },
         "SSM_SCAN: src3 'A' has ne[1] = 3, must be 4"},
        {[](const Maker& m) { return ssm_scan(m, {.b_n = 5}); },
         "SSM_SCAN: src4 'B' has ne[0] = 5, must be 6"},
        {[](const Maker& m) { return ssm_scan(m, {.b_t = 6}); },
         "SSM_SCAN: src4 'B' has ne[2] = 6, must be 5"},
        {[](const Maker& m) { return ssm_scan(m, {.b_seqs = 3}); },
         "SSM_SCAN: src4 'B' has ne[3] = 3, must be 2"},
        {[](const Maker& m) { return ssm_scan(m, {.ids = 3}); },
         "SSM_SCAN: src6 'ids' has ne[0] = 3, must be 2"},
        {[](const Maker& m) { return ssm_scan(m, {.ids_type = GGML_TYPE_I64}); },
         "SSM_SCAN: src6 'ids' is i64, must be i32"},
        {[](const Maker& m) {
             return ggml_ssm_scan(m.ctx, m.f32("s", 6, 3, 4, 2), m.padded("x", 3, 4, 5),
                                  m.f32("dt", 4, 5), m.f32("A", 1, 4), m.f32("B", 6, 2, 5),
                                  m.f32("C", 6, 2, 5), m.i32("ids", 1), 1);
         },
         "SSM_SCAN: src1 'x' has nb[1] = 24, must be 12"},
        {[](const Maker& m) {
             return ggml_ssm_scan(m.ctx, m.f32("s", 6, 3, 4, 2), m.f32("x", 3, 4, 5),
                                  m.padded("dt", 4, 5), m.f32("A", 1, 4), m.f32("B", 6, 2, 5),
                                  m.f32("C", 6, 2, 5), m.i32("ids", 1), 1);
         },
         "SSM_SCAN: src2 'dt' is not contiguous: shape [4, 5, 1, 1], strides [4, 32, 160, 160]"},
        {[](const Maker& m) {
             return ggml_ssm_scan(m.ctx, m.f32("s", 6, 3, 4, 2), m.f32("x", 3, 4, 5),
                                  m.f32("dt", 4, 5), m.f32("A", 1, 4), m.f32("B", 6, 2, 5),
                                  m.f32("C", 6, 1, 5), m.i32("ids", 1), 1);
         },
         "SSM_SCAN: src4 'B' has shape [6, 2, 5, 1], src5 'C' has [6, 1, 5, 1]"},
        {[](const Maker& m) { return wkv6(m, 2, 3, 48); },
         "RWKV_WKV6: src1 'v' has ne[1] = 3, must be 2"},
        {[](const Maker& m) { return wkv6(m, 3, 2, 48); },
         "RWKV_WKV6: src3 'tf' of shape [4, 2, 1, 1] has 8 elements, must have 12"},
        {[](const Maker& m) { return wkv6(m, 3, 3, 47); },
         "RWKV_WKV6: src5 'state' of shape [47, 2, 1, 1] has 94 elements, must have 96"},
        {[](const Maker& m) { return gla(m, 5, 48); },
         "GATED_LINEAR_ATTN: src3 'g' has ne[2] = 5, must be 6"},
        {[](const Maker& m) { return gla(m, 6, 49); },
         "GATED_LINEAR_ATTN: src4 'state' of shape [49, 2, 1, 1] has 98 elements, must have 96"},
        {[](const Maker& m) { return wkv7(m, 5, 6, 48); },
         "RWKV_WKV7: src0 'r' of shape [4, 3, 5, 1] has 60 elements, must have 72"},
        {[](const Maker& m) { return wkv7(m, 6, 5, 48); },
         "RWKV_WKV7: src4 'a' has ne[2] = 5, must be 6"},
        {[](const Maker& m) { return wkv7(m, 6, 6, 4); },
         "RWKV_WKV7: src6 'state' of shape [4, 2, 1, 1] has 8 elements, must have 96"},
        {[](const Maker& m) {
             return ggml_gated_linear_attn(m.ctx, m.gapped("k", 4, 3, 6), m.f32("v", 4, 3, 6),
                                           m.f32("q", 4, 3, 6), m.f32("g", 4, 3, 6),
                                           m.f32("state", 48, 2), 1.0f);
         },
         "GATED_LINEAR_ATTN: src0 'k' is not contiguous: shape [4, 3, 6, 1], strides "
         "[4, 16, 96, 576]"},
        {[](const Maker& m) { return delta(m, {.k_heads = 4}); },
         "GATED_DELTA_NET: src2 'v' has ne[1] = 6, no multiple of ne[1] = 4 of src0 'q'"},
        {[](const Maker& m) { return delta(m, {.k_b = 3}); },
         "GATED_DELTA_NET: src2 'v' has ne[3] = 2, no multiple of ne[3] = 3 of src0 'q'"},
        {[](const Maker& m) { return delta(m, {.gates = 2}); },
         "GATED_DELTA_NET: src3 has ne[0] = 2, must be 1 or 4"},
        {[](const Maker& m) { return delta(m, {.beta = 4}); },
         "GATED_DELTA_NET: src4 'beta' has ne[0] = 4, must be 1"},
        {[](const Maker& m) { return delta(m, {.state_h = 5}); },
         "GATED_DELTA_NET: src5 'state' has ne[2] = 5, must be 6"},
        {[](const Maker& m) { return delta(m, {.slots = 0}); },
         "GATED_DELTA_NET: K is 0, must be 1 to 2147483647"},
        {[](const Maker& m) { return delta(m, {.v_type = GGML_TYPE_F16}); },
         "GATED_DELTA_NET: src2 'v' is f16, must be f32"},
        {[](const Maker& m) {
             return ggml_dsv4_hc_comb(m.ctx, m.f32("m", 24, 5), m.f32("s", 3), m.f32("b", 24),
                                      1e-6f, 0);
         },
         "DSV4_HC_COMB: n_iter is 0, must be at least 1"},
        {[](const Maker& m) {
             return ggml_dsv4_hc_comb(m.ctx, m.f32("m", 25, 5), m.f32("s", 3), m.f32("b", 24),
                                      1e-6f, 1);
         },
         "DSV4_HC_COMB: src0 'm' has ne[0] = 25, must be 24"},
        {[](const Maker& m) {
             return ggml_dsv4_hc_comb(m.ctx, m.f32("m", 24, 5), m.f32("s", 2), m.f32("b", 24),
                                      1e-6f, 1);
         },
         "DSV4_HC_COMB: length of src1 is 2, must be at least 3"},
        {[](const Maker& m) {
             return ggml_dsv4_hc_comb(m.ctx, m.f32("m", 24, 5), m.f32("s", 3), m.f32("b", 23),
                                      1e-6f, 1);
         },
         "DSV4_HC_COMB: src2 'b' has ne[0] = 23, must be 24"},
        {[](const Maker& m) {
             return ggml_dsv4_hc_pre(m.ctx, m.f32("x", 8, 4, 5), m.f32("w", 4, 6));
         },
         "DSV4_HC_PRE: src1 'w' has ne[1] = 6, must be 5"},
        {[](const Maker& m) {
             return ggml_dsv4_hc_pre(m.ctx, m.f16("x", 8, 4, 5), m.f32("w", 4, 5));
         },
         "DSV4_HC_PRE: src0 'x' is f16, must be f32"},
        {[](const Maker& m) {
             return ggml_dsv4_hc_post(m.ctx, m.f32("x", 8, 5), m.f32("r", 7, 4, 5),
                                      m.f32("p", 4, 5), m.f32("c", 4, 4, 5));
         },
         "DSV4_HC_POST: src1 'r' has ne[0] = 7, must be 8"},
        {[](const Maker& m) {
             return ggml_dsv4_hc_post(m.ctx, m.f32("x", 8, 5), m.f32("r", 8, 4, 5),
                                      m.f32("p", 3, 5), m.f32("c", 4, 4, 5));
         },
         "DSV4_HC_POST: src2 'p' has ne[0] = 3, must be 4"},
        {[](const Maker& m) {
             return ggml_dsv4_hc_post(m.ctx, m.f32("x", 8, 5), m.f32("r", 8, 4, 5),
                                      m.f32("p", 4, 5), m.f32("c", 4, 3, 5));
         },
         "DSV4_HC_POST: src3 'c' has ne[1] = 3, must be 4"},
    });
}

}  // namespace
