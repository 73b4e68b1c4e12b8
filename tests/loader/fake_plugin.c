/* A plugin for the loader's tests: one source, compiled once per way of being wrong (FAKE).
 *
 * Identity comes from the note alone, so a test makes other families, variants and versions of a
 * built file by changing bytes of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon/plugin.h"

enum {
    FAKE_GOOD,
    FAKE_NO_ENTRY,     /* no entry symbol */
    FAKE_UNDEFINED,    /* a symbol nobody defines */
    FAKE_NEEDS_GONE,   /* a library nobody finds */
    FAKE_REPLACES,     /* its initialiser puts FILE.1, else FILE.2, in the place of FILE */
    FAKE_ENTRY_FAILS,  /* entry: error with text */
    FAKE_NULL_TABLE,   /* entry: OK and no table */
    FAKE_SHORT_TABLE,  /* table of 8 bytes */
    FAKE_MISMATCH,     /* table and note name different versions */
    FAKE_NULL_POINTER, /* init is NULL */
    FAKE_BAD_TEXT,     /* display name is not UTF-8 */
    FAKE_SCORE_ZERO,   /* vetoes itself */
    FAKE_NO_DRIVER,    /* init: no driver */
    FAKE_NO_DEVICE,    /* init: not found */
    FAKE_INIT_FAILS,   /* init: internal error without text */
    FAKE_PRINTS,       /* init: 1 MiB on stdout and on stderr */
    FAKE_IDLE,         /* no devices */
    FAKE_MANY,         /* 10000 devices */
    FAKE_ONE_FAILS,    /* device 1 of 3 fails */
    FAKE_NULL_NAME,    /* device 0 of 2 has no name */
    FAKE_SAME_NAME,    /* two devices of one name */
    FAKE_BAD_NAME,     /* device 0 of 2: invalid UTF-8 */
    FAKE_NASTY_NAME,   /* quotes, backslash, newline, escape sequence in texts */
    FAKE_GPUS,         /* eight equal GPUs at PCI 0000:41..48:00.0 */
    FAKE_SAME_GPU,     /* one GPU at PCI 0000:41:00.0, less preferred */
    FAKE_STUCK,        /* an initialiser sleeps for a minute */
    FAKE_HANGS,        /* device_info sleeps for a minute */
    FAKE_UNLOADABLE,   /* may be unmapped */
    FAKE_COEXISTS,     /* may load beside others of its family */
};

#define FLAGS                                                           \
    ((FAKE == FAKE_UNLOADABLE ? (uint32_t)TENON_NOTE_UNLOADABLE : 0u) | \
     (FAKE == FAKE_COEXISTS ? (uint32_t)TENON_NOTE_COEXISTS : 0u))

TENON_PLUGIN_NOTE({sizeof(tenon_note_desc),
                   TENON_ABI_MAJOR,
                   TENON_ABI_MINOR,
                   0,
                   TENON_TENSOR_LAYOUT_1,
                   FLAGS,
                   TENON_ARCH_ANY,
                   10,
                   {0, 0, 0, 0},
                   "fake",
                   "v1",
                   "org.example.fake",
                   "1.0"});

/* Volatile: the bytes are changed behind the compiler's back. */
static const tenon_note_desc* volatile note = &tenon_plugin_note_.d;

/* ---- stream ---------------------------------------------------------------------------------- */

static void stream_close(tenon_stream* s) { free(s); }
static tenon_status stream_synchronize(tenon_stream* s, uint64_t timeout_ns, tenon_error* e) {
    (void)s, (void)timeout_ns, (void)e;
    return TENON_OK;
}
static tenon_status stream_run(tenon_stream* s, const tenon_graph_view* g,
                               const tenon_run_params* p, tenon_error* e) {
    (void)s, (void)g, (void)p;
    return tenon_fail(e, TENON_E_UNSUPPORTED, 0, NULL, "a fake device computes nothing");
}
static const void* no_stream_extension(tenon_stream* s, const char* id) {
    (void)s, (void)id;
    return NULL;
}

static const struct tenon_stream_vtbl stream_table = {
    .struct_size = sizeof(struct tenon_stream_vtbl),
    .close = stream_close,
    .synchronize = stream_synchronize,
    .graph_run = stream_run,
    .extension = no_stream_extension,
};

/* ---- device ---------------------------------------------------------------------------------- */

static void device_close(tenon_device* d) { free(d); }
static tenon_status device_memory(tenon_device* d, tenon_memory_info* out, tenon_error* e) {
    (void)d, (void)e;
    out->total = 2ull << 30;
    out->free = 1ull << 30;
    out->flags = 1;
    return TENON_OK;
}

