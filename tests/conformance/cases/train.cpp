// Cases: losses and optimiser steps.

#include <cmath>

#include "tests/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

const Shape kShapes[] = {{10, 5, 4, 3}, {30000, 1, 1, 1}, {1, 1, 1, 1},
                         {1, 7, 1, 1},  {33, 5, 2, 1},    {1023, 65, 1, 1}};

void loss_cases(CaseList& list) {
    for (const Shape& shape : kShapes) {
        for (const float range : {1.0f, 100.0f}) {
            const std::string text = params("ne", shape, "range", range);
            list.add({.op = "CROSS_ENTROPY_LOSS",
                      .params = text,
                      .work = 8 * shape.size(),
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* logits = m.f32(shape, between(-range, range));
                          ggml_tensor* labels =
                              ggml_soft_max(m.ctx, m.f32(shape, between(-range, range)));
                          return ggml_cross_entropy_loss(m.ctx, logits, labels);
                      }});
            list.add({.op = "CROSS_ENTROPY_LOSS_BACK",
                      .params = text,
                      .work = 8 * shape.size(),
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* gradient = m.f32({1});
                          ggml_tensor* logits = m.f32(shape, between(-range, range));
                          ggml_tensor* labels =
                              ggml_soft_max(m.ctx, m.f32(shape, between(-range, range)));
                          return ggml_cross_entropy_loss_back(m.ctx, gradient, logits, labels);
                      }});
        }
    }
}

// alpha, beta1, beta2, eps, weight decay, and the corrections of step `step`.
Fill adamw_params(float alpha, float decay, int step) {
    return [=](const ggml_tensor& leaf, Random&) {
        constexpr float kBeta1 = 0.9f, kBeta2 = 0.999f;
        const float values[] = {alpha,
                                kBeta1,
                                kBeta2,
                                1e-8f,
                                decay,
                                1 / (1 - std::pow(kBeta1, static_cast<float>(step))),
                                1 / (1 - std::pow(kBeta2, static_cast<float>(step)))};
        std::copy(std::begin(values), std::end(values), static_cast<float*>(leaf.data));
    };
}

// What of an ADAMW step is compared: the weights, or what it left in a moment.
enum class Look { kWeights, kFirstMoment, kSecondMoment };

void adamw_cases(CaseList& list) {
    const auto add = [&](const Shape& shape, const std::string& text, Look look, Fill values) {
        list.add({.op = "OPT_STEP_ADAMW",
                  .params = params("ne", shape) + text,
                  .build = [=](GraphMaker& m) -> ggml_tensor* {
                      ggml_tensor *w = m.f32(shape, between(0, 1)), *g = m.f32(shape),
                                  *first = m.f32(shape), *second = m.f32(shape, between(0, 1));
                      ggml_set_param(w);
                      ggml_tensor* step =
                          ggml_opt_step_adamw(m.ctx, w, g, first, second, m.f32({7}, values));
                      if (look == Look::kWeights) return step;
                      // Reads the moment after the step: the sum needs the step's result.
                      return ggml_add(m.ctx, step, look == Look::kFirstMoment ? first : second);
                  }});
    };
    for (const Shape& shape : kShapes) {
        add(shape, ",uniform", Look::kWeights, between(0, 1));
        for (const int step : {1, 1000}) {
            const Fill usual = adamw_params(1e-2f, 0.1f, step);
            const std::string text = ",step=" + std::to_string(step);
            add(shape, text, Look::kWeights, usual);
            add(shape, text + ",first moment", Look::kFirstMoment, usual);
            add(shape, text + ",second moment", Look::kSecondMoment, usual);
        }
    }
}

void sgd_cases(CaseList& list) {
    for (const Shape& shape : kShapes) {
        for (const bool view : {false, true}) {
            list.add({.op = "OPT_STEP_SGD",
                      .params = params("ne", shape, "view", view),
                      .build = [=](GraphMaker& m) {
                          ggml_tensor* w = m.f32(shape);
                          ggml_set_param(w);
                          ggml_tensor* g = view ? m.inset(GGML_TYPE_F32, shape) : m.f32(shape);
                          return ggml_opt_step_sgd(m.ctx, w, g, m.f32({2}, between(0, 1)));
                      }});
        }
    }
}

}  // namespace

void train_cases(CaseList& list) {
    loss_cases(list);
    adamw_cases(list);
    sgd_cases(list);
}

}  // namespace tenon::conformance
