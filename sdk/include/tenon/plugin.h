/* tenon/plugin.h - Tenon backend plugin ABI, major version 1.
 *
 * Contract in one paragraph: a plugin is a shared object that exports exactly
 * one function, tenon_plugin_entry_v1, and one ELF note, and imports nothing
 * from the Tenon core. Everything the plugin needs from the core arrives in
 * the host table; everything the core needs from the plugin leaves in tables
 * of function pointers. Tables only ever grow at the end. What not every plugin
 * needs is an extension: one header each in tenon/ext/.
 *
 * Thread tags used below (full rules: plugin-abi.md, section 8)
 *   [any]     callable from any thread, also concurrently with itself
 *   [init]    the core never calls two [init] functions of one plugin at once
 *   [object]  the core never calls two [object] functions with the same first
 *             handle at once; different handles may run concurrently
 */
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include "ggml.h" /* types only: struct ggml_tensor, enums. No function of it may be called. */
#include "tenon/static_assert.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TENON_EXPORT __attribute__((visibility("default")))
#else
#define TENON_EXPORT
#endif

/* ------------------------------------------------------------------ version */

#define TENON_ABI_MAJOR 1
#define TENON_ABI_MINOR 0

/* True when the table *p, as filled in by the other side, is long enough to
 * hold field f and f is set. The only legal way to read a field that was added
 * after minor 0. */
#define TENON_HAS(p, type, f) \
    ((p) && (p)->struct_size >= offsetof(type, f) + sizeof((p)->f) && (p)->f)

/* True when the caller's output record *p is long enough for field f. Needed
 * before writing a field newer than the abi_minor_needed of the plugin. */
#define TENON_FITS(p, type, f) ((p)->struct_size >= offsetof(type, f) + sizeof((p)->f))

/* ------------------------------------------------------------------- status */

typedef int32_t tenon_status;
enum {
    TENON_OK                 = 0,
    TENON_E_UNSUPPORTED      = 1,  /* not available here; the core may fall back */
    TENON_E_INVALID          = 2,  /* the caller broke the contract */
    TENON_E_NO_HOST_MEMORY   = 3,
    TENON_E_NO_DEVICE_MEMORY = 4,
    TENON_E_DEVICE_LOST      = 5,  /* sticky: device must be closed */
    TENON_E_NOT_FOUND        = 6,
    TENON_E_BUSY             = 7,
    TENON_E_TIMEOUT          = 8,
    TENON_E_CANCELLED        = 9,
    TENON_E_VERSION          = 10, /* ABI or driver version out of range */
    TENON_E_NO_DRIVER        = 11, /* vendor runtime absent or unusable */
    TENON_E_PERMISSION       = 12,
    TENON_E_INTERNAL         = 13,
    TENON_E_FORKED           = 14, /* object belongs to the parent process */
    TENON_E_IO               = 15
};

/* Filled by the callee on failure when the pointer is not NULL. The caller sets
 * struct_size and zeroes the rest. Text is UTF-8 and NUL-terminated. */
typedef struct tenon_error {
    uint32_t     struct_size;
    tenon_status code;
    int64_t      native_code;      /* driver's own number, 0 if none */
    char         native_name[48];  /* e.g. "cudaErrorMemoryAllocation" */
    char         message[440];
} tenon_error;

/* Writes an error record, never past what the caller's struct_size allows. */
static inline tenon_status tenon_fail(tenon_error *e, tenon_status code, int64_t native_code,
                                      const char *native_name, const char *text) {
    if (e) {
        const size_t end = e->struct_size;
        if (end >= offsetof(tenon_error, native_name)) { e->code = code; e->native_code = native_code; }
        if (native_name && end >= offsetof(tenon_error, message)) {
            size_t i = 0;
            for (; native_name[i] && i + 1 < sizeof e->native_name; i++) e->native_name[i] = native_name[i];
            e->native_name[i] = 0;
        }
        if (text && end > offsetof(tenon_error, message)) {
            const size_t cap = end - offsetof(tenon_error, message) < sizeof e->message
                             ? end - offsetof(tenon_error, message) : sizeof e->message;
            size_t i = 0;
            for (; text[i] && i + 1 < cap; i++) e->message[i] = text[i];
            e->message[i] = 0;
        }
    }
    return code;
}

