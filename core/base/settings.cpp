// tenon.conf files, environment and application options in one table, each value with its origin.

#include "core/base/settings.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#include "core/base/log.h"
#include "core/base/os.h"
#include "core/base/text.h"

extern char** environ;

namespace tenon {
namespace {

enum Place : unsigned { kInFiles = 1, kInEnvironment = 2 };

// The settings the library itself reads. Application options may set any of them.
struct KnownSetting {
    const char* key;
    const char* variable;       // of the environment; NULL: none
    const char* default_value;  // NULL: none
    unsigned places;
};
constexpr KnownSetting kKnown[] = {
    {"abort_on_error", "TENON_ABORT_ON_ERROR", nullptr, kInEnvironment},
    {"allow_unsafe_plugins", "TENON_ALLOW_UNSAFE_PLUGINS", nullptr, kInEnvironment},
    {"autoload", "TENON_AUTOLOAD", "1", kInEnvironment},
    {"cache_dir", "TENON_CACHE_DIR", nullptr, kInFiles | kInEnvironment},
    {"cpu_features", "TENON_CPU_FEATURES", nullptr, kInEnvironment},
    {"devices", "TENON_DEVICES", nullptr, kInFiles | kInEnvironment},
    {"disable", "TENON_PLUGINS_DISABLE", nullptr, kInFiles | kInEnvironment},
    {"duplicates", "TENON_DUPLICATES", "hide", kInFiles | kInEnvironment},
    {"log", "TENON_LOG", nullptr, kInEnvironment},
    {"placement", "TENON_PLACEMENT", nullptr, kInEnvironment},
    {"plugin_add_path", "TENON_PLUGIN_ADD_PATH", nullptr, kInEnvironment},
    {"plugin_path", "TENON_PLUGIN_PATH", nullptr, kInEnvironment},
    {"probe", "TENON_PROBE", "auto", kInFiles | kInEnvironment},
    {"probe_timeout", "TENON_PROBE_TIMEOUT", "10", kInFiles | kInEnvironment},
    {"select", "TENON_PLUGINS_SELECT", nullptr, kInFiles | kInEnvironment},
    {"user_plugins", nullptr, "off", kInFiles},
};

// Variables of ggml that have a meaning here: another name for a plugin's option.
struct Alias {
    const char* variable;
    const char* key;
    const char* value;  // NULL: that of the variable
};
constexpr Alias kAliases[] = {
    {"GGML_VK_VISIBLE_DEVICES", "vulkan.visible_devices", nullptr},
    {"GGML_CPU_DISABLE_FUSION", "cpu.fusion", "off"},
    {"GGML_CUDA_DISABLE_GRAPHS", "cuda.graphs", "off"},
};
constexpr const char* kDisableVulkan = "GGML_DISABLE_VULKAN";

constexpr size_t kMaxLines = 4096;  // read of one file
constexpr std::string_view kPrefix = "TENON_", kVariantSuffix = "_VARIANT";

const KnownSetting* known_key(std::string_view key) {
    for (const KnownSetting& row : kKnown) {
        if (key == row.key) return &row;
    }
    return nullptr;
}

// Options of families ("cuda.graphs", "variant.cpu") belong to whatever plugin has the family.
bool is_family_key(std::string_view key) {
    const size_t dot = key.find('.');
    return dot != std::string_view::npos && dot > 0 && dot + 1 < key.size();
}

// "TENON_CUDA_GRAPHS" for "cuda.graphs", "TENON_CPU_VARIANT" for "variant.cpu".
std::string variable_of_family_key(std::string_view key) {
    std::string name(key);
    if (key.starts_with("variant.")) name = name.substr(8) + std::string(kVariantSuffix);
    for (char& c : name) {
        if (c == '.' || c == '-') c = '_';
    }
    return std::string(kPrefix) + upper(name);
}

// The most likely key behind a variable: the family is its first word.
std::string key_of_variable(std::string_view variable) {
    for (const KnownSetting& row : kKnown) {
        if (row.variable && variable == row.variable) return row.key;
    }
    std::string rest = lower(variable.substr(kPrefix.size()));
    const std::string suffix = lower(kVariantSuffix);
    if (rest.size() > suffix.size() && rest.ends_with(suffix)) {
        return "variant." + rest.substr(0, rest.size() - suffix.size());
    }
    const size_t underscore = rest.find('_');
    if (underscore == 0 || underscore == std::string::npos) return rest;
    return rest.substr(0, underscore) + "." + rest.substr(underscore + 1);
}

}  // namespace

SettingsTable::SettingsTable(const SettingsSources& sources) {
    for (const KnownSetting& row : kKnown) {
        if (row.default_value) default_[row.key] = {row.key, row.default_value, "default", true};
    }
    read_file(sources.system_file, /*ignored=*/false);
    read_file(sources.user_file, /*ignored=*/sources.elevated);
    if (!sources.elevated) read_environment(sources.environment);
}

void SettingsTable::read_file(const std::string& path, bool ignored) {
    if (path.empty()) return;
    SettingsFile file{.path = path, .state = ignored ? "ignored" : "ok"};
    if (!ignored) {
        const os::File handle(os::open_file(path.c_str(), "r"));
        if (!handle) file.state = errno == ENOENT || errno == ENOTDIR ? "missing" : "unreadable";
        char line[1024];
        for (size_t n = 1; handle && n <= kMaxLines && std::fgets(line, sizeof line, handle.get());
             ++n) {
            read_line(path, static_cast<int>(n), line, &file);
        }
    }
    files_.push_back(std::move(file));
}

void SettingsTable::read_line(const std::string& path, int number, const std::string& line,
                              SettingsFile* file) {
    const std::string content(trimmed(std::string_view(line).substr(0, line.find('#'))));
    if (content.empty()) return;
    const std::string origin = text("%s:%d", path.c_str(), number);
    const size_t equals = content.find('=');
    const std::string key(trimmed(std::string_view(content).substr(0, equals)));
    if (equals == std::string::npos || key.empty()) {
        log_once(GGML_LOG_LEVEL_WARN, "%s: expected 'key = value'", origin.c_str());
        return;
    }
    const KnownSetting* row = known_key(key);
    const bool known = row ? row->places & kInFiles : is_family_key(key);
    if (!known) {
        log_once(GGML_LOG_LEVEL_WARN, "%s: unknown key '%s'", origin.c_str(), key.c_str());
    }
    ++file->n_keys;
    file_[key] = {key, std::string(trimmed(std::string_view(content).substr(equals + 1))), origin,
                  known};
}

void SettingsTable::read_environment(
    const std::vector<std::pair<std::string, std::string>>& environment) {
    std::string disable_vulkan;
    for (const auto& [name, value] : environment) {
        for (const Alias& alias : kAliases) {
            if (name != alias.variable) continue;
            const std::string variable = variable_of_family_key(alias.key);
            environment_.try_emplace(
                variable, Setting{alias.key, alias.value ? alias.value : value, name, true});
        }
        if (name == kDisableVulkan) disable_vulkan = name;
        if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) continue;
        const std::string key = key_of_variable(name);
        const bool known = known_key(key) || is_family_key(key);
        if (!known) log_once(GGML_LOG_LEVEL_WARN, "unknown variable %s", name.c_str());
        environment_[name] = {key, value, name, known};
    }
    if (!disable_vulkan.empty()) add_disable_alias("vulkan", disable_vulkan);
}

