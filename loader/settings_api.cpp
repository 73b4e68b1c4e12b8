// The C functions about settings and the directories they lead to.

#include <mutex>
#include <vector>

#include "core/base/settings.h"
#include "core/base/text.h"
#include "loader/c_api.h"
#include "loader/discovery.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

// What the last count found.
struct Found {
    std::mutex mutex;
    std::vector<SearchPlace> places;
};

Found& found() {
    static auto* last = new Found;  // never destroyed: threads may still ask at exit
    return *last;
}

}  // namespace

extern "C" {

tenon_status tenon_setting_set(const char* key, const char* value) {
    return status_of_call([&] { return set_setting(key, value); });
}

const char* tenon_setting_value(const char* key) {
    return guard<const char*>(nullptr, [&] { return setting(key); });
}

size_t tenon_setting_count(void) {
    return guard<size_t>(0, [] { return all_settings().size(); });
}

bool tenon_setting_get(size_t index, tenon_setting* out) {
    return guard<bool>(false, [&] {
        const std::vector<Setting> all = all_settings();
        if (index >= all.size()) return false;
        const Setting& s = all[index];
        return write_record(out, {.struct_size = 0,
                                  .known = s.known,
                                  .key = keep(s.key),
                                  .value = keep(s.value),
                                  .origin = keep(s.origin)});
    });
}

bool tenon_settings_file_get(size_t index, tenon_settings_file* out) {
    return guard<bool>(false, [&] {
        const std::vector<SettingsFile> files = settings_files();
        if (index >= files.size()) return false;
        const SettingsFile& f = files[index];
        return write_record(
            out,
            {.struct_size = 0, .n_keys = f.n_keys, .path = keep(f.path), .state = keep(f.state)});
    });
}

size_t tenon_directory_count(void) {
    return guard<size_t>(0, [] {
        std::vector<SearchPlace> places = search_places(nullptr);
        const size_t n = places.size();
        const std::lock_guard lock(found().mutex);
        found().places = std::move(places);
        return n;
    });
}

bool tenon_directory_get(size_t index, tenon_directory* out) {
    return guard<bool>(false, [&] {
        const std::lock_guard lock(found().mutex);
        if (index >= found().places.size()) return false;
        const SearchPlace& p = found().places[index];
        return write_record(out, {.struct_size = 0,
                                  .n_files = static_cast<uint32_t>(p.files.size()),
                                  .path = keep(p.path),
                                  .origin = keep(p.origin),
                                  .state = keep(p.state),
                                  .detail = keep(p.detail)});
    });
}

}  // extern "C"