/* --------------------------------------------------------- identification note */

#define TENON_NOTE_OWNER  "Tenon"          /* n_namesz = 6 */
#define TENON_NOTE_PLUGIN 0x101u           /* n_type */

enum { TENON_TENSOR_LAYOUT_1 = 1 };

enum { /* tenon_note_desc.flags */
    TENON_NOTE_TOUCHES_DRIVER = 1u << 0,   /* probe in a helper process first */
    TENON_NOTE_FORK_SAFE      = 1u << 1,
    TENON_NOTE_UNLOADABLE     = 1u << 2,   /* dlclose after shutdown is safe */
    TENON_NOTE_COEXISTS       = 1u << 3    /* may load beside others of its family */
};

enum { TENON_ARCH_ANY = 0, TENON_ARCH_X86_64 = 1, TENON_ARCH_AARCH64 = 2, TENON_ARCH_RISCV64 = 3 };

/* isa_need[0] bits, x86-64 */
enum {
    TENON_X86_SSE42 = 1u << 0, TENON_X86_AVX = 1u << 1, TENON_X86_F16C = 1u << 2,
    TENON_X86_FMA = 1u << 3, TENON_X86_AVX2 = 1u << 4, TENON_X86_BMI2 = 1u << 5,
    TENON_X86_AVX512_CORE = 1u << 6,  /* F + CD + VL + DQ + BW */
    TENON_X86_AVX512_VBMI = 1u << 7, TENON_X86_AVX512_VNNI = 1u << 8,
    TENON_X86_AVX512_BF16 = 1u << 9, TENON_X86_AVX512_FP16 = 1u << 10,
    TENON_X86_AVX_VNNI = 1u << 11, TENON_X86_AMX_INT8 = 1u << 12, TENON_X86_AMX_BF16 = 1u << 13
};
/* isa_need[0] bits, AArch64 */
enum {
    TENON_ARM_DOTPROD = 1u << 0, TENON_ARM_FP16 = 1u << 1, TENON_ARM_I8MM = 1u << 2,
    TENON_ARM_BF16 = 1u << 3, TENON_ARM_SVE = 1u << 4, TENON_ARM_SVE2 = 1u << 5,
    TENON_ARM_SME = 1u << 6, TENON_ARM_SME2 = 1u << 7
};

/* Readable without executing the file. No pointers, little-endian. */
typedef struct tenon_note_desc {
    uint32_t desc_size;
    uint16_t abi_major;
    uint16_t abi_minor_built;      /* minor of the header it was compiled with */
    uint16_t abi_minor_needed;     /* oldest host minor it can live with */
    uint16_t tensor_layout;        /* TENON_TENSOR_LAYOUT_* */
    uint32_t flags;                /* TENON_NOTE_* */
    uint32_t arch;                 /* TENON_ARCH_* */
    uint32_t rank;                 /* among usable variants of the family, larger is tried first */
    uint32_t isa_need[4];          /* CPU features the code needs, bits by arch */
    char     family[32];           /* variants of one family exclude each other */
    char     variant[32];
    char     id[64];               /* reverse DNS, e.g. "org.tenon.cuda" */
    char     version[32];
} tenon_note_desc;

#if defined(__ELF__)
#define TENON_PLUGIN_NOTE(...)                                                   \
    __attribute__((section(".note.tenon"), used, aligned(4))) static const      \
    struct { uint32_t namesz, descsz, type; char name[8]; tenon_note_desc d; }   \
    tenon_plugin_note_ = { 6u, (uint32_t)sizeof(tenon_note_desc),               \
                           TENON_NOTE_PLUGIN, TENON_NOTE_OWNER, __VA_ARGS__ }
#endif

/* --------------------------------------------------------------------- handles */

typedef struct tenon_host        tenon_host;
typedef struct tenon_plugin      tenon_plugin;
typedef struct tenon_plugin_ctx  tenon_plugin_ctx;   /* plugin-defined */

/* Plugin objects. The plugin allocates them, usually as the first member of a
 * larger struct of its own. */
