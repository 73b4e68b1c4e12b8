// tenon/plugin.hpp - write a backend as C++ classes, ship the C tables.
// Header-only, C++17, no dependency on the core. Nothing here lets an exception
// out of the plugin: every table entry runs inside detail::guard.
#pragma once
#include "tenon/plugin.h"
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

namespace tenon {

struct Failure : std::exception {                 // throw this to fail a call with a reason
    tenon_status code; int64_t native = 0; std::string name, text;
    Failure(tenon_status c, std::string t, int64_t n = 0, std::string nn = {})
        : code(c), native(n), name(std::move(nn)), text(std::move(t)) {}
    const char *what() const noexcept override { return text.c_str(); }
};

struct Buffer {
    virtual ~Buffer() = default;
    virtual void *base() = 0;
    virtual void init(ggml_tensor &) {}
    virtual void set(ggml_tensor &, const void *src, const tenon_region &) = 0;
    virtual void get(const ggml_tensor &, void *dst, const tenon_region &) = 0;
    virtual void fill(ggml_tensor &, uint8_t value, uint64_t offset, uint64_t size) = 0;
    virtual bool copy(const ggml_tensor &, ggml_tensor &) { return false; }   // false: core stages
    virtual void clear(uint8_t value) = 0;
    virtual void reset() {}
};

struct Stream {
    virtual ~Stream() = default;
    virtual void run(const tenon_graph_view &, const tenon_run_params &) = 0;
    virtual void synchronize(uint64_t /*timeout_ns*/) {}
    virtual const void *extension(const char *) noexcept { return nullptr; }
};

struct Device {
    virtual ~Device() = default;
    virtual void memory(tenon_memory_info &) = 0;
    virtual void judge(const ggml_tensor &, tenon_op_verdict &, bool support_only) = 0;   // called per op
    // The next three stay as they are for a device that works in the core's host memory.
    virtual uint32_t buffer_types() noexcept { return 0; }
    virtual void buffer_type(uint32_t, tenon_buft_info &) { throw Failure(TENON_E_INVALID, "no such buffer type"); }
    virtual std::unique_ptr<Buffer> alloc(uint32_t, uint64_t, uint32_t) { throw Failure(TENON_E_INVALID, "no such buffer type"); }
    virtual std::unique_ptr<Stream> stream(const char *params) = 0;
    virtual const void *extension(const char *) noexcept { return nullptr; }
};

struct Plugin {
    const tenon_host *host = nullptr; uint32_t serial = 0;
    virtual ~Plugin() = default;
    virtual uint32_t device_count() noexcept = 0;
    virtual void device_info(uint32_t, tenon_device_info &) = 0;
    virtual std::unique_ptr<Device> open(uint32_t, const char *params) = 0;
    virtual const void *extension(const char *) noexcept { return nullptr; }
    template <class... A> void log(int32_t level, const char *fmt, A... a) const {
        char b[512]; std::snprintf(b, sizeof b, fmt, a...); host->log(host, level, "plugin", b);
    }
};

namespace detail {
template <class F> tenon_status guard(tenon_error *e, F &&f) noexcept {
    try { return f(); }
    catch (const Failure &x)        { return tenon_fail(e, x.code, x.native, x.name.empty() ? nullptr : x.name.c_str(), x.text.c_str()); }
    catch (const std::bad_alloc &)  { return tenon_fail(e, TENON_E_NO_HOST_MEMORY, 0, nullptr, "out of host memory"); }
    catch (const std::exception &x) { return tenon_fail(e, TENON_E_INTERNAL, 0, nullptr, x.what()); }
    catch (...)                     { return tenon_fail(e, TENON_E_INTERNAL, 0, nullptr, "unknown exception"); }
}
struct B { tenon_buffer h; std::unique_ptr<Buffer> o; };
struct S { tenon_stream h; std::unique_ptr<Stream> o; };
struct D { tenon_device h; std::unique_ptr<Device> o; };
inline Buffer &of(tenon_buffer *p) { return *reinterpret_cast<B *>(p)->o; }
inline Stream &of(tenon_stream *p) { return *reinterpret_cast<S *>(p)->o; }
inline Device &of(tenon_device *p) { return *reinterpret_cast<D *>(p)->o; }

inline const tenon_buffer_vtbl *buffer_table() {
    static const tenon_buffer_vtbl t = { sizeof t, 0,
        [](tenon_buffer *b) { delete reinterpret_cast<B *>(b); },
        [](tenon_buffer *b, ggml_tensor *x, tenon_error *e) { return guard(e, [&] { of(b).init(*x); return TENON_OK; }); },
        [](tenon_buffer *b, ggml_tensor *x, const void *s, const tenon_region *r, tenon_error *e) { return guard(e, [&] { of(b).set(*x, s, *r); return TENON_OK; }); },
        [](tenon_buffer *b, const ggml_tensor *x, void *d, const tenon_region *r, tenon_error *e) { return guard(e, [&] { of(b).get(*x, d, *r); return TENON_OK; }); },
        [](tenon_buffer *b, ggml_tensor *x, uint8_t v, uint64_t o, uint64_t n, tenon_error *e) { return guard(e, [&] { of(b).fill(*x, v, o, n); return TENON_OK; }); },
        [](tenon_buffer *b, const ggml_tensor *s, ggml_tensor *d, tenon_error *e) { return guard(e, [&]() -> tenon_status { return of(b).copy(*s, *d) ? TENON_OK : TENON_E_UNSUPPORTED; }); },
        [](tenon_buffer *b, uint8_t v, tenon_error *e) { return guard(e, [&] { of(b).clear(v); return TENON_OK; }); },
        [](tenon_buffer *b) { (void)guard(nullptr, [&] { of(b).reset(); return TENON_OK; }); },
        nullptr };
    return &t;
}
inline const tenon_stream_vtbl *stream_table() {
    static const tenon_stream_vtbl t = { sizeof t, 0,
        [](tenon_stream *s) { delete reinterpret_cast<S *>(s); },
        [](tenon_stream *s, uint64_t ns, tenon_error *e) { return guard(e, [&] { of(s).synchronize(ns); return TENON_OK; }); },
        nullptr, nullptr, nullptr,
        [](tenon_stream *s, const tenon_graph_view *g, const tenon_run_params *p, tenon_error *e) { return guard(e, [&] { of(s).run(*g, *p); return TENON_OK; }); },
        nullptr, nullptr,
        [](tenon_stream *s, const char *id) { return of(s).extension(id); } };
    return &t;
}
inline const tenon_device_vtbl *device_table() {
    static const tenon_device_vtbl t = { sizeof t, 0,
        [](tenon_device *d) { delete reinterpret_cast<D *>(d); },
        [](tenon_device *d, tenon_memory_info *m, tenon_error *e) { return guard(e, [&] { of(d).memory(*m); return TENON_OK; }); },
        [](tenon_device *d, const tenon_op_query *q, tenon_error *e) { return guard(e, [&] {
            for (uint32_t i = 0; i < q->n; i++)
                of(d).judge(*q->ops[i], *reinterpret_cast<tenon_op_verdict *>(static_cast<char *>(q->verdicts) + size_t(i) * q->stride), q->want & 1u);
            return TENON_OK; }); },
        [](tenon_device *d) { return of(d).buffer_types(); },
        [](tenon_device *d, uint32_t i, tenon_buft_info *o, tenon_error *e) { return guard(e, [&] { of(d).buffer_type(i, *o); return TENON_OK; }); },
        nullptr, nullptr,
        [](tenon_device *d, uint32_t bt, uint64_t n, uint32_t u, tenon_buffer **out, void **base, tenon_error *e) { return guard(e, [&] {
            auto b = std::make_unique<B>(); b->h.v = buffer_table(); b->o = of(d).alloc(bt, n, u); *base = b->o->base(); *out = &b.release()->h; return TENON_OK; }); },
        nullptr,
        [](tenon_device *d, const tenon_open_params *p, tenon_stream **out, tenon_error *e) { return guard(e, [&] {
            auto s = std::make_unique<S>(); s->h.v = stream_table(); s->o = of(d).stream(p ? p->params : nullptr); *out = &s.release()->h; return TENON_OK; }); },
        nullptr,
        [](tenon_device *d, const char *id) { return of(d).extension(id); } };
    return &t;
}
} // namespace detail
} // namespace tenon