/* Adds f32, refuses the rest with a reason. */
static void judge(const struct ggml_tensor* t, tenon_op_verdict* v) {
    if (t->op != GGML_OP_ADD) {
        v->reason = TENON_REASON_NOT_IMPLEMENTED;
        v->detail = "the fake device only adds";
    } else if (t->type != GGML_TYPE_F32) {
        v->reason = TENON_REASON_TYPE;
        v->detail = "only f32 is added";
    } else {
        v->support = TENON_SUPPORT_YES;
        v->time_ns = 1500;
    }
}
static tenon_status device_query(tenon_device* d, const tenon_op_query* q, tenon_error* e) {
    (void)d, (void)e;
    for (uint32_t i = 0; i < q->n; i++) {
        judge(q->ops[i], (tenon_op_verdict*)(void*)((char*)q->verdicts + (size_t)i * q->stride));
    }
    return TENON_OK;
}
static uint32_t no_buffer_types(tenon_device* d) {
    (void)d;
    return 0;
}
static tenon_status stream_open(tenon_device* d, const tenon_open_params* p, tenon_stream** out,
                                tenon_error* e) {
    (void)d, (void)p;
    tenon_stream* s = malloc(sizeof *s);
    if (!s) return tenon_fail(e, TENON_E_NO_HOST_MEMORY, 0, NULL, "out of host memory");
    s->v = &stream_table;
    *out = s;
    return TENON_OK;
}
static const void* no_device_extension(tenon_device* d, const char* id) {
    (void)d, (void)id;
    return NULL;
}

static const struct tenon_device_vtbl device_table = {
    .struct_size = sizeof(struct tenon_device_vtbl),
    .close = device_close,
    .memory = device_memory,
    .query_ops = device_query,
    .buft_count = no_buffer_types,
    .stream_open = stream_open,
    .extension = no_device_extension,
};

/* ---- plugin ---------------------------------------------------------------------------------- */

struct tenon_plugin_ctx {
    const tenon_host* host;
    char names[16][64];
    char description[128];
};

static int32_t score(const tenon_host* host, tenon_error* e) {
    (void)host;
    if (FAKE != FAKE_SCORE_ZERO) return 1;
    tenon_fail(e, TENON_E_UNSUPPORTED, 0, NULL, "driver 1.2 is older than 2.0");
    return 0;
}

static void print_a_lot(FILE* file) {
    char line[1024];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < 1024; i++) fwrite(line, 1, sizeof line, file);
    fflush(file);
}

static tenon_status init(const tenon_host* host, const tenon_plugin_config* config,
                         tenon_plugin_ctx** out, tenon_error* e) {
    (void)config;
    if (FAKE == FAKE_NO_DRIVER) {
        return tenon_fail(e, TENON_E_NO_DRIVER, 0, NULL,
                          "libfakedriver.so.7: cannot open shared object file");
    }
    if (FAKE == FAKE_NO_DEVICE) {
        return tenon_fail(e, TENON_E_NOT_FOUND, 100, "fakeErrorNoDevice", "no fake on the bus");
    }
    if (FAKE == FAKE_INIT_FAILS) return TENON_E_INTERNAL;
    if (FAKE == FAKE_PRINTS) {
        print_a_lot(stdout);
        print_a_lot(stderr);
    }
    tenon_plugin_ctx* ctx = calloc(1, sizeof *ctx);
    if (!ctx) return tenon_fail(e, TENON_E_NO_HOST_MEMORY, 0, NULL, "out of host memory");
    ctx->host = host;
    for (unsigned i = 0; i < 16; i++) {
        const unsigned number = FAKE == FAKE_SAME_NAME ? 0 : i;
        const char* stem = FAKE == FAKE_COEXISTS ? "beside" : note->family;
        snprintf(ctx->names[i], sizeof ctx->names[i], "%s%u", stem, number);
    }
    const char* label = host->option(host, "label");
    snprintf(ctx->description, sizeof ctx->description, "%s", label ? label : "a fake device");
    *out = ctx;
    return TENON_OK;
}

static void shutdown_plugin(tenon_plugin_ctx* ctx) { free(ctx); }

static uint32_t device_count(tenon_plugin_ctx* ctx) {
    (void)ctx;
    switch (FAKE) {
        case FAKE_IDLE:
            return 0;
        case FAKE_MANY:
            return 10000;
        case FAKE_ONE_FAILS:
            return 3;
        case FAKE_NULL_NAME:
        case FAKE_SAME_NAME:
        case FAKE_BAD_NAME:
            return 2;
        case FAKE_GPUS:
            return 8;
        default:
            return 1;
    }
}

static void describe_gpu(uint32_t index, tenon_device_info* out) {
    out->kind = TENON_DEVICE_GPU;
    out->preference = FAKE == FAKE_GPUS ? 100 : 50;
    out->identity.valid = TENON_ID_PCI;
    out->identity.pci_bus = (uint8_t)(0x41 + index);
    out->identity.pci_vendor = 0x1e52;
    out->identity.pci_product = 0x401e;
    out->numa_node = 0;
}

