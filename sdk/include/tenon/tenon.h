/* tenon/tenon.h - what the ggml API lacks: texts for errors, the plugins and why one was not loaded,
 * details of devices, the op table, and reasons for placement.
 *
 * Records start with struct_size, set by the caller; fields beyond it are not written. Strings
 * belong to the library and stay valid until the process ends, unless a comment says otherwise.
 * Any thread may call any function here.
 */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ggml-backend.h"
#include "ggml.h"
#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---------------------------------------------------------------------------------- */

/* The first error of this thread that nobody had read, as one line: lower case, naming the thing and
 * the numbers. "" when there was none. Valid until the next error of this thread; reading it makes
 * room for the next one. */
GGML_API const char* tenon_last_error(void);
GGML_API void tenon_clear_error(void);

/* ---- version --------------------------------------------------------------------------------- */

GGML_API const char* tenon_version(void); /* "0.1.0", of the library */

/* CPUs this process may use: its affinity, then the quota of its control groups rounded up. At
   least 1. Reads the system anew, some 100 us. Any thread. */
GGML_API uint32_t tenon_usable_cpus(void);

/* ---- plugins --------------------------------------------------------------------------------- */

/* Outcome of one step of the loading pipeline. */
enum tenon_step_outcome {
    TENON_STEP_NOT_REACHED = 0,
    TENON_STEP_OK          = 1,
    TENON_STEP_FAILED      = 2, /* the step that decided */
    TENON_STEP_SKIPPED     = 3,
};

typedef struct tenon_plugin_step {
    uint32_t    struct_size;
    uint32_t    number;  /* 1 ... 15 */
    uint32_t    outcome; /* enum tenon_step_outcome */
    uint32_t    reserved0;
    const char* name;    /* "file", "note", "filters", ... */
    const char* detail;  /* for people; "" when there is nothing to say */
} tenon_plugin_step;

/* What a plugin's state amounts to. */
typedef enum tenon_state_kind {
    TENON_STATE_FINE      = 0, /* loaded, or on its way, or taken out again */
    TENON_STATE_CHOICE    = 1, /* somebody or something chose against it */
    TENON_STATE_ABSENT    = 2, /* what it needs is not here: a loss if nothing else of its family works */
    TENON_STATE_NO_PLUGIN = 3, /* some other file */
    TENON_STATE_FAULT     = 4  /* something is wrong with it */
} tenon_state_kind;

typedef struct tenon_plugin_state {
    uint32_t         struct_size;
    uint32_t         step;      /* of the pipeline that gives it, 1 ... 15 */
    tenon_state_kind kind;
    int32_t          level;     /* enum ggml_log_level of the line about it */
    tenon_status     status;    /* of a load that ended so */
    uint32_t         reserved0;
    const char*      word;      /* "cpu-features"; never changes its meaning */
    const char*      help;      /* what to do about it, or "" */
} tenon_plugin_state;

/* Every word that tenon_plugin_report.state may be, and "bad-device", which is said of one device.
 * False: no such index. */
GGML_API bool tenon_plugin_state_get(size_t index, tenon_plugin_state* out);

/* What became of one plugin file. `state` is one of the words above. */
typedef struct tenon_plugin_report {
    uint32_t           struct_size;
    uint32_t           step;            /* 1 ... 15, the one that decided */
    const char*        file;            /* absolute, as found; "" = linked in */
    const char*        origin;          /* who named it: as tenon_directory.origin */
    const char*        state;
    const char*        message;         /* for people: the numbers and names behind the state, or "" */
    const char*        family;          /* this and the next three: "" until the note has been read */
    const char*        variant;
    const char*        id;
    const char*        version;
    const char*        isa_need;        /* names of the CPU features it needs: "avx2 fma"; "" = none */
    uint32_t           has_note;        /* 1: the fields from its note are valid */
    uint16_t           abi_major, abi_minor_built, abi_minor_needed, tensor_layout;
    uint32_t           flags;           /* TENON_NOTE_* */
    uint32_t           arch;            /* TENON_ARCH_* */
    uint32_t           rank;
    uint32_t           n_steps;
    uint32_t           n_devices;       /* that the plugin reported, refused ones included */
    uint64_t           note_ns;         /* time to read the note */
    uint64_t           load_ns;         /* time from dlopen to its last device */
    ggml_backend_reg_t reg;             /* NULL unless loaded */
} tenon_plugin_report;

