// tenon.conf files, environment and application options in one table, each value with its origin.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace tenon {

// Value of a setting ("probe", "variant.cpu", "cuda.graphs"); its default, or NULL, when unset. The
// pointer stays valid until the process ends. Any thread.
const char* setting(const char* key);

// Whether a setting says 1, on, true or yes.
bool setting_on(const char* key);

// Whether a setting that is one of `words` is `word`. Another value is warned about and counts as
// the default.
bool setting_says(const char* key, std::initializer_list<const char*> words, const char* word);

// The non-empty items of a setting that is a comma list, without blanks around them.
std::vector<std::string> setting_list(const char* key);

// Sets an application option, which wins over everything; NULL takes it back.
Result<void> set_setting(const char* key, const char* value);

// Reads files and environment again; application options stay. A load begins with it.
void reload_settings();

struct Setting {
    std::string key, value, origin;
    bool known = true;  // false: nothing in the library reads such a key
};
struct SettingsFile {
    std::string path, state;  // ok, missing, unreadable, ignored
    uint32_t n_keys = 0;
};
std::vector<Setting> all_settings();  // in effect, sorted by key
std::vector<SettingsFile> settings_files();

// ---- for tests: the same from given sources -----------------------------------------------------

struct SettingsSources {
    std::string system_file, user_file;                            // "" = there is none
    std::vector<std::pair<std::string, std::string>> environment;  // empty when elevated
    bool elevated = false;
};

class SettingsTable {
public:
    explicit SettingsTable(const SettingsSources& sources);

    // NULL when unset and without default.
    const Setting* find(const std::string& key) const;
    void set_application(const std::string& key, const char* value);
    void take_application_from(SettingsTable& other) { application_.swap(other.application_); }
    std::vector<Setting> all() const;
    const std::vector<SettingsFile>& files() const { return files_; }

private:
    void read_file(const std::string& path, bool ignored);
    void read_line(const std::string& path, int number, const std::string& line,
                   SettingsFile* file);
    void read_environment(const std::vector<std::pair<std::string, std::string>>& environment);
    void add_disable_alias(const std::string& family, const std::string& origin);

    std::map<std::string, Setting> application_, environment_, file_, default_;
    std::vector<SettingsFile> files_;
};

}  // namespace tenon