typedef struct tenon_device { const struct tenon_device_vtbl *v; } tenon_device;
typedef struct tenon_buffer { const struct tenon_buffer_vtbl *v; } tenon_buffer;
typedef struct tenon_stream { const struct tenon_stream_vtbl *v; } tenon_stream;
typedef struct tenon_event  { const struct tenon_event_vtbl  *v; } tenon_event;
typedef struct tenon_team tenon_team;                /* worker threads, core-defined */

/* What ggml_tensor.buffer points at, as a plugin sees it. Core-owned, read-only
 * for plugins. Views: use view_src->buffer when buffer is NULL. */
typedef struct tenon_buffer_head {
    uint32_t      struct_size;
    uint32_t      plugin_serial;   /* tenon_plugin_config.serial for own buffers; 0 = the core's host memory */
    tenon_buffer *buffer;          /* the plugin's object; foreign if serial differs; NULL for serial 0 */
    void         *base;            /* host address, or an opaque device base */
    uint64_t      size;
    uint32_t      device_index;
    uint32_t      buft_index;
    uint32_t      buft_flags;      /* TENON_BUFT_* */
    uint32_t      usage;           /* enum ggml_backend_buffer_usage values */
} tenon_buffer_head;

typedef struct tenon_kv { const char *key, *value; } tenon_kv;

/* ------------------------------------------------------------------ host table */

enum { TENON_LOG_DEBUG = 1, TENON_LOG_INFO = 2, TENON_LOG_WARN = 3, TENON_LOG_ERROR = 4 };

typedef struct tenon_type_info {
    uint32_t    struct_size;
    int32_t     type;              /* enum ggml_type */
    const char *name;
    uint32_t    block_elems;
    uint32_t    block_bytes;
    uint32_t    is_quantized;
    uint32_t    reserved0;
    void      (*to_float)(const void *src, float *dst, int64_t n);      /* may be NULL */
    void      (*from_float_ref)(const float *src, void *dst, int64_t n);/* may be NULL */
} tenon_type_info;

struct tenon_host {
    uint32_t    struct_size;
    uint16_t    abi_major, abi_minor;
    const char *runtime_name;      /* "tenon" */
    const char *runtime_version;
    uint32_t    op_count;          /* GGML_OP_COUNT the core was built with */
    uint32_t    type_count;        /* GGML_TYPE_COUNT likewise */

    void     (*log)(const tenon_host *, int32_t level, const char *topic, const char *text);  /* [any] */
    void    *(*alloc)(const tenon_host *, size_t size, size_t align);                          /* [any] NULL on failure */
    void     (*free)(const tenon_host *, void *p, size_t size, size_t align);                  /* [any] */
    uint64_t (*now_ns)(const tenon_host *);                                                    /* [any] monotonic */
    /* Configuration value for this plugin, NULL when unset. Resolves application
     * settings, then TENON_<FAMILY>_<KEY>. Replaces getenv in plugins. */
    const char *(*option)(const tenon_host *, const char *key);                                /* [any] */
    const tenon_type_info *(*type_info)(const tenon_host *, int32_t type);                     /* [any] NULL if unknown */
    const char *(*op_name)(const tenon_host *, int32_t op, int32_t sub_op);                    /* [any] */
    const void *(*extension)(const tenon_host *, const char *id);                              /* [any] NULL if absent */
};

/* ---------------------------------------------------------------- plugin table */

typedef struct tenon_plugin_config {
    uint32_t        struct_size;
    uint32_t        serial;        /* unique per loaded plugin in this process, not 0 */
    const char     *path;          /* canonical path of the .so */
    uint32_t        probing;       /* 1: helper process; only enumerate will follow */
    uint32_t        reserved0;
} tenon_plugin_config;

enum { /* same numbers as enum ggml_backend_dev_type */
    TENON_DEVICE_CPU = 0, TENON_DEVICE_GPU = 1, TENON_DEVICE_IGPU = 2, TENON_DEVICE_ACCEL = 3
};

