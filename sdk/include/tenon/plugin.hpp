// tenon/plugin.hpp - write a backend as C++ classes, ship the C tables.
//
// Derive from Plugin, Device, Buffer, Stream (and Event), finish with TENON_PLUGIN. Header-only,
// C++17, no dependency on the core. A call fails by throwing Failure or any std::exception: nothing
// here lets one out of the plugin, every table entry runs inside detail::guard. What does pass is
// the end of the calling thread (forced_unwind.hpp): your own `catch (...)` must throw it on too.
// Threads: [any], [init] and [object] as in plugin.h; extension() is [any] everywhere, destructors
// are what closing the object is.
#pragma once
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "tenon/forced_unwind.hpp"
#include "tenon/note.hpp"
#include "tenon/plugin.h"

namespace tenon {

// Throw this to fail a call with a status, a text and, if there is one, the driver's own number.
struct Failure : std::exception {
    tenon_status code;
    int64_t native = 0;
    std::string name, text;
    Failure(tenon_status c, std::string t, int64_t n = 0, std::string nn = {})
        : code(c), native(n), name(std::move(nn)), text(std::move(t)) {}
    const char* what() const noexcept override { return text.c_str(); }
};

// Calls f(offset in the tensor, offset in host memory, bytes) for every row of a region.
template <class F>
void for_each_row(const tenon_region& r, F&& f) {
    for (uint64_t i = 0; i < r.n; i++) f(r.offset + i * r.tensor_stride, i * r.host_stride, r.size);
}

struct Buffer {
    virtual ~Buffer() = default;
    virtual void* base() = 0;                                                            // [object]
    virtual void init(ggml_tensor&) {}                                                   // [object]
    virtual void set(ggml_tensor&, const void* src, const tenon_region&) = 0;            // [any]
    virtual void get(const ggml_tensor&, void* dst, const tenon_region&) = 0;            // [any]
    virtual void fill(ggml_tensor&, uint8_t value, uint64_t offset, uint64_t size) = 0;  // [any]
    // From another buffer into this one, neither in host layout. False: the core stages.
    virtual bool copy(const ggml_tensor& /*src*/, ggml_tensor& /*dst*/) { return false; }  // [any]
    virtual void clear(uint8_t value) = 0;                         // [object]
    virtual void reset() {}                                        // [object]
    virtual void usage(uint32_t /*ggml_backend_buffer_usage*/) {}  // [object]
};

// Starts as signalled, may be recorded again and again.
struct Event {
    virtual ~Event() = default;
    virtual bool done() = 0;  // [any] throws the failure of the work it stands for
    virtual void synchronize(
        uint64_t timeout_ns) = 0;  // [any] throws TENON_E_TIMEOUT when it takes longer
};

struct Stream {
    // Entries of the table that exist. Without kCopies the core waits and uses the buffer's calls;
    // without kEvents it waits on the host.
    enum Offers : uint32_t { kCopies = 1u << 0, kStreamCopy = 1u << 1, kEvents = 1u << 2 };

    virtual ~Stream() = default;
    virtual uint32_t offers() const noexcept { return 0; }
    virtual void run(const tenon_graph_view&, const tenon_run_params&) = 0;  // [object]
    virtual void synchronize(uint64_t /*timeout_ns*/) {}                     // [object]
    // The next three are [object], copy() of both streams.
    virtual void set(ggml_tensor&, const void* /*src*/, const tenon_region&) { missing("set"); }
    virtual void get(const ggml_tensor&, void* /*dst*/, const tenon_region&) { missing("get"); }
    // After all work queued on `from`, before later work on either stream. False: the core stages.
    virtual bool copy(Stream& /*from*/, const ggml_tensor& /*src*/, ggml_tensor& /*dst*/) {
        return false;
    }
    virtual void record(Event&) { missing("record"); }  // [object]
    virtual void wait(Event&) { missing("wait"); }      // [object]
    virtual const void* extension(const char*) noexcept { return nullptr; }

private:
    [[noreturn]] static void missing(const char* what) {
        throw Failure(TENON_E_UNSUPPORTED, std::string("the stream offers no ") + what);
    }
};

struct Device {
    enum Offers : uint32_t {
        kWrap = 1u << 0,
        kAccepts = 1u << 1,
        kTensorBytes = 1u << 2,
        kEvents = 1u << 3
    };

