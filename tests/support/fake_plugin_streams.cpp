// Buffers, streams and events of the fake plugin, and the few ops it computes.

#include <cstdlib>
#include <cstring>
#include <utility>

#include "tenon/ext/threads.h"
#include "tenon/op_params.h"
#include "tenon/tensor.h"
#include "tests/support/fake_plugin_parts.h"

namespace tenon::test {
namespace {

// ---- buffers ----------------------------------------------------------------------------------

FakeBuffer& of(tenon_buffer* buffer) { return *reinterpret_cast<FakeBuffer*>(buffer); }

void buffer_free(tenon_buffer* buffer) {
    std::free(of(buffer).memory);
    delete &of(buffer);
}
tenon_status tensor_init(tenon_buffer* buffer, ggml_tensor*, tenon_error* error) {
    return failed(error, of(buffer).fake->tensor_init_status, "no room for this tensor");
}
tenon_status tensor_set(tenon_buffer*, ggml_tensor* t, const void* src, const tenon_region* r,
                        tenon_error*) {
    for (uint64_t i = 0; i < r->n; ++i) {
        std::memcpy(static_cast<char*>(visible(t->data)) + r->offset + i * r->tensor_stride,
                    static_cast<const char*>(src) + i * r->host_stride, r->size);
    }
    return TENON_OK;
}
tenon_status tensor_get(tenon_buffer*, const ggml_tensor* t, void* dst, const tenon_region* r,
                        tenon_error*) {
    for (uint64_t i = 0; i < r->n; ++i) {
        std::memcpy(static_cast<char*>(dst) + i * r->host_stride,
                    static_cast<char*>(visible(t->data)) + r->offset + i * r->tensor_stride,
                    r->size);
    }
    return TENON_OK;
}
tenon_status tensor_fill(tenon_buffer* buffer, ggml_tensor* t, uint8_t value, uint64_t offset,
                         uint64_t size, tenon_error* error) {
    if (of(buffer).fake->cannot_fill) return failed(error, TENON_E_UNSUPPORTED, "cannot fill");
    std::memset(static_cast<char*>(visible(t->data)) + offset, value, size);
    return TENON_OK;
}
tenon_status tensor_copy(tenon_buffer* buffer, const ggml_tensor* src, ggml_tensor* dst,
                         tenon_error*) {
    if (!of(buffer).fake->copies_on_device) return TENON_E_UNSUPPORTED;
    std::memcpy(visible(dst->data), visible(src->data), ggml_nbytes(src));
    return TENON_OK;
}
tenon_status clear(tenon_buffer* buffer, uint8_t value, tenon_error*) {
    std::memset(visible(of(buffer).start), value, of(buffer).size);
    return TENON_OK;
}

}  // namespace

const tenon_buffer_vtbl kFakeBufferTable{sizeof(tenon_buffer_vtbl),
                                         0,
                                         buffer_free,
                                         tensor_init,
                                         tensor_set,
                                         tensor_get,
                                         tensor_fill,
                                         tensor_copy,
                                         clear,
                                         nullptr,
                                         nullptr};

namespace {

// ---- computing --------------------------------------------------------------------------------

float* floats(const ggml_tensor* t) { return static_cast<float*>(visible(t->data)); }

// The share of one member in an elementwise node.
void compute_share(const ggml_tensor& node, int64_t begin, int64_t end) {
    float* dst = floats(&node);
    const float* a = floats(node.src[0]);
    const float* b = node.src[1] ? floats(node.src[1]) : nullptr;
    tenon_scale_params scale;
    std::memcpy(&scale, node.op_params, sizeof scale);
    for (int64_t i = begin; i < end; ++i) {
        switch (node.op) {
            case GGML_OP_ADD:
                dst[i] = a[i] + b[i];
                break;
            case GGML_OP_MUL:
                dst[i] = a[i] * b[i];
                break;
            case GGML_OP_SCALE:
                dst[i] = a[i] * scale.scale + scale.bias;
                break;
            case GGML_OP_SQR:
                dst[i] = a[i] * a[i];
                break;
            default:
                break;
        }
    }
}

void compute(const ggml_tensor& node, tenon_team* team, const tenon_ext_host_threads* threads) {
    if (!team) return compute_share(node, 0, ggml_nelements(&node));
    threads->team_run(
        team,
        [](void* arg, uint32_t member, uint32_t members) {
            const auto& shared = *static_cast<const ggml_tensor*>(arg);
            const int64_t n = ggml_nelements(&shared);
            compute_share(shared, n * member / members, n * (member + 1) / members);
        },
        const_cast<ggml_tensor*>(&node));
}

}  // namespace

bool computes(const ggml_tensor& node) {
    switch (node.op) {
        case GGML_OP_ADD:
        case GGML_OP_MUL:
            return node.type == GGML_TYPE_F32 && ggml_are_same_shape(node.src[0], node.src[1]);
        case GGML_OP_SCALE:
        case GGML_OP_SQR:
            return node.type == GGML_TYPE_F32;
        default:
            return tenon_is_view_op(node.op);
    }
}

namespace {

// ---- streams ----------------------------------------------------------------------------------

FakeStream& of(tenon_stream* stream) { return *reinterpret_cast<FakeStream*>(stream); }

void stream_close(tenon_stream* stream) {
    of(stream).drain(of(stream).n_queued);
    delete &of(stream);
}
tenon_status stream_synchronize(tenon_stream* stream, uint64_t, tenon_error* error) {
    of(stream).drain(of(stream).n_queued);
    return failed(error, std::exchange(of(stream).fake->sync_status, TENON_OK),
                  "the queued work failed");
}
tenon_status stream_set(tenon_stream* stream, ggml_tensor* t, const void* src,
                        const tenon_region* r, tenon_error*) {
    of(stream).push([=, r = *r] { tensor_set(nullptr, t, src, &r, nullptr); });
    return TENON_OK;
}
tenon_status stream_get(tenon_stream* stream, const ggml_tensor* t, void* dst,
                        const tenon_region* r, tenon_error*) {
    of(stream).push([=, r = *r] { tensor_get(nullptr, t, dst, &r, nullptr); });
    return TENON_OK;
}
tenon_status stream_copy(tenon_stream* to, tenon_stream* from, const ggml_tensor* src,
                         ggml_tensor* dst, tenon_error*) {
    if (!of(to).fake->copies_on_device) return TENON_E_UNSUPPORTED;
    FakeStream* other = &of(from);
    of(to).push([=, until = other->n_queued] {
        other->drain(until);
        std::memcpy(visible(dst->data), visible(src->data), ggml_nbytes(src));
    });
    return TENON_OK;
}
tenon_status graph_run(tenon_stream* stream, const tenon_graph_view* graph,
                       const tenon_run_params* params, tenon_error* error) {
    FakeDevice& fake = *of(stream).fake;
    ++fake.n_runs;
    fake.last_threads = params->n_threads;
    fake.last_flags = params->flags;
    fake.last_graph_flags = graph->flags;
    fake.last_uid = graph->uid;
    fake.last_workspace_size = params->workspace_size;
    fake.last_use_counts.assign(graph->use_counts, graph->use_counts + graph->n_nodes);
    if (fake.run_status != TENON_OK) return failed(error, fake.run_status, "the kernel failed");
    if (params->workspace) std::memset(visible(params->workspace), 0xee, params->workspace_size);
    const auto* host = host_table("fake");
    const auto* threads =
        static_cast<const tenon_ext_host_threads*>(host->extension(host, TENON_EXT_THREADS));
    for (uint32_t i = 0; i < graph->n_nodes; ++i) {
        const ggml_tensor* node = graph->nodes[i];
        if (fake.caps & TENON_CAP_ASYNC) {
            of(stream).push([=] { compute(*node, nullptr, nullptr); });
        } else {
            compute(*node, params->team, threads);
        }
        if (fake.ran.capacity() > fake.ran.size()) fake.ran.emplace_back(node->name);
        if (params->should_cancel && params->should_cancel(params->cancel_arg)) {
            return failed(error, TENON_E_CANCELLED, "cancelled");
        }
    }
    return TENON_OK;
}
tenon_status event_record(tenon_stream* stream, tenon_event* event, tenon_error*) {
    auto& e = *reinterpret_cast<FakeEvent*>(event);
    e.stream = &of(stream);
    e.position = of(stream).n_queued;
    return TENON_OK;
}
tenon_status event_wait(tenon_stream* stream, tenon_event* event, tenon_error*) {
    const FakeEvent e = *reinterpret_cast<FakeEvent*>(event);
    if (e.stream) of(stream).push([e] { e.stream->drain(e.position); });
    return TENON_OK;
}
const void* no_stream_extension(tenon_stream*, const char*) { return nullptr; }

}  // namespace

const tenon_stream_vtbl kFakeStreamTable{sizeof(tenon_stream_vtbl),
                                         0,
                                         stream_close,
                                         stream_synchronize,
                                         stream_set,
                                         stream_get,
                                         stream_copy,
                                         graph_run,
                                         event_record,
                                         event_wait,
                                         no_stream_extension};

namespace {

void event_free(tenon_event* event) { delete reinterpret_cast<FakeEvent*>(event); }
tenon_status event_query(tenon_event*) { return TENON_OK; }
tenon_status event_synchronize(tenon_event* event, uint64_t, tenon_error*) {
    const auto& e = *reinterpret_cast<FakeEvent*>(event);
    if (e.stream) e.stream->drain(e.position);
    return TENON_OK;
}
}  // namespace

const tenon_event_vtbl kFakeEventTable{sizeof(tenon_event_vtbl), 0, event_free, event_query,
                                       event_synchronize};

}  // namespace tenon::test