enum { /* tenon_device_info.caps */
    TENON_CAP_ASYNC            = 1ull << 0,
    TENON_CAP_EVENTS           = 1ull << 1,
    TENON_CAP_PINNED_HOST      = 1ull << 2,  /* has a TENON_BUFT_HOST|PINNED buffer type */
    TENON_CAP_WRAP_HOST_PTR    = 1ull << 3,  /* buffer_wrap works */
    TENON_CAP_MMAP_FRIENDLY    = 1ull << 4,
    TENON_CAP_READS_HOST       = 1ull << 5,  /* kernels use host-layout buffers in place */
    TENON_CAP_UNIFIED_MEMORY   = 1ull << 6,
    TENON_CAP_HOST_THREADS     = 1ull << 7,  /* runs on host threads: wants n_threads and team */
    TENON_CAP_SOFTWARE         = 1ull << 8,  /* emulated in software: never a default */
    TENON_CAP_PEER_COPY        = 1ull << 9
};

enum {
    TENON_ID_PCI = 1u << 0, TENON_ID_UUID = 1u << 1, TENON_ID_LUID = 1u << 2, TENON_ID_PARTITION = 1u << 3
};

typedef struct tenon_device_identity {
    uint32_t valid;                /* TENON_ID_* */
    uint32_t pci_domain;
    uint8_t  pci_bus, pci_device, pci_function, reserved0;
    uint16_t pci_vendor, pci_product;
    uint8_t  uuid[16];
    uint8_t  luid[8];
    char     partition[40];        /* MIG / SR-IOV / tile name, empty = whole device */
} tenon_device_identity;

typedef struct tenon_device_info {
    uint32_t              struct_size;
    uint32_t              kind;          /* TENON_DEVICE_* */
    const char           *name;          /* "CUDA0"; valid until shutdown */
    const char           *description;   /* marketing name */
    const char           *driver;        /* "CUDA 12.8 / 570.86.15" */
    uint64_t              memory_total;  /* 0 = unknown */
    uint64_t              caps;          /* TENON_CAP_* */
    tenon_device_identity identity;
    int32_t               numa_node;     /* -1 = unknown */
    int32_t               preference;    /* among plugins that show the same hardware, larger wins */
    uint32_t              n_attributes;
    uint32_t              reserved0;
    const tenon_kv       *attributes;    /* {"compute_capability","9.0"}, ... */
} tenon_device_info;

typedef struct tenon_open_params {
    uint32_t    struct_size;
    uint32_t    reserved0;
    const char *params;            /* string given to ggml_backend_dev_init, or NULL */
} tenon_open_params;

struct tenon_plugin {
    uint32_t    struct_size;
    uint16_t    abi_major, abi_minor;
    const char *id, *family, *variant, *version;  /* must equal the note */
    const char *display_name;      /* name of the ggml registry: "CPU", "CUDA", "ROCm", "Vulkan" */
    const char *vendor, *license, *url, *build_info;

    /* A veto, not a vote: 0 = cannot run here (text in err), anything else = can. The
     * order of variants is the note's rank. Baseline code only: no driver call, no
     * allocation, under 1 ms. */
    int32_t      (*score)(const tenon_host *, tenon_error *err);                                        /* [init] */
    tenon_status (*init)(const tenon_host *, const tenon_plugin_config *, tenon_plugin_ctx **out, tenon_error *err); /* [init] */
    void         (*shutdown)(tenon_plugin_ctx *);                                                       /* [init] all objects already freed */

    uint32_t     (*device_count)(tenon_plugin_ctx *);                                                   /* [any] */
    tenon_status (*device_info)(tenon_plugin_ctx *, uint32_t index, tenon_device_info *out, tenon_error *err); /* [any] */
    /* Cheap: no device context before the first buffer_alloc, buffer_wrap, stream_open or event_new. */
    tenon_status (*device_open)(tenon_plugin_ctx *, uint32_t index, const tenon_open_params *, tenon_device **out, tenon_error *err); /* [init] */

    const void  *(*extension)(tenon_plugin_ctx *, const char *id);                                      /* [any] */
};

typedef tenon_status (*tenon_plugin_entry_fn)(const tenon_host *host, const tenon_plugin **out, tenon_error *err);
#define TENON_PLUGIN_ENTRY_NAME "tenon_plugin_entry_v1"

/* -------------------------------------------------------------- op support query */

enum { TENON_SUPPORT_NO = 0, TENON_SUPPORT_YES = 1, TENON_SUPPORT_EMULATED = 2 };