    virtual ~Device() = default;
    virtual uint32_t offers() const noexcept { return 0; }
    virtual void memory(tenon_memory_info&) = 0;  // [any]
    // Called per op of a query; the verdict is zeroed. support_only: leave the cost fields alone.
    virtual void judge(const ggml_tensor&, tenon_op_verdict&, bool support_only) = 0;  // [any]

    // The next three stay as they are for a device that works in the core's host memory.
    virtual uint32_t buffer_types() noexcept { return 0; }            // [any]
    virtual void buffer_type(uint32_t, tenon_buft_info&) { none(); }  // [any]
    // [any], as are the others that make or judge something
    virtual std::unique_ptr<Buffer> alloc(uint32_t /*buft*/, uint64_t /*size*/,
                                          uint32_t /*usage*/) {
        none();
    }

    virtual std::unique_ptr<Buffer> wrap(void* /*host*/, uint64_t /*size*/,
                                         uint64_t /*max_tensor*/) {
        none();
    }
    virtual bool accepts(const tenon_buft_info& /*foreign*/, const tenon_device_info* /*owner*/) {
        return false;
    }
    virtual uint64_t tensor_bytes(uint32_t /*buft*/, const ggml_tensor&) noexcept { return 0; }
    virtual std::unique_ptr<Stream> stream(const char* params) = 0;  // [any]
    virtual std::unique_ptr<Event> event() {
        throw Failure(TENON_E_UNSUPPORTED, "the device has no events");
    }
    virtual const void* extension(const char*) noexcept { return nullptr; }

private:
    [[noreturn]] static void none() { throw Failure(TENON_E_INVALID, "no such buffer type"); }
};

struct Plugin {
    const tenon_host* host = nullptr;
    uint32_t serial = 0;
    std::string path;

    // A class of its own may hide any of these.
    static int32_t score() noexcept { return 1; }
    static const char* vendor() noexcept { return ""; }
    static const char* license() noexcept { return ""; }
    static const char* url() noexcept { return ""; }
    static const char* build_info() noexcept { return ""; }

    virtual ~Plugin() = default;
    virtual void init() {}                         // [init] host, serial and path are set
    virtual uint32_t device_count() noexcept = 0;  // [any]
    virtual void device_info(uint32_t, tenon_device_info&) = 0;              // [any]
    virtual std::unique_ptr<Device> open(uint32_t, const char* params) = 0;  // [init]
    virtual const void* extension(const char*) noexcept { return nullptr; }