struct tenon_plugin_ctx { std::unique_ptr<tenon::Plugin> p; };

namespace tenon::detail {
template <class P> const tenon_plugin *plugin_table(const tenon_note_desc &n, const char *display) {
    static const tenon_plugin t = { sizeof t, TENON_ABI_MAJOR, TENON_ABI_MINOR, n.id, n.family, n.variant, n.version,
        display, "", "", "", "",
        [](const tenon_host *, tenon_error *) -> int32_t { static_assert(noexcept(P::score()), "score() must be noexcept"); return P::score(); },
        [](const tenon_host *h, const tenon_plugin_config *c, tenon_plugin_ctx **out, tenon_error *e) { return guard(e, [&] {
            auto x = std::make_unique<tenon_plugin_ctx>(); x->p = std::make_unique<P>(); x->p->host = h; x->p->serial = c->serial; *out = x.release(); return TENON_OK; }); },
        [](tenon_plugin_ctx *x) { delete x; },
        [](tenon_plugin_ctx *x) { return x->p->device_count(); },
        [](tenon_plugin_ctx *x, uint32_t i, tenon_device_info *o, tenon_error *e) { return guard(e, [&] { x->p->device_info(i, *o); return TENON_OK; }); },
        [](tenon_plugin_ctx *x, uint32_t i, const tenon_open_params *q, tenon_device **out, tenon_error *e) { return guard(e, [&] {
            auto d = std::make_unique<D>(); d->h.v = device_table(); d->o = x->p->open(i, q ? q->params : nullptr); *out = &d.release()->h; return TENON_OK; }); },
        [](tenon_plugin_ctx *x, const char *id) { return x->p->extension(id); } };
    return &t;
}
} // namespace tenon::detail

#define TENON_PLUGIN(Class, display, ...)                                                        \
    TENON_PLUGIN_NOTE(__VA_ARGS__);                                                              \
    extern "C" TENON_EXPORT tenon_status tenon_plugin_entry_v1(const tenon_host *h,              \
                                                 const tenon_plugin **out, tenon_error *e) {     \
        if (!h || h->abi_major != TENON_ABI_MAJOR)                                               \
            return tenon_fail(e, TENON_E_VERSION, 0, nullptr, "unsupported host ABI major");     \
        *out = tenon::detail::plugin_table<Class>(tenon_plugin_note_.d, display);                \
        return TENON_OK;                                                                         \
    }