enum { /* tenon_op_verdict.reason */
    TENON_REASON_NONE = 0, TENON_REASON_UNKNOWN_OP = 1, TENON_REASON_NOT_IMPLEMENTED = 2,
    TENON_REASON_TYPE = 3, TENON_REASON_TYPE_MIX = 4, TENON_REASON_SHAPE = 5,
    TENON_REASON_STRIDES = 6, TENON_REASON_ALIGNMENT = 7, TENON_REASON_TOO_LARGE = 8,
    TENON_REASON_OP_PARAM = 9, TENON_REASON_HARDWARE = 10, TENON_REASON_DRIVER = 11,
    TENON_REASON_DISABLED = 12, TENON_REASON_BUFFER_TYPE = 13, TENON_REASON_WORKSPACE = 14
};

enum { /* tenon_op_verdict.flags */
    TENON_VERDICT_CACHEABLE   = 1u << 0, /* depends only on the signature, plugin-abi.md section 12 */
    TENON_VERDICT_WANTS_OP    = 1u << 1, /* worth uploading host-resident weights for */
    TENON_VERDICT_MEASURED    = 1u << 2  /* time_ns comes from a measurement, not a model */
};

typedef struct tenon_op_verdict {
    uint32_t    support;           /* TENON_SUPPORT_* */
    uint32_t    reason;            /* TENON_REASON_*; NONE when support is YES */
    uint32_t    flags;             /* TENON_VERDICT_* */
    uint32_t    confidence;        /* 0..100, how far to trust time_ns */
    uint64_t    time_ns;           /* estimate with operands already on the device; 0 = unknown */
    uint64_t    bytes;             /* device memory traffic estimate; 0 = unknown */
    uint64_t    workspace;         /* scratch the run needs; comes back in tenon_run_params */
    const char *detail;            /* static text or NULL, e.g. "needs ne[0] % 256 == 0" */
} tenon_op_verdict;

typedef struct tenon_op_query {
    uint32_t                         struct_size;
    uint32_t                         n;
    const struct ggml_tensor *const *ops;       /* src[] set; data may be NULL */
    void                            *verdicts;  /* n records of tenon_op_verdict, zeroed by the core */
    uint32_t                         stride;    /* bytes between records, >= what the plugin knows */
    uint32_t                         want;      /* bit 0: support only, skip the cost model */
} tenon_op_query;

/* --------------------------------------------------------------------- device */

enum { /* tenon_buft_info.flags */
    TENON_BUFT_HOST        = 1u << 0,  /* CPU-addressable */
    TENON_BUFT_HOST_LAYOUT = 1u << 1,  /* ... and in the standard tensor layout */
    TENON_BUFT_DEVICE      = 1u << 2,
    TENON_BUFT_PINNED      = 1u << 3,
    TENON_BUFT_REPACK      = 1u << 4,  /* weights only, layout private to the plugin */
    TENON_BUFT_DEFAULT     = 1u << 5   /* at most one per device; without one: the core's host type */
};

typedef struct tenon_buft_info {
    uint32_t    struct_size;
    uint32_t    flags;
    const char *name;              /* "CUDA0", "CUDA_Host", "CPU_REPACK" */
    uint64_t    alignment;         /* power of two */
    uint64_t    max_size;          /* UINT64_MAX = no limit */
} tenon_buft_info;

typedef struct tenon_memory_info {
    uint32_t struct_size;
    uint32_t flags;                /* bit 0: free value is an estimate; bit 1: pool shared with the host */
    uint64_t total, free;
} tenon_memory_info;

struct tenon_device_vtbl {
    uint32_t struct_size;
    uint32_t reserved0;
    void         (*close)(tenon_device *);                                                              /* [init] */
    /* May not create a device context: reading memory must stay free of side effects. */
    tenon_status (*memory)(tenon_device *, tenon_memory_info *out, tenon_error *err);                   /* [any] */
    tenon_status (*query_ops)(tenon_device *, const tenon_op_query *, tenon_error *err);                /* [any] */