typedef struct tenon_plugin_device {
    uint32_t           struct_size;
    uint32_t           index;           /* of the plugin */
    ggml_backend_dev_t device;          /* NULL when refused */
    const char*        name;            /* as far as it is known */
    const char*        refused;         /* why it cannot be used; "": it can */
    const char*        hidden;          /* why applications do not see it; "": they do */
} tenon_plugin_device;

/* Loads one file. *out, unless NULL, gets its registration, which is the one it has if it was loaded
 * before. On failure the text of tenon_last_error() begins with the state word. */
GGML_API tenon_status tenon_plugin_load(const char* path, ggml_backend_reg_t* out);

/* Takes a plugin out: its devices leave the registry. TENON_E_BUSY while a stream, buffer or event of
 * it lives, TENON_E_NOT_FOUND for a registration that is none of ours. */
GGML_API tenon_status tenon_plugin_unload(ggml_backend_reg_t reg);

/* Registers a plugin that is linked into the program. */
GGML_API tenon_status tenon_register_builtin(tenon_plugin_entry_fn entry);

/* Looks at the files of the default directories, or of `directory` only, without loading any: usable
 * ones become "candidate". */
GGML_API tenon_status tenon_plugins_scan(const char* directory);

/* Reports of every file seen so far, by family in load order, inside a family by rank, files that are
 * no plugins last. A load may add reports anywhere. These functions load nothing; they answer during
 * a load too. False: no such index. */
GGML_API size_t tenon_plugin_count(void);
GGML_API bool tenon_plugin_get(size_t index, tenon_plugin_report* out);
GGML_API bool tenon_plugin_get_step(size_t index, size_t step, tenon_plugin_step* out);
GGML_API bool tenon_plugin_get_device(size_t index, size_t device, tenon_plugin_device* out);

/* ---- settings -------------------------------------------------------------------------------- */

typedef struct tenon_setting {
    uint32_t    struct_size;
    uint32_t    known;  /* 0: the library reads no such key */
    const char* key;    /* "probe", "variant.cpu", "cuda.graphs" */
    const char* value;
    const char* origin; /* "/etc/tenon/tenon.conf:4", "TENON_PROBE", "application", "default" */
} tenon_setting;

typedef struct tenon_settings_file {
    uint32_t    struct_size;
    uint32_t    n_keys;
    const char* path;
    const char* state; /* "ok", "missing", "unreadable", "ignored" (elevated privileges) */
} tenon_settings_file;

/* Sets an option for this process; it wins over environment and files. NULL takes it back. Options
 * about finding plugins act on the next load. */
GGML_API tenon_status tenon_setting_set(const char* key, const char* value);
GGML_API const char* tenon_setting_value(const char* key); /* NULL when unset and without default */

/* Every setting in effect with its origin, sorted by key, and the files it may come from. */
GGML_API size_t tenon_setting_count(void);
GGML_API bool tenon_setting_get(size_t index, tenon_setting* out);
GGML_API bool tenon_settings_file_get(size_t index, tenon_settings_file* out);

/* ---- directories ----------------------------------------------------------------------------- */

typedef struct tenon_directory {
    uint32_t    struct_size;
    uint32_t    n_files; /* plugin files by name */
    const char* path;
    const char* origin;  /* "application", "TENON_PLUGIN_PATH", "TENON_PLUGIN_ADD_PATH",
                          * "beside-library", "built-in", "user", a file of plugins.d, or
                          * "GGML_BACKEND_PATH", whose path is a file */
    const char* state;   /* "ok", "missing", "unreadable", "relative", "ignored" */
    const char* detail;  /* for people, or "" */
} tenon_directory;

