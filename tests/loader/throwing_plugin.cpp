// The discrete test plugin in tables of another make: each function throws a C++ exception when the
// option `throw` names it ("buffer.clear"), which no plugin may do, ends its thread when the option
// `end` names it, and waits to be cancelled when the option `linger` does. Functions that answer
// nothing do their work first, so that nothing is lost.

#include <pthread.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "tenon/plugin.h"

// The entry of tests/discrete/plugin.cpp, compiled under this name.
extern "C" tenon_status discrete_entry(const tenon_host* host, const tenon_plugin** out,
                                       tenon_error* error);

namespace {

const tenon_host* g_host = nullptr;

bool is_asked(const char* option, const char* name) {
    const char* wanted = g_host->option(g_host, option);
    return wanted && std::string(wanted) == name;
}

void leave_if_asked(const char* name) {
    if (is_asked("throw", name)) throw std::runtime_error(name);
    if (is_asked("end", name)) pthread_exit(nullptr);
    while (is_asked("linger", name)) usleep(1000);  // a point where threads can be cancelled
}

// Stands for one function pointer of a table; what the plugin lacks answers zero.
template <auto Member>
struct Stand;
template <class Table, class Answer, class... Arguments, Answer (*Table::*Member)(Arguments...)>
struct Stand<Member> {
    static inline Answer (*original)(Arguments...) = nullptr;
    static inline const char* name = "";

    static Answer call(Arguments... arguments) {
        if constexpr (std::is_void_v<Answer>) {
            if (original) original(arguments...);
            leave_if_asked(name);
        } else {
            leave_if_asked(name);
            return original ? original(arguments...) : Answer{};
        }
    }
};

template <auto Member, class Table>
void stand_in(Table& table, const char* name) {
    using One = Stand<Member>;
    if (table.*Member != One::call) One::original = table.*Member;
    One::name = name;
    table.*Member = One::call;
}

// ---- what the devices of the plugin give out ---------------------------------------------------

void stand_in_for(tenon_buffer* buffer) {
    using Table = tenon_buffer_vtbl;
    static Table table;
    table = *buffer->v;
    stand_in<&Table::free>(table, "buffer.free");
    stand_in<&Table::tensor_init>(table, "buffer.tensor_init");
    stand_in<&Table::tensor_set>(table, "buffer.tensor_set");
    stand_in<&Table::tensor_get>(table, "buffer.tensor_get");
    stand_in<&Table::tensor_fill>(table, "buffer.tensor_fill");
    stand_in<&Table::tensor_copy>(table, "buffer.tensor_copy");
    stand_in<&Table::clear>(table, "buffer.clear");
    stand_in<&Table::reset>(table, "buffer.reset");
    stand_in<&Table::set_usage>(table, "buffer.set_usage");
    buffer->v = &table;
}

void stand_in_for(tenon_stream* stream) {
    using Table = tenon_stream_vtbl;
    static Table table;
    table = *stream->v;
    stand_in<&Table::close>(table, "stream.close");
    stand_in<&Table::synchronize>(table, "stream.synchronize");
    stand_in<&Table::tensor_set>(table, "stream.tensor_set");
    stand_in<&Table::tensor_get>(table, "stream.tensor_get");
    stand_in<&Table::tensor_copy>(table, "stream.tensor_copy");
    stand_in<&Table::graph_run>(table, "stream.graph_run");
    stand_in<&Table::event_record>(table, "stream.event_record");
    stand_in<&Table::event_wait>(table, "stream.event_wait");
    stream->v = &table;
}

void stand_in_for(tenon_event* event) {
    using Table = tenon_event_vtbl;
    static Table table;
    table = *event->v;
    stand_in<&Table::free>(table, "event.free");
    stand_in<&Table::synchronize>(table, "event.synchronize");
    event->v = &table;
}

tenon_device_vtbl g_device;  // the plugin's own functions

tenon_status buffer_alloc(tenon_device* device, uint32_t buft, uint64_t size, uint32_t usage,
                          tenon_buffer** out, void** base, tenon_error* error) {
    leave_if_asked("device.buffer_alloc");
    const auto status = g_device.buffer_alloc(device, buft, size, usage, out, base, error);
    if (status == TENON_OK) stand_in_for(*out);
    return status;
}

tenon_status stream_open(tenon_device* device, const tenon_open_params* params, tenon_stream** out,
                         tenon_error* error) {
    leave_if_asked("device.stream_open");
    const auto status = g_device.stream_open(device, params, out, error);
    if (status == TENON_OK) stand_in_for(*out);
    return status;
}

tenon_status event_new(tenon_device* device, tenon_event** out, tenon_error* error) {
    leave_if_asked("device.event_new");
    const auto status = g_device.event_new(device, out, error);
    if (status == TENON_OK) stand_in_for(*out);
    return status;
}

void stand_in_for(tenon_device* device) {
    using Table = tenon_device_vtbl;
    static Table table;
    table = g_device = *device->v;
    stand_in<&Table::close>(table, "device.close");
    stand_in<&Table::memory>(table, "device.memory");
    stand_in<&Table::query_ops>(table, "device.query_ops");
    stand_in<&Table::buft_count>(table, "device.buft_count");
    stand_in<&Table::buft_info>(table, "device.buft_info");
    stand_in<&Table::buft_accepts>(table, "device.buft_accepts");
    stand_in<&Table::tensor_bytes>(table, "device.tensor_bytes");
    stand_in<&Table::buffer_wrap>(table, "device.buffer_wrap");
    stand_in<&Table::extension>(table, "device.extension");
    table.buffer_alloc = buffer_alloc;
    table.stream_open = stream_open;
    table.event_new = event_new;
    device->v = &table;
}

// ---- the plugin --------------------------------------------------------------------------------

tenon_plugin g_plugin;  // the plugin's own functions

tenon_status device_info(tenon_plugin_ctx* ctx, uint32_t index, tenon_device_info* out,
                         tenon_error* error) {
    leave_if_asked("plugin.device_info");
    const auto status = g_plugin.device_info(ctx, index, out, error);
    out->caps |= TENON_CAP_WRAP_HOST_PTR;  // so that buffer_wrap is called
    return status;
}

tenon_status device_open(tenon_plugin_ctx* ctx, uint32_t index, const tenon_open_params* params,
                         tenon_device** out, tenon_error* error) {
    leave_if_asked("plugin.device_open");
    const auto status = g_plugin.device_open(ctx, index, params, out, error);
    if (status == TENON_OK) stand_in_for(*out);
    return status;
}

}  // namespace

extern "C" TENON_EXPORT tenon_status tenon_plugin_entry_v1(const tenon_host* host,
                                                           const tenon_plugin** out,
                                                           tenon_error* error) {
    using Table = tenon_plugin;
    static Table table;
    g_host = host;
    leave_if_asked("entry");
    const tenon_plugin* inner = nullptr;
    if (const auto status = discrete_entry(host, &inner, error); status != TENON_OK) return status;
    table = g_plugin = *inner;
    stand_in<&Table::score>(table, "plugin.score");
    stand_in<&Table::init>(table, "plugin.init");
    stand_in<&Table::shutdown>(table, "plugin.shutdown");
    stand_in<&Table::device_count>(table, "plugin.device_count");
    stand_in<&Table::extension>(table, "plugin.extension");
    table.device_info = device_info;
    table.device_open = device_open;
    *out = &table;
    return TENON_OK;
}