    uint32_t     (*buft_count)(tenon_device *);                                                         /* [any] */
    tenon_status (*buft_info)(tenon_device *, uint32_t buft, tenon_buft_info *out, tenon_error *err);   /* [any] */
    /* 1 if kernels of this device may use tensors placed in the given foreign type. */
    int32_t      (*buft_accepts)(tenon_device *, const tenon_buft_info *foreign, const tenon_device_info *owner); /* [any] NULL = only own, plus host layout if READS_HOST */
    uint64_t     (*tensor_bytes)(tenon_device *, uint32_t buft, const struct ggml_tensor *);            /* [any] NULL = natural size */
    tenon_status (*buffer_alloc)(tenon_device *, uint32_t buft, uint64_t size, uint32_t usage,
                                 tenon_buffer **out, void **base, tenon_error *err);                    /* [any] */
    tenon_status (*buffer_wrap)(tenon_device *, void *host, uint64_t size, uint64_t max_tensor,
                                tenon_buffer **out, void **base, tenon_error *err);                     /* [any] NULL = no */

    tenon_status (*stream_open)(tenon_device *, const tenon_open_params *, tenon_stream **out, tenon_error *err); /* [any] */
    tenon_status (*event_new)(tenon_device *, tenon_event **out, tenon_error *err);                     /* [any] NULL = no events */
    const void  *(*extension)(tenon_device *, const char *id);                                          /* [any] */
};

/* --------------------------------------------------------------------- buffer */

typedef struct tenon_region {      /* n rows of size bytes; n = 1 for a plain range */
    uint64_t offset;               /* first byte inside the tensor */
    uint64_t size;
    uint64_t n;
    uint64_t tensor_stride;
    uint64_t host_stride;
} tenon_region;

struct tenon_buffer_vtbl {
    uint32_t struct_size;
    uint32_t reserved0;
    void         (*free)(tenon_buffer *);                                                               /* [object] */
    tenon_status (*tensor_init)(tenon_buffer *, struct ggml_tensor *, tenon_error *err);                /* [object] NULL = nothing to do; may set extra */
    tenon_status (*tensor_set)(tenon_buffer *, struct ggml_tensor *, const void *src, const tenon_region *, tenon_error *err); /* [any] on disjoint ranges */
    tenon_status (*tensor_get)(tenon_buffer *, const struct ggml_tensor *, void *dst, const tenon_region *, tenon_error *err); /* [any] */
    tenon_status (*tensor_fill)(tenon_buffer *, struct ggml_tensor *, uint8_t value, uint64_t offset, uint64_t size, tenon_error *err); /* [any] */
    /* dst is in this buffer, src in any other; neither in host layout. TENON_E_UNSUPPORTED makes the core stage. */
    tenon_status (*tensor_copy)(tenon_buffer *, const struct ggml_tensor *src, struct ggml_tensor *dst, tenon_error *err); /* [any] */
    tenon_status (*clear)(tenon_buffer *, uint8_t value, tenon_error *err);                             /* [object] */
    void         (*reset)(tenon_buffer *);                                                              /* [object] drop every tensor extra; NULL = none */
    void         (*set_usage)(tenon_buffer *, uint32_t usage);                                          /* [object] NULL = ignore */
};

/* --------------------------------------------------------------------- graphs */

enum { TENON_GRAPH_SAME_DATA = 1u << 0 /* equal uid also means equal data pointers and workspace */ };

typedef struct tenon_graph_view {
    uint32_t                   struct_size;
    uint32_t                   flags;
    uint32_t                   n_nodes;
    uint32_t                   reserved0;
    struct ggml_tensor *const *nodes;       /* execution order */
    const int32_t             *use_counts;  /* per node, consumers in the whole graph; -1 = observed outside: do not fuse away */
    uint64_t                   uid;         /* 0 = none; equal non-zero uids = same topology, shapes, parameters */
} tenon_graph_view;

enum { TENON_RUN_REFERENCE = 1u << 0 /* use reference kernels */ };