// Disables one more family than the list in effect does.
void SettingsTable::add_disable_alias(const std::string& family, const std::string& origin) {
    Setting more{"disable", family, origin, true};
    if (const Setting* given = find("disable")) {
        more.value = given->value + "," + family;
        more.origin = given->origin + ", " + origin;
    }
    environment_["TENON_PLUGINS_DISABLE"] = more;
}

const Setting* SettingsTable::find(const std::string& key) const {
    const auto in = [](const std::map<std::string, Setting>& map, const std::string& name) {
        const auto it = map.find(name);
        return it == map.end() ? nullptr : &it->second;
    };
    if (const Setting* s = in(application_, key)) return s;
    const KnownSetting* row = known_key(key);
    const std::string variable = row ? std::string(row->variable ? row->variable : "")
                                 : is_family_key(key) ? variable_of_family_key(key)
                                                      : "";
    if (const Setting* s = in(environment_, variable)) return s;
    if (!row || row->places & kInFiles) {
        if (const Setting* s = in(file_, key)) return s;
    }
    return in(default_, key);
}

void SettingsTable::set_application(const std::string& key, const char* value) {
    if (!value) {
        application_.erase(key);
        return;
    }
    application_[key] = {key, value, "application", known_key(key) || is_family_key(key)};
}

std::vector<Setting> SettingsTable::all() const {
    std::set<std::string> keys;
    for (const auto* map : {&application_, &file_, &default_}) {
        for (const auto& [key, s] : *map) keys.insert(key);
    }
    std::vector<Setting> out;
    for (const auto& [variable, s] : environment_) {
        if (s.known)
            keys.insert(s.key);
        else
            out.push_back(s);
    }
    for (const std::string& key : keys) {
        if (const Setting* s = find(key))
            out.push_back(*s);
        else
            out.push_back(file_.at(key));  // in a file, where this key has no effect
    }
    std::sort(out.begin(), out.end(),
              [](const Setting& a, const Setting& b) { return a.key < b.key; });
    return out;
}

