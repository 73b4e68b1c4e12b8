// Loading plugins: all, one, none; and the report of what happened to every file.

#include "loader/loader.h"

#include <atomic>
#include <mutex>

#include "core/base/log.h"
#include "core/base/os.h"
#include "core/base/per_thread.h"
#include "core/base/settings.h"
#include "core/device/registry.h"
#include "loader/discovery.h"
#include "loader/loads.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

// Set while this thread is inside the loader: callbacks that reach us again must not wait for us.
TENON_PER_THREAD bool t_inside = false;

struct Inside {
    Inside() { t_inside = true; }
    ~Inside() { t_inside = false; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

// Never destroyed: nothing of a plugin is touched at exit.
Loader& loader() {
    static auto* instance = new Loader;
    return *instance;
}

// Two libraries that answer to the same names: each client gets the one the linker saw first.
void warn_about_other_copy() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (const char* other = tenon_other_copy()) {
            log(GGML_LOG_LEVEL_WARN,
                "%s in this process also defines ggml's functions; programs linked to both get one",
                other);
        }
    });
}

std::atomic<bool> g_default_done{false};

// Runs `body` with the loader to itself. A call from inside a load, on the same thread, is refused.
// A cancellation waits for the end of the load: half of one, or the dynamic linker's lock, would
// stay behind.
template <class T, class Body>
Result<T> with_loader(Body&& body) {
    if (t_inside) return fail(TENON_E_BUSY, "a plugin load is running on this thread");
    const os::NoCancel held_back;
    Loader& l = loader();
    const std::lock_guard lock(l.mutex);
    const Inside inside;
    warn_about_other_copy();
    return body(l);
}

}  // namespace

void load_all(const char* directory) {
    auto ok = with_loader<void>([&](Loader& l) -> Result<void> {
        reload_settings();
        l.load_places(search_places(directory), /*only_scan=*/false);
        g_default_done.store(true, std::memory_order_release);
        return {};
    });
    if (!ok) report(ok.error());
}

void ensure_loaded() {
    if (g_default_done.load(std::memory_order_acquire) || t_inside) return;
    guard_void([] {
        return with_loader<void>([](Loader& l) -> Result<void> {
            if (g_default_done.load(std::memory_order_relaxed)) return {};
            reload_settings();
            if (setting_on("autoload")) l.load_places(search_places(nullptr), /*only_scan=*/false);
            g_default_done.store(true, std::memory_order_release);
            return {};
        });
    });
}

constinit const LoadFunction load_on_first_use = ensure_loaded;

Result<ggml_backend_reg_t> load_file(const char* path) {
    if (!path || !*path) return fail(TENON_E_INVALID, "plugin path is empty");
    if (path[0] != '/' && os::elevated()) {
        return fail(TENON_E_PERMISSION, "unsafe-dir: %s: relative path under elevated privileges",
                    path);
    }
    return with_loader<ggml_backend_reg_t>([&](Loader& l) {
        reload_settings();
        return l.load_one(absolute(path));
    });
}

Result<ggml_backend_reg_t> load_builtin(tenon_plugin_entry_fn entry) {
    if (!entry) return fail(TENON_E_INVALID, "entry function is NULL");
    return with_loader<ggml_backend_reg_t>([&](Loader& l) { return l.load_entry(entry); });
}

Result<void> unload(ggml_backend_reg_t reg) {
    return with_loader<void>([&](Loader& l) { return l.unload(reg); });
}

void scan(const char* directory) {
    auto ok = with_loader<void>([&](Loader& l) -> Result<void> {
        reload_settings();
        l.load_places(search_places(directory), /*only_scan=*/true);
        return {};
    });
    if (!ok) report(ok.error());
}

size_t report_count() { return loader().reports.count(); }
bool report_at(size_t index, Report* out) { return loader().reports.at(index, out); }

}  // namespace tenon