    // A setting of the application or the environment (TENON_<FAMILY>_<KEY>), NULL when unset.
    const char* option(const char* key) const {
        return host->option ? host->option(host, key) : nullptr;
    }
    template <class... A>
    void log(int32_t level, const char* fmt, A... a) const {
        char b[512];
        std::snprintf(b, sizeof b, fmt, a...);
        if (host->log) host->log(host, level, "plugin", b);
    }
};

namespace detail {

// What every error text of this plugin starts with; one plugin per file, so one variable.
inline const char*& error_prefix() noexcept {
    static const char* prefix = "";
    return prefix;
}
inline tenon_status refuse(tenon_error* e, tenon_status code, int64_t native, const char* name,
                           const char* text) noexcept {
    char b[sizeof(tenon_error::message)];
    std::snprintf(b, sizeof b, "%s%s%s", error_prefix(), *error_prefix() ? ": " : "", text);
    return tenon_fail(e, code, native, name, b);
}
template <class F>
tenon_status guard(tenon_error* e, F&& f) {
    const auto run = [&]() -> tenon_status {
        try {
            return f();
        } catch (const Failure& x) {
            return refuse(e, x.code, x.native, x.name.empty() ? nullptr : x.name.c_str(),
                          x.text.c_str());
        }
    };
    return catch_all(run, [&](bool out_of_memory, const char* text) {
        if (out_of_memory)
            return refuse(e, TENON_E_NO_HOST_MEMORY, 0, nullptr, "out of host memory");
        return refuse(e, TENON_E_INTERNAL, 0, nullptr, text ? text : "unknown exception");
    });
}

// What the handles point at. Streams and devices carry a table of their own, because which entries
// it has depends on the object.
struct B {
    tenon_buffer h;
    std::unique_ptr<Buffer> o;
};
struct E {
    tenon_event h;
    std::unique_ptr<Event> o;
};
struct S {
    tenon_stream h;
    tenon_stream_vtbl v;
    std::unique_ptr<Stream> o;
};
struct D {
    tenon_device h;
    tenon_device_vtbl v;
    std::unique_ptr<Device> o;
};
inline Buffer& of(tenon_buffer* p) { return *reinterpret_cast<B*>(p)->o; }
inline Event& of(tenon_event* p) { return *reinterpret_cast<E*>(p)->o; }
inline Stream& of(tenon_stream* p) { return *reinterpret_cast<S*>(p)->o; }
inline Device& of(tenon_device* p) { return *reinterpret_cast<D*>(p)->o; }

using Err = tenon_error*;

inline const tenon_buffer_vtbl* buffer_table() {
    static const tenon_buffer_vtbl t = {
        sizeof t,
        0,
        [](tenon_buffer* b) { delete reinterpret_cast<B*>(b); },
        [](tenon_buffer* b, ggml_tensor* x, Err e) {
            return guard(e, [&] {
                of(b).init(*x);
                return TENON_OK;
            });
        },
        [](tenon_buffer* b, ggml_tensor* x, const void* s, const tenon_region* r, Err e) {
            return guard(e, [&] {
                of(b).set(*x, s, *r);
                return TENON_OK;
            });
        },
        [](tenon_buffer* b, const ggml_tensor* x, void* d, const tenon_region* r, Err e) {
            return guard(e, [&] {
                of(b).get(*x, d, *r);
                return TENON_OK;
            });
        },
        [](tenon_buffer* b, ggml_tensor* x, uint8_t v, uint64_t o, uint64_t n, Err e) {
            return guard(e, [&] {
                of(b).fill(*x, v, o, n);
                return TENON_OK;
            });
        },
        [](tenon_buffer* b, const ggml_tensor* s, ggml_tensor* d, Err e) {
            return guard(e, [&] { return of(b).copy(*s, *d) ? TENON_OK : TENON_E_UNSUPPORTED; });
        },
        [](tenon_buffer* b, uint8_t v, Err e) {
            return guard(e, [&] {
                of(b).clear(v);
                return TENON_OK;
            });
        },
        [](tenon_buffer* b) {
            (void)guard(nullptr, [&] {
                of(b).reset();
                return TENON_OK;
            });
        },
        [](tenon_buffer* b, uint32_t u) {
            (void)guard(nullptr, [&] {
                of(b).usage(u);
                return TENON_OK;
            });
        }};
    return &t;
}

inline const tenon_event_vtbl* event_table() {
    static const tenon_event_vtbl t = {
        sizeof t, 0, [](tenon_event* ev) { delete reinterpret_cast<E*>(ev); },
        [](tenon_event* ev) {
            return guard(nullptr, [&] { return of(ev).done() ? TENON_OK : TENON_E_BUSY; });
        },
        [](tenon_event* ev, uint64_t ns, Err e) {
            return guard(e, [&] {
                of(ev).synchronize(ns);
                return TENON_OK;
            });
        }};
    return &t;
}

inline void fill_table(tenon_stream_vtbl& t, uint32_t offers) {
    t = {};
    t.struct_size = sizeof t;
    t.close = [](tenon_stream* s) { delete reinterpret_cast<S*>(s); };
    t.synchronize = [](tenon_stream* s, uint64_t ns, Err e) {
        return guard(e, [&] {
            of(s).synchronize(ns);
            return TENON_OK;
        });
    };
    t.graph_run = [](tenon_stream* s, const tenon_graph_view* g, const tenon_run_params* p, Err e) {
        return guard(e, [&] {
            of(s).run(*g, *p);
            return TENON_OK;
        });
    };
    t.extension = [](tenon_stream* s, const char* id) { return of(s).extension(id); };
    if (offers & Stream::kCopies) {
        t.tensor_set = [](tenon_stream* s, ggml_tensor* x, const void* src, const tenon_region* r,
                          Err e) {
            return guard(e, [&] {
                of(s).set(*x, src, *r);
                return TENON_OK;
            });
        };
        t.tensor_get = [](tenon_stream* s, const ggml_tensor* x, void* dst, const tenon_region* r,
                          Err e) {
            return guard(e, [&] {
                of(s).get(*x, dst, *r);
                return TENON_OK;
            });
        };
    }
    if (offers & Stream::kStreamCopy) {
        t.tensor_copy = [](tenon_stream* to, tenon_stream* from, const ggml_tensor* src,
                           ggml_tensor* dst, Err e) {
            return guard(e, [&] {
                return of(to).copy(of(from), *src, *dst) ? TENON_OK : TENON_E_UNSUPPORTED;
            });
        };
    }
    if (offers & Stream::kEvents) {
        t.event_record = [](tenon_stream* s, tenon_event* ev, Err e) {
            return guard(e, [&] {
                of(s).record(of(ev));
                return TENON_OK;
            });
        };
        t.event_wait = [](tenon_stream* s, tenon_event* ev, Err e) {
            return guard(e, [&] {
                of(s).wait(of(ev));
                return TENON_OK;
            });
        };
    }
}

inline tenon_status judge_all(Device& device, const tenon_op_query& q) {
    for (uint32_t i = 0; i < q.n; i++) {
        void* record = static_cast<char*>(q.verdicts) + size_t(i) * q.stride;
        device.judge(*q.ops[i], *static_cast<tenon_op_verdict*>(record), q.want & 1u);
    }
    return TENON_OK;
}
inline tenon_status hand_out(std::unique_ptr<Buffer> buffer, tenon_buffer** out, void** base) {
    auto b = std::make_unique<B>();
    b->h.v = buffer_table();
    b->o = std::move(buffer);
    *base = b->o->base();
    *out = &b.release()->h;
    return TENON_OK;
}
inline tenon_status hand_out(std::unique_ptr<Stream> stream, tenon_stream** out) {
    auto s = std::make_unique<S>();
    fill_table(s->v, stream->offers());
    s->h.v = &s->v;
    s->o = std::move(stream);
    *out = &s.release()->h;
    return TENON_OK;
}
inline tenon_status hand_out(std::unique_ptr<Event> event, tenon_event** out) {
    auto ev = std::make_unique<E>();
    ev->h.v = event_table();
    ev->o = std::move(event);
    *out = &ev.release()->h;
    return TENON_OK;
}

inline void fill_table(tenon_device_vtbl& t, uint32_t offers) {
    t = {};
    t.struct_size = sizeof t;
    t.close = [](tenon_device* d) { delete reinterpret_cast<D*>(d); };
    t.memory = [](tenon_device* d, tenon_memory_info* m, Err e) {
        return guard(e, [&] {
            of(d).memory(*m);
            return TENON_OK;
        });
    };
    t.query_ops = [](tenon_device* d, const tenon_op_query* q, Err e) {
        return guard(e, [&] { return judge_all(of(d), *q); });
    };
    t.buft_count = [](tenon_device* d) { return of(d).buffer_types(); };
    t.buft_info = [](tenon_device* d, uint32_t i, tenon_buft_info* out, Err e) {
        return guard(e, [&] {
            of(d).buffer_type(i, *out);
            return TENON_OK;
        });
    };
    t.buffer_alloc = [](tenon_device* d, uint32_t buft, uint64_t n, uint32_t usage,
                        tenon_buffer** out, void** base, Err e) {
        return guard(e, [&] { return hand_out(of(d).alloc(buft, n, usage), out, base); });
    };
    t.stream_open = [](tenon_device* d, const tenon_open_params* p, tenon_stream** out, Err e) {
        return guard(e, [&] { return hand_out(of(d).stream(p ? p->params : nullptr), out); });
    };
    t.extension = [](tenon_device* d, const char* id) { return of(d).extension(id); };
    if (offers & Device::kAccepts) {
        t.buft_accepts = [](tenon_device* d, const tenon_buft_info* foreign,
                            const tenon_device_info* owner) {
            int32_t yes = 0;
            (void)guard(nullptr, [&] {
                yes = of(d).accepts(*foreign, owner);
                return TENON_OK;
            });
            return yes;
        };
    }
    if (offers & Device::kTensorBytes) {
        t.tensor_bytes = [](tenon_device* d, uint32_t buft, const ggml_tensor* x) {
            return of(d).tensor_bytes(buft, *x);
        };
    }
    if (offers & Device::kWrap) {
        t.buffer_wrap = [](tenon_device* d, void* host, uint64_t n, uint64_t max_tensor,
                           tenon_buffer** out, void** base, Err e) {
            return guard(e, [&] { return hand_out(of(d).wrap(host, n, max_tensor), out, base); });
        };
    }
    if (offers & Device::kEvents) {
        t.event_new = [](tenon_device* d, tenon_event** out, Err e) {
            return guard(e, [&] { return hand_out(of(d).event(), out); });
        };
    }
}

}  // namespace detail

// The object behind a handle the core gave back, for entries of extensions.
inline Device& device_of(tenon_device* d) { return detail::of(d); }
inline Stream& stream_of(tenon_stream* s) { return detail::of(s); }

// The own buffer a tensor lies in; NULL when it lies elsewhere or nowhere.
inline Buffer* own_buffer(const ggml_tensor& t, uint32_t serial) {
    const void* place = t.buffer ? t.buffer : t.view_src ? t.view_src->buffer : nullptr;
    const auto* head = static_cast<const tenon_buffer_head*>(place);
    if (!head || head->plugin_serial != serial || !head->buffer) return nullptr;
    return &detail::of(head->buffer);
}

}  // namespace tenon