typedef struct tenon_run_params {
    uint32_t    struct_size;
    uint32_t    flags;                      /* TENON_RUN_* */
    void       *workspace;                  /* scratch for this run, at least the largest verdict; NULL if none asked */
    uint64_t    workspace_size;
    const tenon_buffer_head *workspace_buffer; /* what it lies in; NULL = plain host memory */
    tenon_team *team;                       /* NULL when the device does not run on host threads */
    uint32_t    n_threads;                  /* members of the team; 0 without one */
    uint32_t    reserved0;
    int       (*should_cancel)(void *arg);  /* NULL = never; polled at least between nodes or batches */
    void       *cancel_arg;
    void       *profile;                    /* tenon.profile/1 sink or NULL */
} tenon_run_params;

/* --------------------------------------------------------------------- stream */

struct tenon_stream_vtbl {
    uint32_t struct_size;
    uint32_t reserved0;
    void         (*close)(tenon_stream *);                                                              /* [object] waits for queued work */
    tenon_status (*synchronize)(tenon_stream *, uint64_t timeout_ns, tenon_error *err);                 /* [object] first failure of queued work surfaces here */

    /* Queue work; host memory must stay valid until synchronize. NULL = the core uses buffer calls. */
    tenon_status (*tensor_set)(tenon_stream *, struct ggml_tensor *, const void *src, const tenon_region *, tenon_error *err); /* [object] */
    tenon_status (*tensor_get)(tenon_stream *, const struct ggml_tensor *, void *dst, const tenon_region *, tenon_error *err); /* [object] */
    tenon_status (*tensor_copy)(tenon_stream *dst_stream, tenon_stream *src_stream,
                                const struct ggml_tensor *src, struct ggml_tensor *dst, tenon_error *err); /* [object] both handles */

    tenon_status (*graph_run)(tenon_stream *, const tenon_graph_view *, const tenon_run_params *, tenon_error *err); /* [object] */

    tenon_status (*event_record)(tenon_stream *, tenon_event *, tenon_error *err);                      /* [object] */
    tenon_status (*event_wait)(tenon_stream *, tenon_event *, tenon_error *err);                        /* [object] */
    const void  *(*extension)(tenon_stream *, const char *id);                                          /* [any] */
};

struct tenon_event_vtbl {
    uint32_t struct_size;
    uint32_t reserved0;
    void         (*free)(tenon_event *);                                                                /* [object] */
    tenon_status (*query)(tenon_event *);                                                               /* [any] OK or BUSY or the failure */
    tenon_status (*synchronize)(tenon_event *, uint64_t timeout_ns, tenon_error *err);                  /* [any] */
};

/* ---------------------------------------------------------------- frozen layout */

#if INTPTR_MAX == INT64_MAX
TENON_STATIC_ASSERT(GGML_MAX_NAME == 160, "GGML_MAX_NAME is fixed by the tensor layout");
TENON_STATIC_ASSERT(GGML_MAX_DIMS == 4 && GGML_MAX_SRC == 10 && GGML_MAX_OP_PARAMS == 64, "tensor layout 1");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, type)      ==   0, "layout");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, buffer)    ==   8, "layout");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, ne)        ==  16, "layout");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, nb)        ==  48, "layout");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, op)        ==  80, "layout");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, op_params) ==  84, "layout");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, flags)     == 148, "layout");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, src)       == 152, "layout");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, view_src)  == 232, "layout");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, view_offs) == 240, "layout");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, data)      == 248, "layout");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, name)      == 256, "layout");
TENON_STATIC_ASSERT(offsetof(struct ggml_tensor, extra)     == 416, "layout");
TENON_STATIC_ASSERT(sizeof(struct ggml_tensor)              == 432, "layout");
TENON_STATIC_ASSERT(sizeof(tenon_error)           == 504, "abi");
TENON_STATIC_ASSERT(sizeof(tenon_note_desc)       == 200, "abi");
TENON_STATIC_ASSERT(sizeof(tenon_buffer_head)     ==  48, "abi");
TENON_STATIC_ASSERT(sizeof(tenon_device_identity) ==  80, "abi");
TENON_STATIC_ASSERT(sizeof(tenon_op_verdict)      ==  48, "abi");
TENON_STATIC_ASSERT(sizeof(tenon_region)          ==  40, "abi");
TENON_STATIC_ASSERT(sizeof(tenon_graph_view)      ==  40, "abi");
#endif

#ifdef __cplusplus
}
#endif
#endif /* TENON_PLUGIN_H */
