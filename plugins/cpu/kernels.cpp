// The list of kernels, and what is asked of all of them: which one, how long.

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/rates.h"
#include "tenon/kit/kernel_list.h"

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
constexpr kit::KernelRow<Kernel> kRows[] = {
    {GGML_OP_DUP, &kDup},
    {GGML_OP_ADD, &kBinaryAdd},
    {GGML_OP_ADD, &kAddQuantized},
    {GGML_OP_ADD_ID, &kAddId},
    {GGML_OP_ADD1, &kAdd1},
    {GGML_OP_ADD1, &kAdd1Quantized},
    {GGML_OP_ACC, &kAcc},
    {GGML_OP_SUB, &kBinarySub},
    {GGML_OP_MUL, &kBinaryMul},
    {GGML_OP_DIV, &kBinaryDiv},
    {GGML_OP_SQR, &kSqr},
    {GGML_OP_SQRT, &kSqrt},
    {GGML_OP_LOG, &kLog},
    {GGML_OP_SIN, &kSin},
    {GGML_OP_COS, &kCos},
    {GGML_OP_SUM, &kSum},
    {GGML_OP_SUM_ROWS, &kSumRows},
    {GGML_OP_CUMSUM, &kCumsum},
    {GGML_OP_MEAN, &kMean},
    {GGML_OP_ARGMAX, &kArgmax},
    {GGML_OP_COUNT_EQUAL, &kCountEqual},
    {GGML_OP_REPEAT, &kRepeat},
    {GGML_OP_REPEAT_BACK, &kRepeatBack},
    {GGML_OP_CONCAT, &kConcat},
    {GGML_OP_SILU_BACK, &kSiluBack},
    {GGML_OP_NORM, &kNorm},
    {GGML_OP_RMS_NORM, &kRmsNorm},
    {GGML_OP_RMS_NORM_BACK, &kRmsNormBack},
    {GGML_OP_GROUP_NORM, &kGroupNorm},
    {GGML_OP_L2_NORM, &kL2Norm},
    {GGML_OP_MUL_MAT, &kMulMatPanels},
    {GGML_OP_MUL_MAT, &kMulMat},
    {GGML_OP_MUL_MAT_ID, &kMulMatId},
    {GGML_OP_OUT_PROD, &kOutProd},
    {GGML_OP_SCALE, &kScale},
    {GGML_OP_SET, &kSet},
    {GGML_OP_CPY, &kCpy},
    {GGML_OP_CONT, &kCont},
    {GGML_OP_GET_ROWS, &kGetRows},
    {GGML_OP_GET_ROWS_BACK, &kGetRowsBack},
    {GGML_OP_SET_ROWS, &kSetRows},
    {GGML_OP_DIAG, &kDiag},
    {GGML_OP_DIAG_MASK_INF, &kDiagMaskInf},
    {GGML_OP_DIAG_MASK_ZERO, &kDiagMaskZero},
    {GGML_OP_SOFT_MAX, &kSoftMax},
    {GGML_OP_SOFT_MAX_BACK, &kSoftMaxBack},
    {GGML_OP_ROPE, &kRope},
    {GGML_OP_ROPE_BACK, &kRopeBack},
    {GGML_OP_CLAMP, &kClamp},
    {GGML_OP_CONV_TRANSPOSE_1D, &kConvTranspose1d},
    {GGML_OP_IM2COL, &kIm2col},
    {GGML_OP_IM2COL_BACK, &kIm2colBack},
    {GGML_OP_IM2COL_3D, &kIm2col3d},
    {GGML_OP_COL2IM_1D, &kCol2im1d},
    {GGML_OP_CONV_2D, &kConv2d},
    {GGML_OP_CONV_3D, &kConv3d},
    {GGML_OP_CONV_2D_DW, &kConv2dDw},
    {GGML_OP_CONV_TRANSPOSE_2D, &kConvTranspose2d},
    {GGML_OP_POOL_1D, &kPool1d},
    {GGML_OP_POOL_2D, &kPool2d},
    {GGML_OP_POOL_2D_BACK, &kPool2dBack},
    {GGML_OP_UPSCALE, &kUpscale},
    {GGML_OP_PAD, &kPad},
    {GGML_OP_PAD_REFLECT_1D, &kPadReflect1d},
    {GGML_OP_ROLL, &kRoll},
    {GGML_OP_ARANGE, &kArange},
    {GGML_OP_TIMESTEP_EMBEDDING, &kTimestepEmbedding},
    {GGML_OP_ARGSORT, &kArgsort},
    {GGML_OP_TOP_K, &kTopK},
    {GGML_OP_LEAKY_RELU, &kLeakyRelu},
    {GGML_OP_TRI, &kTri},
    {GGML_OP_FILL, &kFill},
    {GGML_OP_FLASH_ATTN_EXT, &kFlashAttnExt},
    {GGML_OP_SSM_CONV, &kSsmConv},
    {GGML_OP_SSM_SCAN, &kSsmScan},
    {GGML_OP_WIN_PART, &kWinPart},
    {GGML_OP_WIN_UNPART, &kWinUnpart},
    {GGML_OP_GET_REL_POS, &kGetRelPos},
    {GGML_OP_ADD_REL_POS, &kAddRelPos},
    {GGML_OP_RWKV_WKV6, &kRwkvWkv6},
    {GGML_OP_GATED_LINEAR_ATTN, &kGatedLinearAttn},
    {GGML_OP_RWKV_WKV7, &kRwkvWkv7},
    {GGML_OP_SOLVE_TRI, &kSolveTri},
    {GGML_OP_GATED_DELTA_NET, &kGatedDeltaNet},
    {GGML_OP_LIGHTNING_INDEXER, &kLightningIndexer},
    {GGML_OP_DSV4_HC_COMB, &kDsv4HcComb},
    {GGML_OP_DSV4_HC_PRE, &kDsv4HcPre},
    {GGML_OP_DSV4_HC_POST, &kDsv4HcPost},
    {GGML_OP_UNARY, &kUnary},
    {GGML_OP_MAP_CUSTOM1, &kMapCustom1},
    {GGML_OP_MAP_CUSTOM2, &kMapCustom2},
    {GGML_OP_MAP_CUSTOM3, &kMapCustom3},
    {GGML_OP_CUSTOM, &kCustom},
    {GGML_OP_CROSS_ENTROPY_LOSS, &kCrossEntropyLoss},
    {GGML_OP_CROSS_ENTROPY_LOSS_BACK, &kCrossEntropyLossBack},
    {GGML_OP_OPT_STEP_ADAMW, &kOptStepAdamW},
    {GGML_OP_OPT_STEP_SGD, &kOptStepSgd},
    {GGML_OP_GLU, &kGlu},
};
// clang-format on
using Kernels = kit::KernelList<kRows>;

const Kernel* find_kernel(const ggml_tensor& node, Verdict* why) {
    return Kernels::find(node, why);
}

void judge(const ggml_tensor& node, int n_threads, bool support_only, tenon_op_verdict& out) {
    Kernels::judge(node, out, [&](const Kernel& kernel, tenon_op_verdict& verdict) {
        if (kernel.workspace) verdict.workspace = kernel.workspace(node, n_threads);
        if (support_only) return;
        const double ns = cost_ns(kernel, node);
        verdict.time_ns = static_cast<uint64_t>(ns > 20000 ? ns / n_threads : ns);
        verdict.confidence = 40;
    });
}

double cost_ns(const Kernel& kernel, const ggml_tensor& node) {
    const double ns = time_ns(tenon_node_work(&node));
    return kernel.slowness ? ns * kernel.slowness(node) : ns;
}

}  // namespace tenon::cpu
