// Where plugins are looked for, in order, and the files that are there.

#include "loader/discovery.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/base/log.h"
#include "core/base/os.h"
#include "core/base/settings.h"
#include "core/base/text.h"
#include "loader/trust.h"

namespace tenon {
namespace {

constexpr const char* kPluginsConfigDir = TENON_SYSTEM_CONFIG_DIR "/plugins.d";

struct DirCloser {
    void operator()(DIR* dir) const {
        const os::NoCancel held_back;
        ::closedir(dir);
    }
};
using Dir = std::unique_ptr<DIR, DirCloser>;

// Names ending in `suffix`, in byte order; false with errno when the directory cannot be read.
bool list_names(const std::string& directory, const char* suffix, std::vector<std::string>* names) {
    const Dir dir(::opendir(directory.c_str()));
    if (!dir) return false;
    while (const dirent* entry = ::readdir(dir.get())) {
        const std::string name = entry->d_name;
        if (name.size() > std::strlen(suffix) && name.ends_with(suffix)) names->push_back(name);
    }
    std::sort(names->begin(), names->end());
    return true;
}

void read_directory(SearchPlace* place, bool asked_for) {
    std::vector<std::string> names;
    if (!list_names(place->path, ".so", &names)) {
        const int error = errno;
        struct stat st;
        const bool there = ::stat(place->path.c_str(), &st) == 0;
        const bool missing = !there && (error == ENOENT || error == ENOTDIR);
        place->state = missing ? "missing" : "unreadable";
        place->detail = missing                         ? "does not exist"
                        : there && !S_ISDIR(st.st_mode) ? "is not a directory"
                                                        : std::strerror(error);
        // Nobody asked for the places that are looked at by default.
        if (!missing || asked_for) {
            log_once(GGML_LOG_LEVEL_WARN, "%s: directory %s: %s", place->origin.c_str(),
                     place->path.c_str(), place->detail.c_str());
        }
        return;
    }
    place->state = "ok";
    const char* slash = place->path.ends_with('/') ? "" : "/";
    for (const std::string& name : names) place->files.push_back(place->path + slash + name);
}

// The search so far: no directory twice.
class Places {
public:
    void add_directory(std::string path, std::string origin, TrustPlace trust = {},
                       bool asked_for = true) {
        while (path.size() > 1 && path.ends_with('/')) path.pop_back();
        FileIdentity identity;
        if (identify(path, &identity)) {
            for (const FileIdentity& seen : seen_) {
                if (seen.same_file(identity)) return;
            }
            seen_.push_back(identity);
        }
        SearchPlace place{.path = std::move(path),
                          .origin = std::move(origin),
                          .state = {},
                          .detail = {},
                          .trust = trust,
                          .files = {}};
        read_directory(&place, asked_for);
        places_.push_back(std::move(place));
    }

    // A colon list; only absolute entries count.
    void add_list(const char* list, const char* origin) {
        for (const std::string& entry : split(list, ':')) {
            if (!entry.empty() && entry[0] == '/') {
                add_directory(entry, origin);
                continue;
            }
            log_once(GGML_LOG_LEVEL_WARN, "%s: entry '%s' skipped: not an absolute path", origin,
                     entry.c_str());
            add_skipped(entry, origin, "relative", "not an absolute path");
        }
    }

    void add_skipped(std::string path, std::string origin, const char* state, const char* why) {
        places_.push_back({.path = std::move(path),
                           .origin = std::move(origin),
                           .state = state,
                           .detail = why,
                           .trust = {},
                           .files = {}});
    }

    void add_file(const std::string& file, const char* origin) {
        if (file[0] != '/') {
            log_once(GGML_LOG_LEVEL_ERROR, "%s: '%s' skipped: not an absolute path", origin,
                     file.c_str());
            return add_skipped(file, origin, "relative", "not an absolute path");
        }
        SearchPlace place{.path = file,
                          .origin = origin,
                          .state = "ok",
                          .detail = {},
                          .is_file = true,
                          .by_name = true,
                          .trust = {},
                          .files = {file}};
        if (::access(file.c_str(), F_OK) != 0) {
            place.state = "missing";
            place.detail = std::strerror(errno);
        }
        places_.push_back(std::move(place));
    }