struct tenon_plugin_ctx {
    std::unique_ptr<tenon::Plugin> p;
};

namespace tenon::detail {

template <class P>
const tenon_plugin* plugin_table(const tenon_note_desc& n, const char* display) {
    static const tenon_plugin t = {
        sizeof t,
        TENON_ABI_MAJOR,
        TENON_ABI_MINOR,
        n.id,
        n.family,
        n.variant,
        n.version,
        display,
        P::vendor(),
        P::license(),
        P::url(),
        P::build_info(),
        [](const tenon_host*, tenon_error*) -> int32_t {
            static_assert(noexcept(P::score()), "score() must be noexcept");
            return P::score();
        },
        [](const tenon_host* h, const tenon_plugin_config* c, tenon_plugin_ctx** out,
           tenon_error* e) {
            return guard(e, [&] {
                auto x = std::make_unique<tenon_plugin_ctx>();
                x->p = std::make_unique<P>();
                x->p->host = h;
                x->p->serial = c->serial;
                x->p->path = c->path ? c->path : "";
                x->p->init();
                *out = x.release();
                return TENON_OK;
            });
        },
        [](tenon_plugin_ctx* x) { delete x; },
        [](tenon_plugin_ctx* x) { return x->p->device_count(); },
        [](tenon_plugin_ctx* x, uint32_t i, tenon_device_info* o, tenon_error* e) {
            return guard(e, [&] {
                x->p->device_info(i, *o);
                return TENON_OK;
            });
        },
        [](tenon_plugin_ctx* x, uint32_t i, const tenon_open_params* q, tenon_device** out,
           tenon_error* e) {
            return guard(e, [&] {
                auto d = std::make_unique<D>();
                d->o = x->p->open(i, q ? q->params : nullptr);
                fill_table(d->v, d->o->offers());
                d->h.v = &d->v;
                *out = &d.release()->h;
                return TENON_OK;
            });
        },
        [](tenon_plugin_ctx* x, const char* id) { return x->p->extension(id); }};
    error_prefix() = display;
    return &t;
}

}  // namespace tenon::detail

// The note, a Note or a tenon_note_desc, is a constant: the loader reads it from the file.
#define TENON_PLUGIN(Class, display, ...)                                                    \
    static constexpr tenon_note_desc tenon_plugin_note_desc_ = __VA_ARGS__;                  \
    TENON_PLUGIN_NOTE(tenon_plugin_note_desc_);                                              \
    extern "C" TENON_EXPORT tenon_status tenon_plugin_entry_v1(                              \
        const tenon_host* h, const tenon_plugin** out, tenon_error* e) {                     \
        if (!h || h->abi_major != TENON_ABI_MAJOR)                                           \
            return tenon_fail(e, TENON_E_VERSION, 0, nullptr, "unsupported host ABI major"); \
        *out = tenon::detail::plugin_table<Class>(tenon_plugin_note_.d, display);            \
        return TENON_OK;                                                                     \
    }
