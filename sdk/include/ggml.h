/* ggml.h - tensors, operators and graphs: the API of ggml 0.23, implemented by Tenon.
 *
 * A program creates a context, creates tensors in it, records operators on them into a graph, and
 * has a backend (ggml-backend.h, ggml-cpu.h) compute the graph.
 *
 * Tensors have up to 4 dimensions. ne[i] counts elements along dimension i, nb[i] is the distance
 * in bytes between neighbours along it; dimension 0 is the row. Element types with blocks (the
 * quantised ones) store ne[0] as whole blocks and nb[0] is the size of one block.
 *
 * Errors. No function here ends the program, except ggml_abort, which the application calls itself
 * (GGML_ASSERT). A function that cannot do its work returns NULL, false, 0 or a status, and
 * tenon_last_error() (tenon/tenon.h) has the text.
 *
 * Threads. A context and what lives in it belong to one thread at a time; different contexts are
 * independent. Functions that only read a tensor may run anywhere.
 */
#ifndef GGML_H
#define GGML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- limits and constants ---------------------------------------------------------------- */

#define GGML_FILE_MAGIC 0x67676d6c /* "ggml", of files older than GGUF */
#define GGML_FILE_VERSION 2
#define GGML_QNT_VERSION 2
#define GGML_QNT_VERSION_FACTOR 1000
#define GGML_MAX_DIMS 4
#define GGML_MAX_PARAMS 2048
#define GGML_MAX_SRC 10
#define GGML_MAX_N_THREADS 512
#define GGML_MAX_OP_PARAMS 64 /* bytes */
/* The library's layout of struct ggml_tensor is fixed at 160. */
#ifndef GGML_MAX_NAME
#define GGML_MAX_NAME 160
#endif
#define GGML_DEFAULT_N_THREADS 4
#define GGML_DEFAULT_GRAPH_SIZE 2048
#if UINTPTR_MAX == 0xFFFFFFFF
#define GGML_MEM_ALIGN 4
#elif defined(__wasm64__)
#define GGML_MEM_ALIGN 8
#else
#define GGML_MEM_ALIGN 16
#endif
#define GGML_EXIT_SUCCESS 0
#define GGML_EXIT_ABORTED 1
#define GGML_ROPE_TYPE_NORMAL 0
#define GGML_ROPE_TYPE_NEOX 2
#define GGML_ROPE_TYPE_MROPE 8
#define GGML_ROPE_TYPE_VISION 24
#define GGML_ROPE_TYPE_IMROPE 40
#define GGML_MROPE_SECTIONS 4
#define GGML_N_TASKS_MAX (-1)

/* ---- helpers ----------------------------------------------------------------------------- */

#define GGML_UNUSED(x) (void)(x)
#ifdef __cplusplus
template <typename... Args>
inline void ggml_unused_vars_impl(Args&&...) noexcept {}
#define GGML_UNUSED_VARS(...) \
    do { \
        if (0) ggml_unused_vars_impl(__VA_ARGS__); \
    } while (0)
#else
#define GGML_UNUSED_VARS(...) (void)sizeof((__VA_ARGS__, 0))
#endif
#define GGML_PAD(x, n) (((x) + (n) - 1) & ~((n) - 1))

#if defined(_WIN32)
#if defined(GGML_SHARED) && defined(GGML_BUILD)
#define GGML_API __declspec(dllexport) extern
#elif defined(GGML_SHARED)
#define GGML_API __declspec(dllimport) extern
#else
#define GGML_API extern
#endif
#elif defined(__GNUC__)
#define GGML_API __attribute__((visibility("default"))) extern
#else
#define GGML_API extern
#endif

#ifdef __GNUC__
#define GGML_DEPRECATED(declaration, hint) declaration __attribute__((deprecated(hint)))
#elif defined(_MSC_VER)
#define GGML_DEPRECATED(declaration, hint) __declspec(deprecated(hint)) declaration
#else
#define GGML_DEPRECATED(declaration, hint) declaration
#endif

#if defined(__GNUC__) && !defined(__MINGW32__)
#define GGML_ATTRIBUTE_FORMAT(fmt_index, first_arg) \
    __attribute__((format(printf, fmt_index, first_arg)))
#elif defined(__GNUC__)
#define GGML_ATTRIBUTE_FORMAT(fmt_index, first_arg) \
    __attribute__((format(gnu_printf, fmt_index, first_arg)))
#else
#define GGML_ATTRIBUTE_FORMAT(fmt_index, first_arg)
#endif

#if defined(__cplusplus)
#define GGML_NORETURN [[noreturn]]
#elif defined(_MSC_VER)
#define GGML_NORETURN __declspec(noreturn)
#else
#define GGML_NORETURN _Noreturn
#endif

#if defined(_MSC_VER)
#define GGML_RESTRICT __restrict
#elif defined(__cplusplus)
#define GGML_RESTRICT __restrict__
#else
#define GGML_RESTRICT restrict
#endif

