// Cases: losses and optimiser steps.

#include <cmath>

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

const Shape kShapes[] = {{10, 5, 4, 3}, {30000, 1, 1, 1}, {1, 1, 1, 1},
                         {1, 7, 1, 1},  {33, 5, 2, 1},    {1023, 65, 1, 1}};

// How much a half as result may add: one number may fall to the other side of a rounding.
double rounding(ggml_type type) {
    return type == GGML_TYPE_F32 ? 1e-7 : type == GGML_TYPE_F16 ? 1e-6 : 1e-4;
}

struct Loss {
    Shape ne;
    float range;
    ggml_type logits = GGML_TYPE_F32, labels = GGML_TYPE_F32, gradient = GGML_TYPE_F32;
};

void add_loss(CaseList& list, const Loss& c) {
    const std::string text = params("ne", c.ne, "range", c.range, "logits", c.logits, "labels",
                                    c.labels, "gradient", c.gradient);
    const Fill fill = between(-c.range, c.range);
    list.add({.op = "CROSS_ENTROPY_LOSS",
              .params = text,
              .max_nmse = rounding(c.logits),
              .build = [=](GraphMaker& m) {
                  ggml_tensor* logits = m.leaf(c.logits, c.ne, fill);
                  ggml_tensor* labels = ggml_soft_max(m.ctx, m.leaf(c.labels, c.ne, fill));
                  return ggml_cross_entropy_loss(m.ctx, logits, labels);
              }});
    list.add({.op = "CROSS_ENTROPY_LOSS_BACK",
              .params = text,
              .max_nmse = rounding(c.logits),
              .build = [=](GraphMaker& m) {
                  ggml_tensor* gradient = m.leaf(c.gradient, {1});
                  ggml_tensor* logits = m.leaf(c.logits, c.ne, fill);
                  ggml_tensor* labels = ggml_soft_max(m.ctx, m.leaf(c.labels, c.ne, fill));
                  return ggml_cross_entropy_loss_back(m.ctx, gradient, logits, labels);
              }});
}

void loss_cases(CaseList& list) {
    for (const Shape& shape : kShapes) {
        for (const float range : {1.0f, 100.0f}) {
            add_loss(list, {shape, range});
            for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16})
                add_loss(list, {shape, range, type, type, type});
        }
    }
    for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
        add_loss(list, {{33, 5, 2, 1}, 1, type, GGML_TYPE_F32, GGML_TYPE_F32});
        add_loss(list, {{33, 5, 2, 1}, 1, GGML_TYPE_F32, type, GGML_TYPE_F32});
        add_loss(list, {{33, 5, 2, 1}, 1, GGML_TYPE_F32, GGML_TYPE_F32, type});
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

struct StepTypes {
    ggml_type w = GGML_TYPE_F32, gradient = GGML_TYPE_F32, moments = GGML_TYPE_F32;

    std::string text() const {
        return std::string(",types=") + ggml_type_name(w) + " " + ggml_type_name(gradient) + " " +
               ggml_type_name(moments);
    }
    double limit() const { return std::max(rounding(w), rounding(moments)); }
};

const StepTypes kStepTypes[] = {{},
                                {GGML_TYPE_F16, GGML_TYPE_F16, GGML_TYPE_F16},
                                {GGML_TYPE_BF16, GGML_TYPE_BF16, GGML_TYPE_BF16},
                                {GGML_TYPE_F32, GGML_TYPE_BF16, GGML_TYPE_F32},
                                {GGML_TYPE_F32, GGML_TYPE_F32, GGML_TYPE_BF16},
                                {GGML_TYPE_BF16, GGML_TYPE_F32, GGML_TYPE_F32},
                                {GGML_TYPE_F16, GGML_TYPE_F16, GGML_TYPE_F32}};

void adamw_cases(CaseList& list) {
    const auto add = [&](const Shape& shape, const StepTypes& types, const std::string& text,
                         Look look, Fill values) {
        list.add({.op = "OPT_STEP_ADAMW",
                  .params = params("ne", shape) + types.text() + text,
                  .max_nmse = types.limit(),
                  .build = [=](GraphMaker& m) -> ggml_tensor* {
                      ggml_tensor* w = m.leaf(types.w, shape, between(0, 1));
                      ggml_tensor* g = m.leaf(types.gradient, shape);
                      ggml_tensor* first = m.leaf(types.moments, shape);
                      ggml_tensor* second = m.leaf(types.moments, shape, between(0, 1));
                      ggml_set_param(w);
                      ggml_tensor* step =
                          ggml_opt_step_adamw(m.ctx, w, g, first, second, m.f32({7}, values));
                      if (look == Look::kWeights) return step;
                      // Reads the moment after the step: the sum needs the step's result.
                      ggml_tensor* moment = look == Look::kFirstMoment ? first : second;
                      return types.w == GGML_TYPE_F32 ? ggml_add(m.ctx, moment, step)
                                                      : ggml_add(m.ctx, step, moment);
                  }});
    };
    for (const Shape& shape : kShapes) {
        for (const StepTypes& types : kStepTypes) {
            add(shape, types, ",uniform", Look::kWeights, between(0, 1));
            for (const int step : {1, 1000}) {
                const Fill usual = adamw_params(1e-2f, 0.1f, step);
                const std::string text = ",step=" + std::to_string(step);
                add(shape, types, text, Look::kWeights, usual);
                add(shape, types, text + ",first moment", Look::kFirstMoment, usual);
                add(shape, types, text + ",second moment", Look::kSecondMoment, usual);
            }
        }
    }
}

void sgd_cases(CaseList& list) {
    for (const Shape& shape : kShapes) {
        for (const ggml_type type : kFloatTypes) {
            for (const ggml_type gradient : kFloatTypes) {
                for (const bool view : {false, true}) {
                    list.add({.op = "OPT_STEP_SGD",
                              .params = params("ne", shape, "view", view, "type", type, "gradient",
                                               gradient),
                              .max_nmse = rounding(type),
                              .build = [=](GraphMaker& m) {
                                  ggml_tensor* w = m.leaf(type, shape);
                                  ggml_set_param(w);
                                  ggml_tensor* g =
                                      view ? m.inset(gradient, shape) : m.leaf(gradient, shape);
                                  return ggml_opt_step_sgd(m.ctx, w, g, m.f32({2}, between(0, 1)));
                              }});
                }
            }
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
