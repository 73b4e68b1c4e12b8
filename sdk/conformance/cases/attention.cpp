// Cases: attention; the indexer here, the others in soft_max_rope.cpp and flash_attn.cpp.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

struct Indexer {
    int64_t d, heads, kv, tokens, seqs, masks;
    ggml_type k;
    bool view = false;
};

void add(CaseList& list, const Indexer& c) {
    list.add({.op = "LIGHTNING_INDEXER",
              .params = params("hsk", c.d, "nh", c.heads, "kv", c.kv, "nb", c.tokens, "ns", c.seqs,
                               "nm", c.masks, "type_K", c.k, "view", c.view),
              .max_nmse = 1e-6,
              .build = [=](GraphMaker& m) {
                  const auto make = [&](ggml_type type, const Shape& shape) {
                      return c.view ? m.inset(type, shape) : m.leaf(type, shape);
                  };
                  ggml_tensor* q = make(GGML_TYPE_F32, {c.d, c.heads, c.tokens, c.seqs});
                  ggml_tensor* k = make(c.k, {c.d, 1, c.kv, c.seqs});
                  ggml_tensor* weights = make(GGML_TYPE_F32, {c.heads, c.tokens, 1, c.seqs});
                  ggml_tensor* mask =
                      m.leaf(GGML_TYPE_F16, {c.kv, c.tokens, 1, c.masks}, attention_mask());
                  return ggml_lightning_indexer(m.ctx, q, k, weights, mask);
              }});
}

void indexer_cases(CaseList& list) {
    for (const ggml_type type :
         {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q5_1,
          GGML_TYPE_Q5_0, GGML_TYPE_Q4_1, GGML_TYPE_Q4_0, GGML_TYPE_IQ4_NL}) {
        for (const int64_t heads : {32, 64}) {
            for (const int64_t tokens : {1, 512}) {
                add(list, {128, heads, 256, tokens, 1, 1, type});
                for (const int64_t masks : {4, 1})
                    add(list, {128, heads, 256, tokens, 4, masks, type});
            }
        }
        for (const int64_t kv : {1, 7, 8, 63, 64, 65}) add(list, {128, 64, kv, 32, 4, 1, type});
        for (const int64_t heads : {1, 7}) {
            add(list, {64, heads, 33, 3, 2, 2, type});
            add(list, {64, heads, 150, 70, 2, 1, type, true});
        }
    }
    for (const int64_t d : {1, 31, 600}) add(list, {d, 5, 40, 3, 2, 2, GGML_TYPE_F16});
}

}  // namespace

void attention_cases(CaseList& list) {
    soft_max_cases(list);
    rope_cases(list);
    flash_attn_cases(list);
    indexer_cases(list);
}

}  // namespace tenon::conformance