static tenon_status device_info(tenon_plugin_ctx* ctx, uint32_t index, tenon_device_info* out,
                                tenon_error* e) {
    static const tenon_kv attributes[] = {{"color", "red"}};
    if (FAKE == FAKE_HANGS) sleep(60);
    if (FAKE == FAKE_ONE_FAILS && index == 1) {
        return tenon_fail(e, TENON_E_INTERNAL, 7, "fakeErrorBroken", "device 1 does not answer");
    }
    out->kind = TENON_DEVICE_ACCEL;
    out->name = ctx->names[index < 16 ? index : 15];
    out->description = ctx->description;
    out->driver = "fake 1.0";
    out->memory_total = 2ull << 30;
    out->caps = TENON_CAP_READS_HOST;
    out->numa_node = -1;
    out->n_attributes = 1;
    out->attributes = attributes;
    if (FAKE == FAKE_NULL_NAME && index == 0) out->name = NULL;
    if (FAKE == FAKE_BAD_NAME && index == 0) out->name = "fa\xffke";
    if (FAKE == FAKE_NASTY_NAME) {
        out->name = "a\"b\\c\nd\x1b[31me";
        out->description = "tab\there \x7f \xe2\x98\x83";
    }
    if (FAKE == FAKE_GPUS || FAKE == FAKE_SAME_GPU) describe_gpu(index, out);
    return TENON_OK;
}

static tenon_status device_open(tenon_plugin_ctx* ctx, uint32_t index, const tenon_open_params* p,
                                tenon_device** out, tenon_error* e) {
    (void)ctx, (void)index, (void)p;
    tenon_device* d = malloc(sizeof *d);
    if (!d) return tenon_fail(e, TENON_E_NO_HOST_MEMORY, 0, NULL, "out of host memory");
    d->v = &device_table;
    *out = d;
    return TENON_OK;
}

static const void* extension(tenon_plugin_ctx* ctx, const char* id) {
    (void)ctx, (void)id;
    return NULL;
}

#if FAKE_UNDEFINED_SYMBOL
extern int nobody_defines_this(void);
#endif
#if FAKE_GONE_LIBRARY
extern int fake_gone(void);
#endif

#if FAKE_WITH_ENTRY
TENON_EXPORT tenon_status tenon_plugin_entry_v1(const tenon_host* host, const tenon_plugin** out,
                                                tenon_error* e) {
    static tenon_plugin table;
    if (!host || host->abi_major != TENON_ABI_MAJOR) {
        return tenon_fail(e, TENON_E_VERSION, 0, NULL, "unsupported host ABI major");
    }
    if (FAKE == FAKE_ENTRY_FAILS) {
        return tenon_fail(e, TENON_E_VERSION, 0, NULL, "this fake wants a younger host");
    }
#if FAKE_UNDEFINED_SYMBOL
    if (nobody_defines_this()) return TENON_E_INTERNAL;
#endif
#if FAKE_GONE_LIBRARY
    if (fake_gone()) return TENON_E_INTERNAL;
#endif
    const tenon_plugin good = {
        .struct_size = FAKE == FAKE_SHORT_TABLE ? 8 : sizeof table,
        .abi_major = TENON_ABI_MAJOR,
        .abi_minor = TENON_ABI_MINOR,
        .id = note->id,
        .family = note->family,
        .variant = note->variant,
        .version = FAKE == FAKE_MISMATCH ? "9.9" : note->version,
        .display_name = FAKE == FAKE_BAD_TEXT ? "F\xc3KE" : note->family,
        .vendor = "Example",
        .license = "MIT",
        .url = "",
        .build_info = "",
        .score = score,
        .init = FAKE == FAKE_NULL_POINTER ? NULL : init,
        .shutdown = shutdown_plugin,
        .device_count = device_count,
        .device_info = device_info,
        .device_open = device_open,
        .extension = extension,
    };
    table = good;
    *out = FAKE == FAKE_NULL_TABLE ? NULL : &table;
    return TENON_OK;
}
#else
const void* fake_keeps_its_functions[] = {(const void*)score,           (const void*)init,
                                          (const void*)shutdown_plugin, (const void*)device_count,
                                          (const void*)device_info,     (const void*)device_open,
                                          (const void*)extension,       (const void*)&note};
#endif

#if FAKE_WITH_STUCK_INITIALISER
__attribute__((constructor)) static void get_stuck(void) { sleep(60); }
#endif

#if FAKE_WITH_INITIALISER
/* What a package upgrade does while somebody loads the file. */
__attribute__((constructor)) static void replace_myself(void) {
    const char* me = getenv("FAKE_FILE");
    if (!me) return;
    for (int i = 1; i <= 2; i++) {
        char next[4096];
        snprintf(next, sizeof next, "%s.%d", me, i);
        if (rename(next, me) == 0) return;
    }
}
#endif
