// The C functions about plugins: ggml's four, and the reports of tenon.h.

#include <dlfcn.h>

#include <string>

#include "core/base/os.h"
#include "core/base/text.h"
#include "loader/c_api.h"
#include "loader/compatibility.h"
#include "loader/loader.h"
#include "tenon/tenon.h"

using namespace tenon;

// File of the library that the global scope finds ggml in, unless it is this one.
static const char* find_other_copy() {
    void* first = ::dlsym(RTLD_DEFAULT, "ggml_init");
    Dl_info theirs{}, ours{};
    if (!first || !::dladdr(first, &theirs)) return nullptr;
    if (!::dladdr(reinterpret_cast<void*>(&tenon_other_copy), &ours)) return nullptr;
    if (theirs.dli_fbase == ours.dli_fbase) return nullptr;
    return keep(theirs.dli_fname ? theirs.dli_fname : "another library");
}

extern "C" {

// ---- ggml-backend.h -----------------------------------------------------------------------------

ggml_backend_reg_t ggml_backend_load(const char* path) {
    return guard<ggml_backend_reg_t>(nullptr, [&] { return load_file(path); });
}

void ggml_backend_unload(ggml_backend_reg_t reg) {
    guard_void([&]() -> Result<void> {
        if (!reg) return {};
        auto ok = unload(reg);
        if (!ok && ok.error().code == TENON_E_NOT_FOUND) return {};  // not ours: nothing to do
        return ok;
    });
}

void ggml_backend_load_all(void) {
    guard_void([] { load_all(nullptr); });
}

void ggml_backend_load_all_from_path(const char* dir_path) {
    guard_void([&] { load_all(dir_path); });
}

// ---- tenon.h ------------------------------------------------------------------------------------

tenon_status tenon_plugin_load(const char* path, ggml_backend_reg_t* out) {
    if (out) *out = nullptr;
    return status_of_call([&]() -> Result<void> {
        auto reg = load_file(path);
        if (!reg) return reg.error();
        if (out) *out = *reg;
        return {};
    });
}

tenon_status tenon_plugin_unload(ggml_backend_reg_t reg) {
    return status_of_call([&] { return unload(reg); });
}

tenon_status tenon_register_builtin(tenon_plugin_entry_fn entry) {
    return status_of_call([&]() -> Result<void> {
        auto reg = load_builtin(entry);
        if (!reg) return reg.error();
        return {};
    });
}

tenon_status tenon_plugins_scan(const char* directory) {
    return status_of_call([&]() -> Result<void> {
        scan(directory);
        return {};
    });
}

size_t tenon_plugin_count(void) {
    return guard<size_t>(0, [] { return report_count(); });
}

bool tenon_plugin_get(size_t index, tenon_plugin_report* out) {
    return guard<bool>(false, [&] {
        Report r;
        if (!report_at(index, &r)) return false;
        tenon_plugin_report record{};
        record.step = r.step;
        record.file = keep(r.file);
        record.origin = keep(r.origin);
        record.state = keep(r.state);
        record.message = keep(r.message);
        record.family = keep(r.note.family);
        record.variant = keep(r.note.variant);
        record.id = keep(r.note.id);
        record.version = keep(r.note.version);
        record.isa_need = keep(isa_names(r.note.isa_need));
        record.has_note = r.has_note;
        record.abi_major = r.note.abi_major;
        record.abi_minor_built = r.note.abi_minor_built;
        record.abi_minor_needed = r.note.abi_minor_needed;
        record.tensor_layout = r.note.tensor_layout;
        record.flags = r.note.flags;
        record.arch = r.note.arch;
        record.rank = r.note.rank;
        record.n_steps = kStepRegistered;
        record.n_devices = static_cast<uint32_t>(r.devices.size());
        record.note_ns = r.note_ns;
        record.load_ns = r.load_ns;
        record.reg = r.reg;
        return write_record(out, record);
    });
}

bool tenon_plugin_get_step(size_t index, size_t step, tenon_plugin_step* out) {
    return guard<bool>(false, [&] {
        Report r;
        if (!report_at(index, &r) || step >= kStepRegistered) return false;
        const auto number = static_cast<uint32_t>(step + 1);
        tenon_plugin_step record{};
        record.number = number;
        record.outcome = r.steps[number].outcome;
        record.name = step_name(number);
        record.detail = keep(r.steps[number].detail);
        return write_record(out, record);
    });
}

bool tenon_plugin_get_device(size_t index, size_t device, tenon_plugin_device* out) {
    return guard<bool>(false, [&] {
        Report r;
        if (!report_at(index, &r) || device >= r.devices.size()) return false;
        tenon_plugin_device record{};
        record.index = r.devices[device].index;
        record.device = device < r.handles.size() ? r.handles[device] : nullptr;
        record.name = keep(r.devices[device].name);
        record.refused = keep(r.devices[device].refused);
        record.hidden = keep(device < r.hidden.size() ? r.hidden[device] : "");
        return write_record(out, record);
    });
}

const char* tenon_library_path(void) {
    return guard<const char*>("", [] { return keep(os::library_path()); });
}

bool tenon_elevated(void) { return os::elevated(); }

// Asked before the first plugin is opened and kept: who asks later does not wait for the dynamic
// linker, which may be busy with a plugin.
const char* tenon_other_copy(void) {
    return guard<const char*>(nullptr, [] {
        static const char* other = find_other_copy();
        return other;
    });
}

}  // extern "C"