/* Where plugins are looked for now, in order; reads the directories, loads nothing. Indices refer
 * to what the last count found. */
GGML_API size_t tenon_directory_count(void);
GGML_API bool tenon_directory_get(size_t index, tenon_directory* out);

GGML_API const char* tenon_library_path(void); /* of the file this library was loaded from */
GGML_API bool tenon_elevated(void);            /* set-id or capabilities: the environment is ignored */

/* File of another library that answers to ggml's function names in this process; NULL: none. */
GGML_API const char* tenon_other_copy(void);

/* ---- devices --------------------------------------------------------------------------------- */

/* The plugin's record of a device; its strings live until the plugin is unloaded. */
GGML_API tenon_status tenon_device_describe(ggml_backend_dev_t device, tenon_device_info* out);

/* Memory with its flags: bit 0, the free value is an estimate; bit 1, shared with the host. */
GGML_API tenon_status tenon_device_memory(ggml_backend_dev_t device, tenon_memory_info* out);

/* The device's own buffer types; a device without a default one uses the core's host memory. */
GGML_API bool tenon_device_buffer_type(ggml_backend_dev_t device, size_t index,
                                       tenon_buft_info* out);

/* Whether the device, or else its plugin, offers an extension: "tenon.cost/1". */
GGML_API bool tenon_device_has_extension(ggml_backend_dev_t device, const char* id);

/* Asks a device about n nodes at once: supported or not, why not, and at what cost. Sources may be
 * without data and buffer. out: n records. */
GGML_API tenon_status tenon_device_query(ggml_backend_dev_t device,
                                         const struct ggml_tensor* const* nodes, size_t n,
                                         tenon_op_verdict* out, bool want_cost);

/* The stable word of a verdict's reason: "type-mix" for TENON_REASON_TYPE_MIX; "unknown" for a number
 * this version has no word for. */
GGML_API const char* tenon_reason_word(uint32_t reason);

enum tenon_estimate_source {
    TENON_ESTIMATE_NOTHING = 0, /* there is nothing to compute */
    TENON_ESTIMATE_PLUGIN  = 1, /* time_ns of the verdict */
    TENON_ESTIMATE_RATES   = 2, /* the node's work (tenon/work.h) over the rates of tenon.cost/1 */
    TENON_ESTIMATE_KIND    = 3  /* its work over what devices of the kind commonly reach */
};

typedef struct tenon_estimate {
    uint32_t struct_size;
    uint32_t source;     /* enum tenon_estimate_source */
    uint32_t confidence; /* 0..100, how far to trust time_ns */
    uint32_t reserved0;
    uint64_t time_ns;    /* with the operands where the device computes */
} tenon_estimate;

/* How long a device is expected to take for a node; verdict is its own on this node, with cost. */
GGML_API tenon_status tenon_device_estimate(ggml_backend_dev_t device,
                                            const struct ggml_tensor* node,
                                            const tenon_op_verdict* verdict, tenon_estimate* out);

/* CPU features that code may use here, as one list: "sse42 avx avx2"; and those the processor has but
 * must not be used, with the reason. False: no such index. */
GGML_API const char* tenon_cpu_features(void);
GGML_API bool tenon_cpu_masked_feature(size_t index, const char** name, const char** reason);

/* ---- ops ------------------------------------------------------------------------------------- */

enum tenon_op_flags {
    TENON_OP_IN_PLACE      = 1 << 0, /* the result may take over a source's memory */
    TENON_OP_VIEW          = 1 << 1, /* nothing is computed: the result is a view of its source */
    TENON_OP_WRITES_SOURCE = 1 << 2, /* the result is a view of a source, which the op writes */
};