#define GGML_ABORT(...) ggml_abort(__FILE__, __LINE__, __VA_ARGS__)
#define GGML_ASSERT(x) \
    if (!(x)) GGML_ABORT("GGML_ASSERT(%s) failed", #x)

#ifndef NDEBUG
#define GGML_UNREACHABLE() \
    do { \
        fprintf(stderr, "statement should be unreachable\n"); \
        abort(); \
    } while (0)
#elif defined(__GNUC__)
#define GGML_UNREACHABLE() __builtin_unreachable()
#elif defined(_MSC_VER)
#define GGML_UNREACHABLE() __assume(0)
#else
#define GGML_UNREACHABLE() ((void)0)
#endif

/* const locals prefix0 … prefix3 from pointer->array, 0 when pointer is NULL */
#define GGML_TENSOR_LOCALS_1(type, prefix, pointer, array) \
    const type prefix##0 = (pointer) ? (type)(pointer)->array[0] : (type)0; \
    GGML_UNUSED(prefix##0);
#define GGML_TENSOR_LOCALS_2(type, prefix, pointer, array) \
    GGML_TENSOR_LOCALS_1(type, prefix, pointer, array) \
    const type prefix##1 = (pointer) ? (type)(pointer)->array[1] : (type)0; \
    GGML_UNUSED(prefix##1);
#define GGML_TENSOR_LOCALS_3(type, prefix, pointer, array) \
    GGML_TENSOR_LOCALS_2(type, prefix, pointer, array) \
    const type prefix##2 = (pointer) ? (type)(pointer)->array[2] : (type)0; \
    GGML_UNUSED(prefix##2);
#define GGML_TENSOR_LOCALS(type, prefix, pointer, array) \
    GGML_TENSOR_LOCALS_3(type, prefix, pointer, array) \
    const type prefix##3 = (pointer) ? (type)(pointer)->array[3] : (type)0; \
    GGML_UNUSED(prefix##3);

#define GGML_TENSOR_UNARY_OP_LOCALS \
    GGML_TENSOR_LOCALS(int64_t, ne0, src0, ne) \
    GGML_TENSOR_LOCALS(size_t, nb0, src0, nb) \
    GGML_TENSOR_LOCALS(int64_t, ne, dst, ne) \
    GGML_TENSOR_LOCALS(size_t, nb, dst, nb)
#define GGML_TENSOR_BINARY_OP_LOCALS01 \
    GGML_TENSOR_LOCALS(int64_t, ne0, src0, ne) \
    GGML_TENSOR_LOCALS(size_t, nb0, src0, nb) \
    GGML_TENSOR_LOCALS(int64_t, ne1, src1, ne) \
    GGML_TENSOR_LOCALS(size_t, nb1, src1, nb)
#define GGML_TENSOR_BINARY_OP_LOCALS \
    GGML_TENSOR_BINARY_OP_LOCALS01 \
    GGML_TENSOR_LOCALS(int64_t, ne, dst, ne) \
    GGML_TENSOR_LOCALS(size_t, nb, dst, nb)
#define GGML_TENSOR_TERNARY_OP_LOCALS \
    GGML_TENSOR_BINARY_OP_LOCALS01 \
    GGML_TENSOR_LOCALS(int64_t, ne2, src2, ne) \
    GGML_TENSOR_LOCALS(size_t, nb2, src2, nb) \
    GGML_TENSOR_LOCALS(int64_t, ne, dst, ne) \
    GGML_TENSOR_LOCALS(size_t, nb, dst, nb)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- enumerations: numbers are fixed, and only appended to ---------------------------------- */

enum ggml_status {
    GGML_STATUS_ALLOC_FAILED = -2,
    GGML_STATUS_FAILED       = -1,
    GGML_STATUS_SUCCESS      = 0,
    GGML_STATUS_ABORTED      = 1,
};

enum ggml_type {
    GGML_TYPE_F32     = 0,
    GGML_TYPE_F16     = 1,
    GGML_TYPE_Q4_0    = 2,
    GGML_TYPE_Q4_1    = 3,
    GGML_TYPE_Q5_0    = 6,
    GGML_TYPE_Q5_1    = 7,
    GGML_TYPE_Q8_0    = 8,
    GGML_TYPE_Q8_1    = 9,
    GGML_TYPE_Q2_K    = 10,
    GGML_TYPE_Q3_K    = 11,
    GGML_TYPE_Q4_K    = 12,
    GGML_TYPE_Q5_K    = 13,
    GGML_TYPE_Q6_K    = 14,
    GGML_TYPE_Q8_K    = 15,
    GGML_TYPE_IQ2_XXS = 16,
    GGML_TYPE_IQ2_XS  = 17,
    GGML_TYPE_IQ3_XXS = 18,
    GGML_TYPE_IQ1_S   = 19,
    GGML_TYPE_IQ4_NL  = 20,
    GGML_TYPE_IQ3_S   = 21,
    GGML_TYPE_IQ2_S   = 22,
    GGML_TYPE_IQ4_XS  = 23,
    GGML_TYPE_I8      = 24,
    GGML_TYPE_I16     = 25,
    GGML_TYPE_I32     = 26,
    GGML_TYPE_I64     = 27,
    GGML_TYPE_F64     = 28,
    GGML_TYPE_IQ1_M   = 29,
    GGML_TYPE_BF16    = 30,
    GGML_TYPE_TQ1_0   = 34,
    GGML_TYPE_TQ2_0   = 35,
    GGML_TYPE_MXFP4   = 39,
    GGML_TYPE_NVFP4   = 40,
    GGML_TYPE_Q1_0    = 41,
    GGML_TYPE_Q2_0    = 42,
    GGML_TYPE_COUNT   = 43,
};

enum ggml_prec {
    GGML_PREC_DEFAULT   = 0,
    GGML_PREC_F32       = 10,
    GGML_PREC_UNDEFINED = 0,
    GGML_PREC_BF16      = 15,
    GGML_PREC_F16       = 20,
    GGML_PREC_Q8        = 30,
    GGML_PREC_Q4        = 40,
};

enum ggml_op_hint {
    GGML_HINT_NONE             = 0,
    GGML_HINT_SRC0_IS_HADAMARD = 1,
};

enum ggml_ftype {
    GGML_FTYPE_UNKNOWN              = -1,
    GGML_FTYPE_ALL_F32              = 0,
    GGML_FTYPE_MOSTLY_F16           = 1,
    GGML_FTYPE_MOSTLY_Q4_0          = 2,
    GGML_FTYPE_MOSTLY_Q4_1          = 3,
    GGML_FTYPE_MOSTLY_Q4_1_SOME_F16 = 4,
    GGML_FTYPE_MOSTLY_Q8_0          = 7,
    GGML_FTYPE_MOSTLY_Q5_0          = 8,
    GGML_FTYPE_MOSTLY_Q5_1          = 9,
    GGML_FTYPE_MOSTLY_Q2_K          = 10,
    GGML_FTYPE_MOSTLY_Q3_K          = 11,
    GGML_FTYPE_MOSTLY_Q4_K          = 12,
    GGML_FTYPE_MOSTLY_Q5_K          = 13,
    GGML_FTYPE_MOSTLY_Q6_K          = 14,
    GGML_FTYPE_MOSTLY_IQ2_XXS       = 15,
    GGML_FTYPE_MOSTLY_IQ2_XS        = 16,
    GGML_FTYPE_MOSTLY_IQ3_XXS       = 17,
    GGML_FTYPE_MOSTLY_IQ1_S         = 18,
    GGML_FTYPE_MOSTLY_IQ4_NL        = 19,
    GGML_FTYPE_MOSTLY_IQ3_S         = 20,
    GGML_FTYPE_MOSTLY_IQ2_S         = 21,
    GGML_FTYPE_MOSTLY_IQ4_XS        = 22,
    GGML_FTYPE_MOSTLY_IQ1_M         = 23,
    GGML_FTYPE_MOSTLY_BF16          = 24,
    GGML_FTYPE_MOSTLY_MXFP4         = 25,
    GGML_FTYPE_MOSTLY_NVFP4         = 26,
    GGML_FTYPE_MOSTLY_Q1_0          = 27,
    GGML_FTYPE_MOSTLY_Q2_0          = 28,
};

enum ggml_op {
    GGML_OP_NONE                    = 0,
    GGML_OP_DUP                     = 1,
    GGML_OP_ADD                     = 2,
    GGML_OP_ADD_ID                  = 3,
    GGML_OP_ADD1                    = 4,
    GGML_OP_ACC                     = 5,
    GGML_OP_SUB                     = 6,
    GGML_OP_MUL                     = 7,
    GGML_OP_DIV                     = 8,
    GGML_OP_SQR                     = 9,
    GGML_OP_SQRT                    = 10,
    GGML_OP_LOG                     = 11,
    GGML_OP_SIN                     = 12,
    GGML_OP_COS                     = 13,
    GGML_OP_SUM                     = 14,
    GGML_OP_SUM_ROWS                = 15,
    GGML_OP_CUMSUM                  = 16,
    GGML_OP_MEAN                    = 17,
    GGML_OP_ARGMAX                  = 18,
    GGML_OP_COUNT_EQUAL             = 19,
    GGML_OP_REPEAT                  = 20,
    GGML_OP_REPEAT_BACK             = 21,
    GGML_OP_CONCAT                  = 22,
    GGML_OP_SILU_BACK               = 23,
    GGML_OP_NORM                    = 24,
    GGML_OP_RMS_NORM                = 25,
    GGML_OP_RMS_NORM_BACK           = 26,
    GGML_OP_GROUP_NORM              = 27,
    GGML_OP_L2_NORM                 = 28,
    GGML_OP_MUL_MAT                 = 29,
    GGML_OP_MUL_MAT_ID              = 30,
    GGML_OP_OUT_PROD                = 31,
    GGML_OP_SCALE                   = 32,
    GGML_OP_SET                     = 33,
    GGML_OP_CPY                     = 34,
    GGML_OP_CONT                    = 35,
    GGML_OP_RESHAPE                 = 36,
    GGML_OP_VIEW                    = 37,
    GGML_OP_PERMUTE                 = 38,
    GGML_OP_TRANSPOSE               = 39,
    GGML_OP_GET_ROWS                = 40,
    GGML_OP_GET_ROWS_BACK           = 41,
    GGML_OP_SET_ROWS                = 42,
    GGML_OP_DIAG                    = 43,
    GGML_OP_DIAG_MASK_INF           = 44,
    GGML_OP_DIAG_MASK_ZERO          = 45,
    GGML_OP_SOFT_MAX                = 46,
    GGML_OP_SOFT_MAX_BACK           = 47,
    GGML_OP_ROPE                    = 48,
    GGML_OP_ROPE_BACK               = 49,
    GGML_OP_CLAMP                   = 50,
    GGML_OP_CONV_TRANSPOSE_1D       = 51,
    GGML_OP_IM2COL                  = 52,
    GGML_OP_IM2COL_BACK             = 53,
    GGML_OP_IM2COL_3D               = 54,
    GGML_OP_COL2IM_1D               = 55,
    GGML_OP_CONV_2D                 = 56,
    GGML_OP_CONV_3D                 = 57,
    GGML_OP_CONV_2D_DW              = 58,
    GGML_OP_CONV_TRANSPOSE_2D       = 59,
    GGML_OP_POOL_1D                 = 60,
    GGML_OP_POOL_2D                 = 61,
    GGML_OP_POOL_2D_BACK            = 62,
    GGML_OP_UPSCALE                 = 63,
    GGML_OP_PAD                     = 64,
    GGML_OP_PAD_REFLECT_1D          = 65,
    GGML_OP_ROLL                    = 66,
    GGML_OP_ARANGE                  = 67,
    GGML_OP_TIMESTEP_EMBEDDING      = 68,
    GGML_OP_ARGSORT                 = 69,
    GGML_OP_TOP_K                   = 70,
    GGML_OP_LEAKY_RELU              = 71,
    GGML_OP_TRI                     = 72,
    GGML_OP_FILL                    = 73,
    GGML_OP_FLASH_ATTN_EXT          = 74,
    GGML_OP_FLASH_ATTN_BACK         = 75,
    GGML_OP_SSM_CONV                = 76,
    GGML_OP_SSM_SCAN                = 77,
    GGML_OP_WIN_PART                = 78,
    GGML_OP_WIN_UNPART              = 79,
    GGML_OP_GET_REL_POS             = 80,
    GGML_OP_ADD_REL_POS             = 81,
    GGML_OP_RWKV_WKV6               = 82,
    GGML_OP_GATED_LINEAR_ATTN       = 83,
    GGML_OP_RWKV_WKV7               = 84,
    GGML_OP_SOLVE_TRI               = 85,
    GGML_OP_GATED_DELTA_NET         = 86,
    GGML_OP_LIGHTNING_INDEXER       = 87,
    GGML_OP_DSV4_HC_COMB            = 88,
    GGML_OP_DSV4_HC_PRE             = 89,
    GGML_OP_DSV4_HC_POST            = 90,
    GGML_OP_UNARY                   = 91,
    GGML_OP_MAP_CUSTOM1             = 92,
    GGML_OP_MAP_CUSTOM2             = 93,
    GGML_OP_MAP_CUSTOM3             = 94,
    GGML_OP_CUSTOM                  = 95,
    GGML_OP_CROSS_ENTROPY_LOSS      = 96,
    GGML_OP_CROSS_ENTROPY_LOSS_BACK = 97,
    GGML_OP_OPT_STEP_ADAMW          = 98,
    GGML_OP_OPT_STEP_SGD            = 99,
    GGML_OP_GLU                     = 100,
    GGML_OP_COUNT                   = 101,
};

enum ggml_unary_op {
    GGML_UNARY_OP_ABS         = 0,
    GGML_UNARY_OP_SGN         = 1,
    GGML_UNARY_OP_NEG         = 2,
    GGML_UNARY_OP_STEP        = 3,
    GGML_UNARY_OP_TANH        = 4,
    GGML_UNARY_OP_ELU         = 5,
    GGML_UNARY_OP_RELU        = 6,
    GGML_UNARY_OP_SIGMOID     = 7,
    GGML_UNARY_OP_GELU        = 8,
    GGML_UNARY_OP_GELU_QUICK  = 9,
    GGML_UNARY_OP_SILU        = 10,
    GGML_UNARY_OP_HARDSWISH   = 11,
    GGML_UNARY_OP_HARDSIGMOID = 12,
    GGML_UNARY_OP_EXP         = 13,
    GGML_UNARY_OP_EXPM1       = 14,
    GGML_UNARY_OP_SOFTPLUS    = 15,
    GGML_UNARY_OP_GELU_ERF    = 16,
    GGML_UNARY_OP_XIELU       = 17,
    GGML_UNARY_OP_FLOOR       = 18,
    GGML_UNARY_OP_CEIL        = 19,
    GGML_UNARY_OP_ROUND       = 20,
    GGML_UNARY_OP_TRUNC       = 21,
    GGML_UNARY_OP_COUNT       = 22,
};

enum ggml_glu_op {
    GGML_GLU_OP_REGLU        = 0,
    GGML_GLU_OP_GEGLU        = 1,
    GGML_GLU_OP_SWIGLU       = 2,
    GGML_GLU_OP_SWIGLU_OAI   = 3,
    GGML_GLU_OP_GEGLU_ERF    = 4,
    GGML_GLU_OP_GEGLU_QUICK  = 5,
    GGML_GLU_OP_COUNT        = 7,
    GGML_GLU_OP_SWIGLU_CLAMP = 6,
};

enum ggml_object_type {
    GGML_OBJECT_TYPE_TENSOR      = 0,
    GGML_OBJECT_TYPE_GRAPH       = 1,
    GGML_OBJECT_TYPE_WORK_BUFFER = 2,
};

enum ggml_log_level {
    GGML_LOG_LEVEL_NONE  = 0,
    GGML_LOG_LEVEL_DEBUG = 1,
    GGML_LOG_LEVEL_INFO  = 2,
    GGML_LOG_LEVEL_WARN  = 3,
    GGML_LOG_LEVEL_ERROR = 4,
    GGML_LOG_LEVEL_CONT  = 5,
};

enum ggml_tensor_flag {
    GGML_TENSOR_FLAG_INPUT   = 1,
    GGML_TENSOR_FLAG_OUTPUT  = 2,
    GGML_TENSOR_FLAG_PARAM   = 4,
    GGML_TENSOR_FLAG_LOSS    = 8,
    GGML_TENSOR_FLAG_COMPUTE = 16,
};

enum ggml_tri_type {
    GGML_TRI_TYPE_UPPER_DIAG = 0,
    GGML_TRI_TYPE_UPPER      = 1,
    GGML_TRI_TYPE_LOWER_DIAG = 2,
    GGML_TRI_TYPE_LOWER      = 3,
};

enum ggml_op_pool {
    GGML_OP_POOL_MAX   = 0,
    GGML_OP_POOL_AVG   = 1,
    GGML_OP_POOL_COUNT = 2,
};

enum ggml_scale_mode {
    GGML_SCALE_MODE_NEAREST  = 0,
    GGML_SCALE_MODE_BILINEAR = 1,
    GGML_SCALE_MODE_BICUBIC  = 2,
    GGML_SCALE_MODE_COUNT    = 3,
};

enum ggml_scale_flag {
    GGML_SCALE_FLAG_ALIGN_CORNERS = 256,
    GGML_SCALE_FLAG_ANTIALIAS     = 512,
};

enum ggml_sort_order {
    GGML_SORT_ORDER_ASC  = 0,
    GGML_SORT_ORDER_DESC = 1,
};

enum ggml_sched_priority {
    GGML_SCHED_PRIO_LOW      = -1,
    GGML_SCHED_PRIO_NORMAL   = 0,
    GGML_SCHED_PRIO_MEDIUM   = 1,
    GGML_SCHED_PRIO_HIGH     = 2,
    GGML_SCHED_PRIO_REALTIME = 3,
};

typedef uint16_t ggml_fp16_t; /* IEEE 754 half, as bits */
typedef struct {
    uint16_t bits;
} ggml_bf16_t; /* upper half of an IEEE 754 single */

struct ggml_object;
struct ggml_context;
struct ggml_cgraph;
struct ggml_backend_buffer;
struct ggml_threadpool;
typedef struct ggml_threadpool* ggml_threadpool_t;

typedef uint8_t ggml_guid[16];
typedef ggml_guid* ggml_guid_t;

/* Functions of the application that the library calls. One that throws a C++ exception is contained:
   a log callback loses its line; an abort, evaluation or comparison callback, a reader's callback and
   a custom operation end the call that was made with an error (GGML_STATUS_FAILED, NULL, false, and a
   text in tenon_last_error()). Leaving one by longjmp is not allowed. */

/* The finished text "file:line: message"; may leave by throwing, else the process is aborted. */
typedef void (*ggml_abort_callback_t)(const char* error_message);
/* true stops the running graph after the current node */
typedef bool (*ggml_abort_callback)(void* data);
/* The text carries its newline; GGML_LOG_LEVEL_CONT continues the previous line. */
typedef void (*ggml_log_callback)(enum ggml_log_level level, const char* text, void* user_data);

struct ggml_init_params {
    size_t mem_size;  /* bytes */
    void* mem_buffer; /* NULL: the context allocates and owns it; else 16-aligned, the caller's */
    bool no_alloc;    /* headers only: tensors get no data from the arena */
};

/* One layout for applications and plugins, frozen (tenon/plugin.h asserts it). */
struct ggml_tensor {
    enum ggml_type type;
    struct ggml_backend_buffer* buffer;
    int64_t ne[GGML_MAX_DIMS]; /* elements */
    size_t nb[GGML_MAX_DIMS];  /* bytes */
    enum ggml_op op;
    int32_t op_params[GGML_MAX_OP_PARAMS / sizeof(int32_t)]; /* tenon/op_params.h */
    int32_t flags;                                           /* enum ggml_tensor_flag */
    struct ggml_tensor* src[GGML_MAX_SRC];
    struct ggml_tensor* view_src; /* the tensor that owns the memory, never itself a view */
    size_t view_offs;             /* bytes into it */
    void* data;
    char name[GGML_MAX_NAME];
    void* extra; /* the buffer's owner may keep something here */
    char padding[8];
};

static const size_t GGML_TENSOR_SIZE = sizeof(struct ggml_tensor);

/* Task ith of nth, on a worker thread. Sources of the general form are dst->src[]. */
typedef void (*ggml_custom1_op_t)(struct ggml_tensor* dst, const struct ggml_tensor* a, int ith,
                                  int nth, void* userdata);
typedef void (*ggml_custom2_op_t)(struct ggml_tensor* dst, const struct ggml_tensor* a,
                                  const struct ggml_tensor* b, int ith, int nth, void* userdata);
typedef void (*ggml_custom3_op_t)(struct ggml_tensor* dst, const struct ggml_tensor* a,
                                  const struct ggml_tensor* b, const struct ggml_tensor* c, int ith,
                                  int nth, void* userdata);
typedef void (*ggml_custom_op_t)(struct ggml_tensor* dst, int ith, int nth, void* userdata);

/* k elements, a multiple of the block size */
typedef void (*ggml_to_float_t)(const void* GGML_RESTRICT x, float* GGML_RESTRICT y, int64_t k);
typedef void (*ggml_from_float_t)(const float* GGML_RESTRICT x, void* GGML_RESTRICT y, int64_t k);

struct ggml_type_traits {
    const char* type_name;
    int64_t blck_size;            /* elements per block */
    int64_t blck_size_interleave; /* always 0 */
    size_t type_size;             /* bytes per block */
    bool is_quantized;
    ggml_to_float_t to_float;         /* NULL: no such conversion */
    ggml_from_float_t from_float_ref; /* NULL: no such conversion */
};

struct ggml_threadpool_params {
    bool cpumask[GGML_MAX_N_THREADS]; /* all false: as the process */
    int n_threads;                    /* the caller included */
    enum ggml_sched_priority prio;
    uint32_t poll;   /* 0: sleep when idle … 100: spin */
    bool strict_cpu; /* one CPU of the mask per thread */
    bool paused;
};

/* ---- fatal errors of the application --------------------------------------------------------- */
GGML_API ggml_abort_callback_t ggml_set_abort_callback(ggml_abort_callback_t callback);
GGML_NORETURN GGML_API void ggml_abort(const char* file, int line, const char* fmt, ...) GGML_ATTRIBUTE_FORMAT(3,
                         4);

/* ---- statuses, numbers of 16 bits, version, clock -------------------------------------------- */
GGML_API const char* ggml_status_to_string(enum ggml_status status);
GGML_API float ggml_fp16_to_fp32(ggml_fp16_t);
GGML_API ggml_fp16_t ggml_fp32_to_fp16(float);
GGML_API void ggml_fp16_to_fp32_row(const ggml_fp16_t*, float*, int64_t);
GGML_API void ggml_fp32_to_fp16_row(const float*, ggml_fp16_t*, int64_t);
GGML_API ggml_bf16_t ggml_fp32_to_bf16(float);
GGML_API float ggml_bf16_to_fp32(ggml_bf16_t);
GGML_API void ggml_bf16_to_fp32_row(const ggml_bf16_t*, float*, int64_t);
GGML_API void ggml_fp32_to_bf16_row_ref(const float*, ggml_bf16_t*, int64_t);
GGML_API void ggml_fp32_to_bf16_row(const float*, ggml_bf16_t*, int64_t);
GGML_API bool ggml_guid_matches(ggml_guid_t guid_a, ggml_guid_t guid_b);
GGML_API const char* ggml_version(void);
GGML_API const char* ggml_commit(void);
GGML_API void ggml_time_init(void);
GGML_API int64_t ggml_time_ms(void);
GGML_API int64_t ggml_time_us(void);
GGML_API int64_t ggml_cycles(void);
GGML_API int64_t ggml_cycles_per_ms(void);
GGML_API FILE* ggml_fopen(const char* fname, const char* mode);

/* ---- questions about tensors and types ------------------------------------------------------- */
/* None of these fails: NULL or a bad number gives 0, false or a fixed text. */
GGML_API void ggml_print_object(const struct ggml_object* obj);
GGML_API void ggml_print_objects(const struct ggml_context* ctx);
GGML_API int64_t ggml_nelements(const struct ggml_tensor* tensor);
GGML_API int64_t ggml_nrows(const struct ggml_tensor* tensor);
GGML_API size_t ggml_nbytes(const struct ggml_tensor* tensor);
GGML_API size_t ggml_nbytes_pad(const struct ggml_tensor* tensor);
GGML_API int64_t ggml_blck_size(enum ggml_type type);
GGML_API size_t ggml_type_size(enum ggml_type type);
GGML_API size_t ggml_row_size(enum ggml_type type, int64_t ne);
GGML_DEPRECATED(GGML_API double ggml_type_sizef(enum ggml_type type),
                "see the comment above");
GGML_API const char* ggml_type_name(enum ggml_type type);
GGML_API const char* ggml_op_name(enum ggml_op op);
GGML_API const char* ggml_op_symbol(enum ggml_op op);
GGML_API const char* ggml_unary_op_name(enum ggml_unary_op op);
GGML_API const char* ggml_glu_op_name(enum ggml_glu_op op);
GGML_API const char* ggml_op_desc(const struct ggml_tensor* t);
GGML_API size_t ggml_element_size(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_quantized(enum ggml_type type);
GGML_API enum ggml_type ggml_ftype_to_ggml_type(enum ggml_ftype ftype);
GGML_API bool ggml_is_transposed(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_permuted(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_empty(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_view(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_scalar(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_vector(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_matrix(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_3d(const struct ggml_tensor* tensor);
GGML_API int ggml_n_dims(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_contiguous(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_contiguous_0(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_contiguous_1(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_contiguous_2(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_contiguous_to_1(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_contiguous_to_2(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_contiguous_to_3(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_contiguously_allocated(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_contiguous_channels(const struct ggml_tensor* tensor);
GGML_API bool ggml_is_contiguous_rows(const struct ggml_tensor* tensor);
GGML_API bool ggml_are_same_shape(const struct ggml_tensor* t0, const struct ggml_tensor* t1);
GGML_API bool ggml_are_same_stride(const struct ggml_tensor* t0, const struct ggml_tensor* t1);
GGML_API bool ggml_can_repeat(const struct ggml_tensor* t0, const struct ggml_tensor* t1);
GGML_API size_t ggml_tensor_overhead(void);

GGML_API bool ggml_validate_row_data(enum ggml_type type, const void* data, size_t nbytes);

/* ---- contexts: arenas of tensor headers, graphs and (unless no_alloc) data ------------------- */
GGML_API struct ggml_context* ggml_init(struct ggml_init_params params);
GGML_API void ggml_reset(struct ggml_context* ctx);
GGML_API void ggml_free(struct ggml_context* ctx);
GGML_API size_t ggml_used_mem(const struct ggml_context* ctx);
GGML_API bool ggml_get_no_alloc(struct ggml_context* ctx);
GGML_API void ggml_set_no_alloc(struct ggml_context* ctx, bool no_alloc);
GGML_API void* ggml_get_mem_buffer(const struct ggml_context* ctx);
GGML_API size_t ggml_get_mem_size(const struct ggml_context* ctx);
GGML_API size_t ggml_get_max_tensor_size(const struct ggml_context* ctx);

/* ---- tensors --------------------------------------------------------------------------------- */
/* Owned by the context. NULL when the arena is full or the shape is impossible. */
GGML_API struct ggml_tensor* ggml_new_tensor(
        struct ggml_context* ctx, enum ggml_type type, int n_dims, const int64_t* ne);
GGML_API struct ggml_tensor* ggml_new_tensor_1d(
        struct ggml_context* ctx, enum ggml_type type, int64_t ne0);
GGML_API struct ggml_tensor* ggml_new_tensor_2d(
        struct ggml_context* ctx, enum ggml_type type, int64_t ne0, int64_t ne1);
GGML_API struct ggml_tensor* ggml_new_tensor_3d(
        struct ggml_context* ctx, enum ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2);
GGML_API struct ggml_tensor* ggml_new_tensor_4d(
        struct ggml_context* ctx, enum ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2,
        int64_t ne3);
GGML_API void* ggml_new_buffer(struct ggml_context* ctx, size_t nbytes);
GGML_API struct ggml_tensor* ggml_dup_tensor(
        struct ggml_context* ctx, const struct ggml_tensor* src);
GGML_API struct ggml_tensor* ggml_view_tensor(struct ggml_context* ctx, struct ggml_tensor* src);
GGML_API struct ggml_tensor* ggml_get_first_tensor(const struct ggml_context* ctx);
GGML_API struct ggml_tensor* ggml_get_next_tensor(
        const struct ggml_context* ctx, struct ggml_tensor* tensor);
GGML_API struct ggml_tensor* ggml_get_tensor(struct ggml_context* ctx, const char* name);
GGML_API void ggml_unravel_index(const struct ggml_tensor* tensor, int64_t i, int64_t* i0,
                                 int64_t* i1, int64_t* i2, int64_t* i3);
GGML_API enum ggml_unary_op ggml_get_unary_op(const struct ggml_tensor* tensor);
GGML_API enum ggml_glu_op ggml_get_glu_op(const struct ggml_tensor* tensor);
GGML_API void* ggml_get_data(const struct ggml_tensor* tensor);
GGML_API float* ggml_get_data_f32(const struct ggml_tensor* tensor);
GGML_API const char* ggml_get_name(const struct ggml_tensor* tensor);
GGML_API struct ggml_tensor* ggml_set_name(struct ggml_tensor* tensor, const char* name);
GGML_API struct ggml_tensor* ggml_format_name(
        struct ggml_tensor* tensor, const char* fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);
GGML_API void ggml_set_input(struct ggml_tensor* tensor);
GGML_API void ggml_set_output(struct ggml_tensor* tensor);
GGML_API void ggml_set_param(struct ggml_tensor* tensor);
GGML_API void ggml_set_loss(struct ggml_tensor* tensor);

/* ---- operators ------------------------------------------------------------------------------- */
/* Each records a node and computes nothing. NULL in gives NULL out, so a chain needs one check.
 * The meaning of every op: docs/ops.md, or rt-info --op NAME. */
GGML_API struct ggml_tensor* ggml_dup(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_dup_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_add(struct ggml_context* ctx, struct ggml_tensor* a,
                                      struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_add_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_add_cast(struct ggml_context* ctx, struct ggml_tensor* a,
                                           struct ggml_tensor* b, enum ggml_type type);
GGML_API struct ggml_tensor* ggml_add_id(struct ggml_context* ctx, struct ggml_tensor* a,
                                         struct ggml_tensor* b, struct ggml_tensor* ids);
GGML_DEPRECATED(GGML_API struct ggml_tensor* ggml_add1(struct ggml_context* ctx, struct ggml_tensor* a,
                                       struct ggml_tensor* b),
                "see the comment above");
GGML_DEPRECATED(GGML_API struct ggml_tensor* ggml_add1_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b),
                "see the comment above");
GGML_API struct ggml_tensor* ggml_acc(struct ggml_context* ctx, struct ggml_tensor* a,
                                      struct ggml_tensor* b, size_t nb1, size_t nb2, size_t nb3,
                                      size_t offset);
GGML_API struct ggml_tensor* ggml_acc_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, size_t nb1,
        size_t nb2, size_t nb3, size_t offset);
GGML_API struct ggml_tensor* ggml_sub(struct ggml_context* ctx, struct ggml_tensor* a,
                                      struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_sub_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_mul(struct ggml_context* ctx, struct ggml_tensor* a,
                                      struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_mul_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_div(struct ggml_context* ctx, struct ggml_tensor* a,
                                      struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_div_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_sqr(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_sqr_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_sqrt(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_sqrt_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_log(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_log_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_expm1(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_expm1_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_softplus(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_softplus_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_sin(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_sin_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_cos(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_cos_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_sum(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_sum_rows(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_cumsum(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_mean(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_argmax(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_count_equal(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_repeat(struct ggml_context* ctx, struct ggml_tensor* a,
                                         struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_repeat_4d(
        struct ggml_context* ctx, struct ggml_tensor* a, int64_t ne0, int64_t ne1, int64_t ne2,
        int64_t ne3);
GGML_API struct ggml_tensor* ggml_repeat_back(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_concat(struct ggml_context* ctx, struct ggml_tensor* a,
                                         struct ggml_tensor* b, int dim);
GGML_API struct ggml_tensor* ggml_abs(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_abs_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_sgn(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_sgn_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_neg(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_neg_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_step(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_step_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_tanh(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_tanh_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_elu(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_elu_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_relu(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_leaky_relu(
        struct ggml_context* ctx, struct ggml_tensor* a, float negative_slope, bool inplace);
GGML_API struct ggml_tensor* ggml_relu_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_sigmoid(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_sigmoid_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_gelu(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_gelu_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_gelu_erf(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_gelu_erf_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_gelu_quick(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_gelu_quick_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_silu(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_silu_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_silu_back(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_hardswish(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_hardsigmoid(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_exp(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_exp_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_floor(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_floor_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_ceil(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_ceil_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_round(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_round_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_trunc(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_trunc_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_xielu(struct ggml_context* ctx, struct ggml_tensor* a,
                                        float alpha_n, float alpha_p, float beta, float eps);
GGML_API struct ggml_tensor* ggml_glu(struct ggml_context* ctx, struct ggml_tensor* a,
                                      enum ggml_glu_op op, bool swapped);
GGML_API struct ggml_tensor* ggml_reglu(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_reglu_swapped(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_geglu(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_geglu_swapped(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_swiglu(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_swiglu_swapped(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_geglu_erf(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_geglu_erf_swapped(
        struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_geglu_quick(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_geglu_quick_swapped(
        struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_glu_split(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b,
        enum ggml_glu_op op);
GGML_API struct ggml_tensor* ggml_reglu_split(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_geglu_split(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_swiglu_split(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_geglu_erf_split(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_geglu_quick_split(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_swiglu_oai(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, float alpha,
        float limit);
GGML_API struct ggml_tensor* ggml_norm(struct ggml_context* ctx, struct ggml_tensor* a, float eps);
GGML_API struct ggml_tensor* ggml_norm_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, float eps);
GGML_API struct ggml_tensor* ggml_rms_norm(struct ggml_context* ctx, struct ggml_tensor* a,
                                           float eps);
GGML_API struct ggml_tensor* ggml_rms_norm_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, float eps);
GGML_API struct ggml_tensor* ggml_group_norm(
        struct ggml_context* ctx, struct ggml_tensor* a, int n_groups, float eps);
GGML_API struct ggml_tensor* ggml_group_norm_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, int n_groups, float eps);
GGML_API struct ggml_tensor* ggml_l2_norm(struct ggml_context* ctx, struct ggml_tensor* a,
                                          float eps);
GGML_API struct ggml_tensor* ggml_l2_norm_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, float eps);
GGML_API struct ggml_tensor* ggml_rms_norm_back(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, float eps);
GGML_API struct ggml_tensor* ggml_mul_mat(struct ggml_context* ctx, struct ggml_tensor* a,
                                          struct ggml_tensor* b);
GGML_API void ggml_mul_mat_set_prec(struct ggml_tensor* a, enum ggml_prec prec);
GGML_API void ggml_mul_mat_set_hint(struct ggml_tensor* a, enum ggml_op_hint hint);
// For stable-diffusion.cpp, which calls them for int8 checkpoints only: weight i8 [k, n], input f32
// [k, rows], weight_scale f32 [n], bias f32 [n] or NULL. No op is behind them yet: NULL with a text.
GGML_API struct ggml_tensor* ggml_mul_mat_i8_tensorwise(
        struct ggml_context* ctx, struct ggml_tensor* weight, struct ggml_tensor* input,
        struct ggml_tensor* weight_scale, struct ggml_tensor* bias, int convrot_group_size);
GGML_API struct ggml_tensor* ggml_quantize_i8_convrot(struct ggml_context* ctx,
                                                      struct ggml_tensor* a, int group_size);
GGML_API struct ggml_tensor* ggml_mul_mat_id(
        struct ggml_context* ctx, struct ggml_tensor* as, struct ggml_tensor* b,
        struct ggml_tensor* ids);
GGML_API struct ggml_tensor* ggml_out_prod(struct ggml_context* ctx, struct ggml_tensor* a,
                                           struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_scale(struct ggml_context* ctx, struct ggml_tensor* a, float s);
GGML_API struct ggml_tensor* ggml_scale_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, float s);
GGML_API struct ggml_tensor* ggml_scale_bias(
        struct ggml_context* ctx, struct ggml_tensor* a, float s, float b);
GGML_API struct ggml_tensor* ggml_scale_bias_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, float s, float b);
GGML_API struct ggml_tensor* ggml_set(struct ggml_context* ctx, struct ggml_tensor* a,
                                      struct ggml_tensor* b, size_t nb1, size_t nb2, size_t nb3,
                                      size_t offset);
GGML_API struct ggml_tensor* ggml_set_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, size_t nb1,
        size_t nb2, size_t nb3, size_t offset);
GGML_API struct ggml_tensor* ggml_set_1d(struct ggml_context* ctx, struct ggml_tensor* a,
                                         struct ggml_tensor* b, size_t offset);
GGML_API struct ggml_tensor* ggml_set_1d_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, size_t offset);
GGML_API struct ggml_tensor* ggml_set_2d(struct ggml_context* ctx, struct ggml_tensor* a,
                                         struct ggml_tensor* b, size_t nb1, size_t offset);
GGML_API struct ggml_tensor* ggml_set_2d_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, size_t nb1,
        size_t offset);
GGML_API struct ggml_tensor* ggml_cpy(struct ggml_context* ctx, struct ggml_tensor* a,
                                      struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_cast(struct ggml_context* ctx, struct ggml_tensor* a,
                                       enum ggml_type type);
GGML_API struct ggml_tensor* ggml_cont(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_cont_1d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          int64_t ne0);
GGML_API struct ggml_tensor* ggml_cont_2d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          int64_t ne0, int64_t ne1);
GGML_API struct ggml_tensor* ggml_cont_3d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          int64_t ne0, int64_t ne1, int64_t ne2);
GGML_API struct ggml_tensor* ggml_cont_4d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3);
GGML_API struct ggml_tensor* ggml_reshape(struct ggml_context* ctx, struct ggml_tensor* a,
                                          struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_reshape_1d(
        struct ggml_context* ctx, struct ggml_tensor* a, int64_t ne0);
GGML_API struct ggml_tensor* ggml_reshape_2d(
        struct ggml_context* ctx, struct ggml_tensor* a, int64_t ne0, int64_t ne1);
GGML_API struct ggml_tensor* ggml_reshape_3d(
        struct ggml_context* ctx, struct ggml_tensor* a, int64_t ne0, int64_t ne1, int64_t ne2);
GGML_API struct ggml_tensor* ggml_reshape_4d(
        struct ggml_context* ctx, struct ggml_tensor* a, int64_t ne0, int64_t ne1, int64_t ne2,
        int64_t ne3);
GGML_API struct ggml_tensor* ggml_view_1d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          int64_t ne0, size_t offset);
GGML_API struct ggml_tensor* ggml_view_2d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          int64_t ne0, int64_t ne1, size_t nb1, size_t offset);
GGML_API struct ggml_tensor* ggml_view_3d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          int64_t ne0, int64_t ne1, int64_t ne2, size_t nb1,
                                          size_t nb2, size_t offset);
GGML_API struct ggml_tensor* ggml_view_4d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3,
                                          size_t nb1, size_t nb2, size_t nb3, size_t offset);
GGML_API struct ggml_tensor* ggml_permute(struct ggml_context* ctx, struct ggml_tensor* a,
                                          int axis0, int axis1, int axis2, int axis3);
GGML_API struct ggml_tensor* ggml_transpose(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_get_rows(struct ggml_context* ctx, struct ggml_tensor* a,
                                           struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_get_rows_back(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b,
        struct ggml_tensor* c);
GGML_API struct ggml_tensor* ggml_set_rows(struct ggml_context* ctx, struct ggml_tensor* a,
                                           struct ggml_tensor* b, struct ggml_tensor* c);
GGML_API struct ggml_tensor* ggml_diag(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_diag_mask_inf(
        struct ggml_context* ctx, struct ggml_tensor* a, int n_past);
GGML_API struct ggml_tensor* ggml_diag_mask_inf_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, int n_past);
GGML_API struct ggml_tensor* ggml_diag_mask_zero(
        struct ggml_context* ctx, struct ggml_tensor* a, int n_past);
GGML_API struct ggml_tensor* ggml_diag_mask_zero_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, int n_past);
GGML_API struct ggml_tensor* ggml_soft_max(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_soft_max_inplace(struct ggml_context* ctx, struct ggml_tensor* a);
GGML_API struct ggml_tensor* ggml_soft_max_ext(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* mask, float scale,
        float max_bias);
GGML_API struct ggml_tensor* ggml_soft_max_ext_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* mask, float scale,
        float max_bias);
GGML_API void ggml_soft_max_add_sinks(struct ggml_tensor* a, struct ggml_tensor* sinks);
GGML_API struct ggml_tensor* ggml_soft_max_ext_back(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, float scale,
        float max_bias);
GGML_API struct ggml_tensor* ggml_soft_max_ext_back_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, float scale,
        float max_bias);
GGML_API struct ggml_tensor* ggml_rope(struct ggml_context* ctx, struct ggml_tensor* a,
                                       struct ggml_tensor* b, int n_dims, int mode);
GGML_API struct ggml_tensor* ggml_rope_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int n_dims,
        int mode);
GGML_API struct ggml_tensor* ggml_rope_ext(struct ggml_context* ctx, struct ggml_tensor* a,
                                           struct ggml_tensor* b, struct ggml_tensor* c, int n_dims,
                                           int mode, int n_ctx_orig, float freq_base,
                                           float freq_scale, float ext_factor, float attn_factor,
                                           float beta_fast, float beta_slow);
GGML_API struct ggml_tensor* ggml_rope_multi(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b,
        struct ggml_tensor* c, int n_dims, int* sections, int mode, int n_ctx_orig, float freq_base,
        float freq_scale, float ext_factor, float attn_factor, float beta_fast, float beta_slow);
GGML_API struct ggml_tensor* ggml_rope_ext_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b,
        struct ggml_tensor* c, int n_dims, int mode, int n_ctx_orig, float freq_base,
        float freq_scale, float ext_factor, float attn_factor, float beta_fast, float beta_slow);
GGML_API struct ggml_tensor* ggml_rope_multi_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b,
        struct ggml_tensor* c, int n_dims, int* sections, int mode, int n_ctx_orig, float freq_base,
        float freq_scale, float ext_factor, float attn_factor, float beta_fast, float beta_slow);
GGML_DEPRECATED(GGML_API struct ggml_tensor* ggml_rope_custom(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int n_dims,
        int mode, int n_ctx_orig, float freq_base, float freq_scale, float ext_factor,
        float attn_factor, float beta_fast, float beta_slow),
                "see the comment above");
GGML_DEPRECATED(GGML_API struct ggml_tensor* ggml_rope_custom_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int n_dims,
        int mode, int n_ctx_orig, float freq_base, float freq_scale, float ext_factor,
        float attn_factor, float beta_fast, float beta_slow),
                "see the comment above");
GGML_API void ggml_rope_yarn_corr_dims(int n_dims, int n_ctx_orig, float freq_base, float beta_fast,
                                       float beta_slow, float* dims);
GGML_API struct ggml_tensor* ggml_rope_ext_back(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b,
        struct ggml_tensor* c, int n_dims, int mode, int n_ctx_orig, float freq_base,
        float freq_scale, float ext_factor, float attn_factor, float beta_fast, float beta_slow);
GGML_API struct ggml_tensor* ggml_rope_multi_back(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b,
        struct ggml_tensor* c, int n_dims, int* sections, int mode, int n_ctx_orig, float freq_base,
        float freq_scale, float ext_factor, float attn_factor, float beta_fast, float beta_slow);
GGML_API struct ggml_tensor* ggml_rope_set_offset(struct ggml_tensor* a, int n_offs);
GGML_API struct ggml_tensor* ggml_clamp(struct ggml_context* ctx, struct ggml_tensor* a, float min,
                                        float max);
GGML_API struct ggml_tensor* ggml_im2col(struct ggml_context* ctx, struct ggml_tensor* a,
                                         struct ggml_tensor* b, int s0, int s1, int p0, int p1,
                                         int d0, int d1, bool is_2D, enum ggml_type dst_type);
GGML_API struct ggml_tensor* ggml_im2col_back(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int64_t* ne, int s0,
        int s1, int p0, int p1, int d0, int d1, bool is_2D);
GGML_API struct ggml_tensor* ggml_col2im_1d(
        struct ggml_context* ctx, struct ggml_tensor* a, int s0, int oc, int p0);
GGML_API struct ggml_tensor* ggml_conv_1d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          struct ggml_tensor* b, int s0, int p0, int d0);
GGML_API struct ggml_tensor* ggml_conv_1d_ph(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int s, int d);
GGML_API struct ggml_tensor* ggml_conv_1d_dw(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int s0, int p0,
        int d0);
GGML_API struct ggml_tensor* ggml_conv_1d_dw_ph(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int s0, int d0);
GGML_API struct ggml_tensor* ggml_conv_transpose_1d(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int s0, int p0,
        int d0);
GGML_API struct ggml_tensor* ggml_conv_2d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          struct ggml_tensor* b, int s0, int s1, int p0, int p1,
                                          int d0, int d1);
GGML_API struct ggml_tensor* ggml_im2col_3d(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int64_t IC, int s0,
        int s1, int s2, int p0, int p1, int p2, int d0, int d1, int d2, enum ggml_type dst_type);
GGML_API struct ggml_tensor* ggml_conv_3d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          struct ggml_tensor* b, int64_t IC, int s0, int s1, int s2,
                                          int p0, int p1, int p2, int d0, int d1, int d2);
GGML_API struct ggml_tensor* ggml_conv_2d_sk_p0(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_conv_2d_s1_ph(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_conv_2d_dw(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int s0, int s1,
        int p0, int p1, int d0, int d1);
GGML_API struct ggml_tensor* ggml_conv_2d_dw_direct(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int stride0,
        int stride1, int pad0, int pad1, int dilation0, int dilation1);
GGML_API struct ggml_tensor* ggml_conv_transpose_2d_p0(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int stride);
GGML_API struct ggml_tensor* ggml_conv_2d_direct(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int s0, int s1,
        int p0, int p1, int d0, int d1);
GGML_API struct ggml_tensor* ggml_conv_3d_direct(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, int s0, int s1,
        int s2, int p0, int p1, int p2, int d0, int d1, int d2, int n_channels, int n_batch,
        int n_channels_out);
GGML_API struct ggml_tensor* ggml_pool_1d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          enum ggml_op_pool op, int k0, int s0, int p0);
GGML_API struct ggml_tensor* ggml_pool_2d(struct ggml_context* ctx, struct ggml_tensor* a,
                                          enum ggml_op_pool op, int k0, int k1, int s0, int s1,
                                          float p0, float p1);
GGML_API struct ggml_tensor* ggml_pool_2d_back(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* af,
        enum ggml_op_pool op, int k0, int k1, int s0, int s1, float p0, float p1);
GGML_API struct ggml_tensor* ggml_upscale(struct ggml_context* ctx, struct ggml_tensor* a,
                                          int scale_factor, enum ggml_scale_mode mode);
GGML_DEPRECATED(GGML_API struct ggml_tensor* ggml_upscale_ext(
        struct ggml_context* ctx, struct ggml_tensor* a, int ne0, int ne1, int ne2, int ne3,
        enum ggml_scale_mode mode),
                "see the comment above");
GGML_API struct ggml_tensor* ggml_interpolate(
        struct ggml_context* ctx, struct ggml_tensor* a, int64_t ne0, int64_t ne1, int64_t ne2,
        int64_t ne3, uint32_t mode);
GGML_API struct ggml_tensor* ggml_pad(struct ggml_context* ctx, struct ggml_tensor* a, int p0,
                                      int p1, int p2, int p3);
GGML_API struct ggml_tensor* ggml_pad_circular(
        struct ggml_context* ctx, struct ggml_tensor* a, int p0, int p1, int p2, int p3);
GGML_API struct ggml_tensor* ggml_pad_ext(struct ggml_context* ctx, struct ggml_tensor* a, int lp0,
                                          int rp0, int lp1, int rp1, int lp2, int rp2, int lp3,
                                          int rp3);
GGML_API struct ggml_tensor* ggml_pad_ext_circular(
        struct ggml_context* ctx, struct ggml_tensor* a, int lp0, int rp0, int lp1, int rp1,
        int lp2, int rp2, int lp3, int rp3);
GGML_API struct ggml_tensor* ggml_pad_reflect_1d(
        struct ggml_context* ctx, struct ggml_tensor* a, int p0, int p1);
GGML_API struct ggml_tensor* ggml_roll(struct ggml_context* ctx, struct ggml_tensor* a, int shift0,
                                       int shift1, int shift2, int shift3);
GGML_API struct ggml_tensor* ggml_tri(struct ggml_context* ctx, struct ggml_tensor* a,
                                      enum ggml_tri_type type);
GGML_API struct ggml_tensor* ggml_fill(struct ggml_context* ctx, struct ggml_tensor* a, float c);
GGML_API struct ggml_tensor* ggml_fill_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, float c);
GGML_API struct ggml_tensor* ggml_timestep_embedding(
        struct ggml_context* ctx, struct ggml_tensor* timesteps, int dim, int max_period);
GGML_API struct ggml_tensor* ggml_argsort(struct ggml_context* ctx, struct ggml_tensor* a,
                                          enum ggml_sort_order order);
GGML_API struct ggml_tensor* ggml_argsort_top_k(
        struct ggml_context* ctx, struct ggml_tensor* a, int k);
GGML_API struct ggml_tensor* ggml_top_k(struct ggml_context* ctx, struct ggml_tensor* a, int k);
GGML_API struct ggml_tensor* ggml_arange(struct ggml_context* ctx, float start, float stop,
                                         float step);
GGML_API struct ggml_tensor* ggml_flash_attn_ext(
        struct ggml_context* ctx, struct ggml_tensor* q, struct ggml_tensor* k,
        struct ggml_tensor* v, struct ggml_tensor* mask, float scale, float max_bias,
        float logit_softcap);
GGML_API void ggml_flash_attn_ext_set_prec(struct ggml_tensor* a, enum ggml_prec prec);
GGML_API enum ggml_prec ggml_flash_attn_ext_get_prec(const struct ggml_tensor* a);
GGML_API void ggml_flash_attn_ext_add_sinks(struct ggml_tensor* a, struct ggml_tensor* sinks);
GGML_API struct ggml_tensor* ggml_flash_attn_back(
        struct ggml_context* ctx, struct ggml_tensor* q, struct ggml_tensor* k,
        struct ggml_tensor* v, struct ggml_tensor* d, bool masked);
GGML_API struct ggml_tensor* ggml_ssm_conv(struct ggml_context* ctx, struct ggml_tensor* sx,
                                           struct ggml_tensor* c);
// Programs written before ggml 0.20 pass no K: in C++ it is 1 for them, the final state only.
#ifdef __cplusplus
#define TENON_CXX_DEFAULT(value) = value
#else
#define TENON_CXX_DEFAULT(value)
#endif
GGML_API struct ggml_tensor* ggml_ssm_scan(struct ggml_context* ctx, struct ggml_tensor* s,
                                           struct ggml_tensor* x, struct ggml_tensor* dt,
                                           struct ggml_tensor* A, struct ggml_tensor* B,
                                           struct ggml_tensor* C, struct ggml_tensor* ids,
                                           int64_t K TENON_CXX_DEFAULT(1));
GGML_API struct ggml_tensor* ggml_win_part(struct ggml_context* ctx, struct ggml_tensor* a, int w);
GGML_API struct ggml_tensor* ggml_win_unpart(
        struct ggml_context* ctx, struct ggml_tensor* a, int w0, int h0, int w);
GGML_API struct ggml_tensor* ggml_unary(struct ggml_context* ctx, struct ggml_tensor* a,
                                        enum ggml_unary_op op);
GGML_API struct ggml_tensor* ggml_unary_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, enum ggml_unary_op op);
GGML_API struct ggml_tensor* ggml_get_rel_pos(
        struct ggml_context* ctx, struct ggml_tensor* a, int qh, int kh);
GGML_API struct ggml_tensor* ggml_add_rel_pos(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* pw,
        struct ggml_tensor* ph);
GGML_API struct ggml_tensor* ggml_add_rel_pos_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* pw,
        struct ggml_tensor* ph);
GGML_API struct ggml_tensor* ggml_rwkv_wkv6(
        struct ggml_context* ctx, struct ggml_tensor* k, struct ggml_tensor* v,
        struct ggml_tensor* r, struct ggml_tensor* tf, struct ggml_tensor* td,
        struct ggml_tensor* state);
GGML_API struct ggml_tensor* ggml_gated_linear_attn(
        struct ggml_context* ctx, struct ggml_tensor* k, struct ggml_tensor* v,
        struct ggml_tensor* q, struct ggml_tensor* g, struct ggml_tensor* state, float scale);
GGML_API struct ggml_tensor* ggml_rwkv_wkv7(
        struct ggml_context* ctx, struct ggml_tensor* r, struct ggml_tensor* w,
        struct ggml_tensor* k, struct ggml_tensor* v, struct ggml_tensor* a, struct ggml_tensor* b,
        struct ggml_tensor* state);
GGML_API struct ggml_tensor* ggml_solve_tri(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, bool left,
        bool lower, bool uni);
GGML_API struct ggml_tensor* ggml_gated_delta_net(
        struct ggml_context* ctx, struct ggml_tensor* q, struct ggml_tensor* k,
        struct ggml_tensor* v, struct ggml_tensor* g, struct ggml_tensor* beta,
        struct ggml_tensor* state, int64_t K);
GGML_API struct ggml_tensor* ggml_lightning_indexer(
        struct ggml_context* ctx, struct ggml_tensor* q, struct ggml_tensor* k,
        struct ggml_tensor* weights, struct ggml_tensor* mask);
GGML_API struct ggml_tensor* ggml_dsv4_hc_comb(
        struct ggml_context* ctx, struct ggml_tensor* mixes, struct ggml_tensor* scale,
        struct ggml_tensor* base, float eps, int32_t n_iter);
GGML_API struct ggml_tensor* ggml_dsv4_hc_pre(
        struct ggml_context* ctx, struct ggml_tensor* x, struct ggml_tensor* weights);
GGML_API struct ggml_tensor* ggml_dsv4_hc_post(
        struct ggml_context* ctx, struct ggml_tensor* x, struct ggml_tensor* residual,
        struct ggml_tensor* post, struct ggml_tensor* comb);
GGML_API struct ggml_tensor* ggml_map_custom1(
        struct ggml_context* ctx, struct ggml_tensor* a, ggml_custom1_op_t fun, int n_tasks,
        void* userdata);
GGML_API struct ggml_tensor* ggml_map_custom1_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, ggml_custom1_op_t fun, int n_tasks,
        void* userdata);
GGML_API struct ggml_tensor* ggml_map_custom2(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b,
        ggml_custom2_op_t fun, int n_tasks, void* userdata);
GGML_API struct ggml_tensor* ggml_map_custom2_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b,
        ggml_custom2_op_t fun, int n_tasks, void* userdata);
GGML_API struct ggml_tensor* ggml_map_custom3(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b,
        struct ggml_tensor* c, ggml_custom3_op_t fun, int n_tasks, void* userdata);
GGML_API struct ggml_tensor* ggml_map_custom3_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b,
        struct ggml_tensor* c, ggml_custom3_op_t fun, int n_tasks, void* userdata);
GGML_API struct ggml_tensor* ggml_custom_4d(
        struct ggml_context* ctx, enum ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2,
        int64_t ne3, struct ggml_tensor** args, int n_args, ggml_custom_op_t fun, int n_tasks,
        void* userdata);
GGML_API struct ggml_tensor* ggml_custom_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor** args, int n_args,
        ggml_custom_op_t fun, int n_tasks, void* userdata);
GGML_API struct ggml_tensor* ggml_cross_entropy_loss(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b);
GGML_API struct ggml_tensor* ggml_cross_entropy_loss_back(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b,
        struct ggml_tensor* c);
GGML_API struct ggml_tensor* ggml_opt_step_adamw(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* grad,
        struct ggml_tensor* m, struct ggml_tensor* v, struct ggml_tensor* adamw_params);
GGML_API struct ggml_tensor* ggml_opt_step_sgd(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* grad,
        struct ggml_tensor* sgd_params);

/* ---- graphs ---------------------------------------------------------------------------------- */
GGML_API struct ggml_tensor* ggml_build_forward_select(
        struct ggml_cgraph* cgraph, struct ggml_tensor** tensors, int n_tensors, int idx);
GGML_API void ggml_build_forward_expand(struct ggml_cgraph* cgraph, struct ggml_tensor* tensor);
GGML_API void ggml_build_forward_order(struct ggml_cgraph* cgraph, struct ggml_tensor* tensor);
GGML_API struct ggml_cgraph* ggml_new_graph(struct ggml_context* ctx);
GGML_API struct ggml_cgraph* ggml_new_graph_custom(
        struct ggml_context* ctx, size_t size, bool grads);
GGML_API struct ggml_cgraph* ggml_graph_dup(
        struct ggml_context* ctx, struct ggml_cgraph* cgraph, bool force_grads);
GGML_API void ggml_graph_cpy(struct ggml_cgraph* src, struct ggml_cgraph* dst);
GGML_API void ggml_graph_reset(struct ggml_cgraph* cgraph);
GGML_API void ggml_graph_clear(struct ggml_cgraph* cgraph);
GGML_API int ggml_graph_size(struct ggml_cgraph* cgraph);
GGML_API struct ggml_tensor* ggml_graph_node(struct ggml_cgraph* cgraph, int i);
GGML_API struct ggml_tensor** ggml_graph_nodes(struct ggml_cgraph* cgraph);
GGML_API int ggml_graph_n_nodes(struct ggml_cgraph* cgraph);
GGML_API void ggml_graph_add_node(struct ggml_cgraph* cgraph, struct ggml_tensor* tensor);
GGML_API size_t ggml_graph_overhead(void);
GGML_API size_t ggml_graph_overhead_custom(size_t size, bool grads);
GGML_API struct ggml_tensor* ggml_graph_get_tensor(
        const struct ggml_cgraph* cgraph, const char* name);
GGML_API struct ggml_tensor* ggml_graph_get_grad(
        const struct ggml_cgraph* cgraph, const struct ggml_tensor* node);
GGML_API struct ggml_tensor* ggml_graph_get_grad_acc(
        const struct ggml_cgraph* cgraph, const struct ggml_tensor* node);
GGML_API void ggml_graph_print(const struct ggml_cgraph* cgraph);
GGML_API void ggml_graph_dump_dot(const struct ggml_cgraph* gb, const struct ggml_cgraph* cgraph,
                                  const char* filename);

/* ---- log ------------------------------------------------------------------------------------- */
GGML_API void ggml_log_get(ggml_log_callback* log_callback, void** user_data);
GGML_API void ggml_log_set(ggml_log_callback log_callback, void* user_data); /* any thread */

GGML_API struct ggml_tensor* ggml_set_zero(struct ggml_tensor* tensor);

/* ---- quantisation ---------------------------------------------------------------------------- */
GGML_API void ggml_quantize_init(enum ggml_type type);
GGML_API void ggml_quantize_free(void);
GGML_API bool ggml_quantize_requires_imatrix(enum ggml_type type);
GGML_API size_t ggml_quantize_chunk(enum ggml_type type, const float* src, void* dst, int64_t start,
                                    int64_t nrows, int64_t n_per_row, const float* imatrix);
GGML_API const struct ggml_type_traits* ggml_get_type_traits(enum ggml_type type);

/* ---- thread pools ---------------------------------------------------------------------------- */
GGML_API struct ggml_threadpool_params ggml_threadpool_params_default(int n_threads);
GGML_API void ggml_threadpool_params_init(struct ggml_threadpool_params* p, int n_threads);
GGML_API bool ggml_threadpool_params_match(const struct ggml_threadpool_params* p0,
                                           const struct ggml_threadpool_params* p1);

/* ---- since 0.22 and 0.23 --------------------------------------------------------------------- */
GGML_API struct ggml_tensor* ggml_clamp_inplace(
        struct ggml_context* ctx, struct ggml_tensor* a, float min, float max);
GGML_API struct ggml_tensor* ggml_swiglu_clamp(
        struct ggml_context* ctx, struct ggml_tensor* a, struct ggml_tensor* b, float limit);
GGML_API void ggml_flash_attn_ext_set_n_kv_max(struct ggml_tensor* a, int32_t n_kv_max);
GGML_API bool ggml_prec_set_acc(struct ggml_tensor* a, enum ggml_prec prec);
GGML_API bool ggml_prec_set_src(struct ggml_tensor* a, enum ggml_prec prec, int idx);

#ifdef __cplusplus
}
#endif

#endif
