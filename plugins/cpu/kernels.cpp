// The list of kernels, and what is asked of all of them: which one, how long, how large a type is.

#include <algorithm>
#include <iterator>

#include "plugins/cpu/kernel.h"
#include "tenon/types.h"

namespace tenon::cpu {

// clang-format off
extern constinit const Kernel
    kDup, kBinaryAdd, kAddQuantized, kAddId, kAdd1, kAdd1Quantized, kAcc, kBinarySub,
    kBinaryMul, kBinaryDiv, kSqr, kSqrt, kLog, kSin, kCos, kSum, kSumRows, kCumsum, kMean,
    kArgmax, kCountEqual, kRepeat, kRepeatBack, kConcat, kSiluBack, kNorm, kRmsNorm,
    kRmsNormBack, kGroupNorm, kL2Norm, kMulMatPanels, kMulMat, kMulMatId, kOutProd, kScale,
    kSet, kCpy, kCont, kGetRows, kGetRowsBack, kSetRows, kDiag, kDiagMaskInf, kDiagMaskZero,
    kSoftMax, kSoftMaxBack, kRope, kRopeBack, kClamp, kConvTranspose1d, kIm2col, kIm2colBack,
    kIm2col3d, kCol2im1d, kConv2d, kConv3d, kConv2dDw, kConvTranspose2d, kPool1d, kPool2d,
    kPool2dBack, kUpscale, kPad, kPadReflect1d, kRoll, kArange, kTimestepEmbedding, kArgsort,
    kTopK, kLeakyRelu, kTri, kFill, kFlashAttnExt, kSsmConv, kSsmScan, kWinPart, kWinUnpart,
    kGetRelPos, kAddRelPos, kRwkvWkv6, kGatedLinearAttn, kRwkvWkv7, kSolveTri, kGatedDeltaNet,
    kLightningIndexer, kDsv4HcComb, kDsv4HcPre, kDsv4HcPost, kUnary, kMapCustom1, kMapCustom2,
    kMapCustom3, kCustom, kCrossEntropyLoss, kCrossEntropyLossBack, kOptStepAdamW, kOptStepSgd,
    kGlu;

// In order of enum ggml_op; for one op best first.
constexpr const Kernel* kKernels[] = {
    &kDup, &kBinaryAdd, &kAddQuantized, &kAddId, &kAdd1, &kAdd1Quantized, &kAcc, &kBinarySub,
    &kBinaryMul, &kBinaryDiv, &kSqr, &kSqrt, &kLog, &kSin, &kCos, &kSum, &kSumRows, &kCumsum,
    &kMean, &kArgmax, &kCountEqual, &kRepeat, &kRepeatBack, &kConcat, &kSiluBack, &kNorm,
    &kRmsNorm, &kRmsNormBack, &kGroupNorm, &kL2Norm, &kMulMatPanels, &kMulMat, &kMulMatId,
    &kOutProd, &kScale, &kSet, &kCpy, &kCont, &kGetRows, &kGetRowsBack, &kSetRows, &kDiag,
    &kDiagMaskInf, &kDiagMaskZero, &kSoftMax, &kSoftMaxBack, &kRope, &kRopeBack, &kClamp,
    &kConvTranspose1d, &kIm2col, &kIm2colBack, &kIm2col3d, &kCol2im1d, &kConv2d, &kConv3d,
    &kConv2dDw, &kConvTranspose2d, &kPool1d, &kPool2d, &kPool2dBack, &kUpscale, &kPad,
    &kPadReflect1d, &kRoll, &kArange, &kTimestepEmbedding, &kArgsort, &kTopK, &kLeakyRelu,
    &kTri, &kFill, &kFlashAttnExt, &kSsmConv, &kSsmScan, &kWinPart, &kWinUnpart, &kGetRelPos,
    &kAddRelPos, &kRwkvWkv6, &kGatedLinearAttn, &kRwkvWkv7, &kSolveTri, &kGatedDeltaNet,
    &kLightningIndexer, &kDsv4HcComb, &kDsv4HcPre, &kDsv4HcPost, &kUnary, &kMapCustom1,
    &kMapCustom2, &kMapCustom3, &kCustom, &kCrossEntropyLoss, &kCrossEntropyLossBack,
    &kOptStepAdamW, &kOptStepSgd, &kGlu,
};
// clang-format on

const Kernel* find_kernel(const ggml_tensor& node, Verdict* why) {
    Verdict last = no(node.op >= 0 && node.op < GGML_OP_COUNT ? TENON_REASON_NOT_IMPLEMENTED
                                                              : TENON_REASON_UNKNOWN_OP,
                      "there is no CPU kernel for this op");
    const auto end = std::end(kKernels);
    auto it = std::lower_bound(std::begin(kKernels), end, node.op,
                               [](const Kernel* kernel, ggml_op op) { return kernel->op < op; });
    for (; it != end && (*it)->op == node.op; ++it) {
        const Verdict verdict = (*it)->supports(node);
        if (verdict) return *it;
        last = verdict;
    }
    if (why) *why = last;
    return nullptr;
}

TypeSize type_size(ggml_type type) {
    const tenon_type* row = tenon_type_of(type);
    if (!row) return {};
    return {row->block, row->bytes};
}

// Bytes of the elements, wherever they lie.
static double bytes_of(const ggml_tensor& t) {
    const TypeSize size = type_size(t.type);
    if (size.block == 0) return 0;
    return static_cast<double>(tenon_nelements(&t)) * static_cast<double>(size.bytes) /
           static_cast<double>(size.block);
}

double cost_ns(const Kernel& kernel, const ggml_tensor& node) {
    if (kernel.cost_ns) return kernel.cost_ns(node);
    double bytes = bytes_of(node);
    for (const ggml_tensor* src : node.src) {
        if (src) bytes += bytes_of(*src);
    }
    // Small tensors are in the caches, of large ones most is not.
    constexpr double kCached = 1 << 20, kCachedPerNs = 80, kMemoryPerNs = 25;
    return 20 + std::min(bytes, kCached) / kCachedPerNs +
           std::max(bytes - kCached, 0.0) / kMemoryPerNs;
}

}  // namespace tenon::cpu