/* One row of the op table. UNARY and GLU stand there once; their functions are sub-ops. */
typedef struct tenon_op_info {
    uint32_t    struct_size;
    uint32_t    op;          /* enum ggml_op */
    const char* name;        /* "RMS_NORM" */
    const char* symbol;      /* "rms_norm(x)" */
    const char* sources;     /* "x [n, rows]", for people; "" when there are none */
    const char* params;      /* "eps f32", for people; "" when there are none */
    const char* doc;         /* what it computes, one line */
    uint32_t    min_sources; /* sources from here on may be absent */
    uint32_t    max_sources;
    uint32_t    n_sub_ops;   /* 0 but for UNARY and GLU */
    uint32_t    flags;       /* enum tenon_op_flags */
} tenon_op_info;

typedef struct tenon_sub_op_info {
    uint32_t    struct_size;
    uint32_t    sub_op; /* enum ggml_unary_op or ggml_glu_op */
    const char* name;   /* "GELU" */
    const char* doc;
} tenon_sub_op_info;

GGML_API size_t tenon_op_count(void);
GGML_API bool tenon_op_get(size_t op, tenon_op_info* out);
GGML_API bool tenon_sub_op_get(size_t op, size_t sub_op, tenon_sub_op_info* out);

/* Representative calls of an op (sub_op is 0 for ops without): what to ask devices to learn how much
 * of the op they support. 0 for an op that no builder makes. */
GGML_API size_t tenon_op_call_count(size_t op, size_t sub_op);

/* Builds call i: the node, its sources before it, without data if ctx is no_alloc. 32 tensors are
 * room enough. description gets "q4_K f32, matrix": the sources' types, shapes, parameters; it may
 * be NULL. NULL on failure, with the text in tenon_last_error(). */
GGML_API struct ggml_tensor* tenon_op_call(struct ggml_context* ctx, size_t op, size_t sub_op,
                                           size_t i, char* description, size_t description_bytes);

/* ---- placement ------------------------------------------------------------------------------- */

/* Where the scheduler put one node of the graph it split last, and why. `reason` is a stable word:
 * "user" (the application pinned it), "weights" (a weight lives there), "input", "output" (it writes
 * into memory that lives there), "only" (no other device supports it), "neighbour" (joins the nodes
 * around it), "cheaper", "refused" (a preferred device said no: see detail), "memory", "fallback"
 * (the last device of the list), "untrusted". */
typedef struct tenon_placement_node {
    uint32_t                  struct_size;
    int32_t                   split;    /* index of its split; -1: a view, nothing runs */
    const struct ggml_tensor* node;     /* the application's own, valid as long as its context */
    const char*               op;       /* "MUL_MAT", "SILU" */
    ggml_backend_t            backend;
    const char*               device;   /* name of the backend */
    const char*               reason;
    uint32_t                  n_copies; /* sources that are copied for it on every run */
    uint32_t                  reserved0;
    char                      name[160];   /* of the node */
    char                      detail[224]; /* completes "because", or "" */
} tenon_placement_node;

typedef struct tenon_placement_split {
    uint32_t       struct_size;
    uint32_t       first_node; /* of the graph; views between two splits count with the earlier one */
    uint32_t       n_nodes;
    uint32_t       n_copies;   /* tensors copied to the split's device before it runs */
    uint64_t       copy_bytes; /* of all of them */
    ggml_backend_t backend;
    const char*    device;
} tenon_placement_split;

/* Nodes of the graph that `sched` split last; 0 before, and after a reset. A scheduler is used by one
 * thread at a time. */
GGML_API size_t tenon_placement_count(ggml_backend_sched_t sched);
GGML_API bool tenon_placement_explain(ggml_backend_sched_t sched, size_t node,
                                      tenon_placement_node* out);
GGML_API bool tenon_placement_get_split(ggml_backend_sched_t sched, size_t split,
                                        tenon_placement_split* out);

#ifdef __cplusplus
}
#endif
#endif /* TENON_TENON_H */
