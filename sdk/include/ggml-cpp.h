// ggml-cpp.h - owners for the handles of the C API.
#pragma once

#ifndef __cplusplus
#error "ggml-cpp.h is for C++"
#endif

#include <memory>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"
#include "gguf.h"

struct ggml_context_deleter {
    void operator()(ggml_context* p) const { ggml_free(p); }
};
using ggml_context_ptr = std::unique_ptr<ggml_context, ggml_context_deleter>;

struct gguf_context_deleter {
    void operator()(gguf_context* p) const { gguf_free(p); }
};
using gguf_context_ptr = std::unique_ptr<gguf_context, gguf_context_deleter>;

struct ggml_gallocr_deleter {
    void operator()(ggml_gallocr* p) const { ggml_gallocr_free(p); }
};
using ggml_gallocr_ptr = std::unique_ptr<ggml_gallocr, ggml_gallocr_deleter>;

struct ggml_backend_deleter {
    void operator()(ggml_backend* p) const { ggml_backend_free(p); }
};
using ggml_backend_ptr = std::unique_ptr<ggml_backend, ggml_backend_deleter>;

struct ggml_backend_buffer_deleter {
    void operator()(ggml_backend_buffer* p) const { ggml_backend_buffer_free(p); }
};
using ggml_backend_buffer_ptr = std::unique_ptr<ggml_backend_buffer, ggml_backend_buffer_deleter>;

struct ggml_backend_event_deleter {
    void operator()(ggml_backend_event* p) const { ggml_backend_event_free(p); }
};
using ggml_backend_event_ptr = std::unique_ptr<ggml_backend_event, ggml_backend_event_deleter>;

struct ggml_backend_sched_deleter {
    void operator()(ggml_backend_sched* p) const { ggml_backend_sched_free(p); }
};
using ggml_backend_sched_ptr = std::unique_ptr<ggml_backend_sched, ggml_backend_sched_deleter>;