// ---- of this process ----------------------------------------------------------------------------

namespace {

SettingsSources process_sources() {
    SettingsSources sources;
    sources.elevated = os::elevated();
    sources.system_file = TENON_SYSTEM_CONFIG_DIR "/tenon.conf";
    const char* config = os::environment_unsafe("XDG_CONFIG_HOME");
    const char* home = os::environment_unsafe("HOME");
    // What is not absolute is no place at all: it would depend on the working directory.
    const auto is_absolute = [](const char* name, const char* value) {
        if (!value || !*value || value[0] == '/') return value && *value;
        log_once(GGML_LOG_LEVEL_WARN, "%s: '%s' skipped: not an absolute path", name, value);
        return false;
    };
    if (is_absolute("XDG_CONFIG_HOME", config))
        sources.user_file = std::string(config) + "/tenon/tenon.conf";
    else if (is_absolute("HOME", home))
        sources.user_file = std::string(home) + "/.config/tenon/tenon.conf";
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view line(*entry);
        const size_t equals = line.find('=');
        if (equals == std::string_view::npos) continue;
        sources.environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    return sources;
}

// Made on first use and never destroyed, so that plugins may ask during exit.
struct ProcessSettings {
    std::mutex mutex;
    std::unique_ptr<SettingsTable> table;
    SettingsTable& get() {
        if (!table) table = std::make_unique<SettingsTable>(process_sources());
        return *table;
    }
};
ProcessSettings& process() {
    static auto* settings = new ProcessSettings;
    return *settings;
}

}  // namespace

const char* setting(const char* key) {
    if (!key) return nullptr;
    ProcessSettings& p = process();
    const std::lock_guard lock(p.mutex);
    const Setting* s = p.get().find(key);
    return s ? keep(s->value) : nullptr;
}

bool setting_on(const char* key) {
    const char* value = setting(key);
    if (!value) return false;
    const std::string word = lower(value);
    for (const char* yes : {"1", "on", "true", "yes"}) {
        if (word == yes) return true;
    }
    for (const char* no : {"0", "off", "false", "no"}) {
        if (word == no) return false;
    }
    // Neither: the default, said aloud.
    const KnownSetting* row = known_key(key);
    const bool otherwise = row && row->default_value && std::string_view(row->default_value) == "1";
    log_once(GGML_LOG_LEVEL_WARN, "setting '%s' is '%s', expected 1 or 0; %s is used", key, value,
             otherwise ? "1" : "0");
    return otherwise;
}

bool setting_says(const char* key, std::initializer_list<const char*> words, const char* word) {
    const char* value = setting(key);
    const KnownSetting* row = known_key(key);
    const char* otherwise = row && row->default_value ? row->default_value : "";
    if (!value) value = otherwise;
    std::string valid;
    for (const char* one : words) {
        if (lower(value) == one) return std::string_view(one) == word;
        valid += std::string(valid.empty() ? "" : ", ") + one;
    }
    log_once(GGML_LOG_LEVEL_WARN, "setting '%s' is '%s'; valid: %s; %s is used", key, value,
             valid.c_str(), otherwise);
    return std::string_view(otherwise) == word;
}

std::vector<std::string> setting_list(const char* key) {
    std::vector<std::string> items;
    const char* value = setting(key);
    for (const std::string& item : split(value ? value : "", ',')) {
        if (!trimmed(item).empty()) items.emplace_back(trimmed(item));
    }
    return items;
}

Result<void> set_setting(const char* key, const char* value) {
    if (!key || !*key) return fail(TENON_E_INVALID, "setting without a name");
    if (!known_key(key) && !is_family_key(key)) {
        return fail(TENON_E_NOT_FOUND, "unknown setting '%s'", key);
    }
    ProcessSettings& p = process();
    const std::lock_guard lock(p.mutex);
    p.get().set_application(key, value);
    return {};
}

void reload_settings() {
    auto fresh = std::make_unique<SettingsTable>(process_sources());
    ProcessSettings& p = process();
    const std::lock_guard lock(p.mutex);
    if (p.table) fresh->take_application_from(*p.table);
    p.table = std::move(fresh);
}

std::vector<Setting> all_settings() {
    ProcessSettings& p = process();
    const std::lock_guard lock(p.mutex);
    return p.get().all();
}

std::vector<SettingsFile> settings_files() {
    ProcessSettings& p = process();
    const std::lock_guard lock(p.mutex);
    return p.get().files();
}

}  // namespace tenon