    std::vector<SearchPlace> take() { return std::move(places_); }

private:
    std::vector<SearchPlace> places_;
    std::vector<FileIdentity> seen_;
};

// Directories listed in plugins.d/*.conf: one absolute path per line, '#' comments.
void add_configured(Places* places) {
    std::vector<std::string> files;
    if (!list_names(kPluginsConfigDir, ".conf", &files)) return;
    for (const std::string& name : files) {
        const std::string path = std::string(kPluginsConfigDir) + "/" + name;
        TrustedFile trusted;
        const Check no = check_file(path, {.vouched = true}, process_trust_context(), &trusted);
        if (no) {
            log_once(GGML_LOG_LEVEL_WARN, "%s: skipped: %s: %s", path.c_str(), no->word,
                     no->text.c_str());
            places->add_skipped(path, path, "ignored", "others may write to it");
            continue;
        }
        const os::File file(os::open_file(trusted.path.c_str(), "r"));
        char line[4096];
        while (file && std::fgets(line, sizeof line, file.get())) {
            const std::string_view all(line);
            const std::string directory(trimmed(all.substr(0, all.find('#'))));
            if (directory.empty()) continue;
            if (directory[0] == '/') {
                places->add_directory(directory, path, {.vouched = true});
                continue;
            }
            log_once(GGML_LOG_LEVEL_WARN, "%s: entry '%s' skipped: not an absolute path",
                     path.c_str(), directory.c_str());
            places->add_skipped(directory, path, "relative", "not an absolute path");
        }
    }
}

void add_user_directory(Places* places, bool elevated) {
    if (!setting_on("user_plugins")) return;
    std::string data;
    const char* xdg = os::environment_unsafe("XDG_DATA_HOME");
    const char* home = os::environment_unsafe("HOME");
    for (const auto& [name, value] : {std::pair{"XDG_DATA_HOME", xdg}, std::pair{"HOME", home}}) {
        if (!value || !*value) continue;
        if (value[0] == '/') {
            data = value + std::string(value == home ? "/.local/share" : "");
            break;
        }
        log_once(GGML_LOG_LEVEL_WARN, "%s: '%s' skipped: not an absolute path", name, value);
        places->add_skipped(value, "user", "relative", "not an absolute path");
    }
    if (data.empty()) return;
    const std::string path = data + "/" TENON_PLUGIN_SUBDIR;
    if (elevated)
        places->add_skipped(path, "user", "ignored", "elevated privileges");
    else
        places->add_directory(path, "user", {}, /*asked_for=*/false);
}

void add_defaults(Places* places, bool elevated) {
    if (const char* more = setting("plugin_add_path"); more && *more) {
        places->add_list(more, "TENON_PLUGIN_ADD_PATH");
    }
    const std::string& library = os::library_path();
    if (const size_t slash = library.rfind('/'); slash != std::string::npos) {
        places->add_directory(library.substr(0, slash) + "/" TENON_PLUGIN_SUBDIR, "beside-library",
                              {.root_only = elevated, .vouched = true}, /*asked_for=*/false);
    }
    places->add_directory(TENON_PLUGIN_DIR, "built-in", {.vouched = true}, /*asked_for=*/false);
    add_configured(places);
    add_user_directory(places, elevated);
}

}  // namespace

std::string absolute(const std::string& path) {
    if (!path.empty() && path[0] == '/') return path;
    const std::unique_ptr<char, void (*)(void*)> here(::getcwd(nullptr, 0), std::free);
    if (!here) return path;
    return std::string(here.get()) + "/" + (path.starts_with("./") ? path.substr(2) : path);
}

std::vector<SearchPlace> search_places(const char* application_directory) {
    Places places;
    const bool elevated = os::elevated();
    if (application_directory) {
        if (!*application_directory) {
            places.add_skipped("", "application", "ignored", "the path is empty");
        } else if (elevated && application_directory[0] != '/') {
            places.add_skipped(application_directory, "application", "ignored",
                               "relative path under elevated privileges");
        } else {
            places.add_directory(absolute(application_directory), "application");
        }
    } else if (const char* only = setting("plugin_path"); only && *only) {
        places.add_list(only, "TENON_PLUGIN_PATH");
    } else {
        add_defaults(&places, elevated);
    }
    if (const char* file = os::environment("GGML_BACKEND_PATH"); file && *file) {
        places.add_file(file, "GGML_BACKEND_PATH");
    }
    return places.take();
}

}  // namespace tenon
