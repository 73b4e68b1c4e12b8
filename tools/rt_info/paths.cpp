// rt-info: where plugins and settings were looked for.

#include <algorithm>

#include "tools/rt_info/info.h"

namespace tenon::rt_info {
namespace {

constexpr const char* kIndent = "               ";

// Variables the library knows, to compare misspelt ones with.
const std::vector<std::string>& known_variables() {
    static const std::vector<std::string> names = {"TENON_PLUGINS_DISABLE",
                                                   "TENON_PLUGINS_SELECT",
                                                   "TENON_PROBE",
                                                   "TENON_PROBE_TIMEOUT",
                                                   "TENON_DUPLICATES",
                                                   "TENON_DEVICES",
                                                   "TENON_LOG",
                                                   "TENON_CACHE_DIR",
                                                   "TENON_AUTOLOAD",
                                                   "TENON_PLACEMENT",
                                                   "TENON_ABORT_ON_ERROR",
                                                   "TENON_PLUGIN_PATH",
                                                   "TENON_PLUGIN_ADD_PATH",
                                                   "TENON_ALLOW_UNSAFE_PLUGINS",
                                                   "TENON_CPU_FEATURES",
                                                   "TENON_CPU_VARIANT"};
    return names;
}

// "cuda.graphs" and "variant.cuda" mean something only when some plugin has the family.
bool family_exists(const World& world, const std::string& key) {
    const size_t dot = key.find('.');
    if (dot == std::string::npos) return true;
    const std::string family = key.starts_with("variant.") ? key.substr(8) : key.substr(0, dot);
    return std::any_of(world.plugins.begin(), world.plugins.end(),
                       [&](const Plugin& p) { return cli::glob_match(family, p.family); });
}

std::string doubt(const World& world, const SettingRow& s) {
    if (s.known && family_exists(world, s.key)) return "";
    if (!s.origin.starts_with("TENON_")) return "   unknown key";
    const std::string near = cli::nearest(s.origin, known_variables());
    if (!s.known || !near.empty()) {
        return "   unknown variable" + (near.empty() ? "" : ", nearest is " + near);
    }
    return "   no plugin of that family";
}

void print_settings(const World& world, std::FILE* out) {
    std::string files;
    for (const SettingsFile& f : world.settings_files) {
        const std::string state = f.state == "ok"
                                      ? cli::format("%u key%s", f.n_keys, f.n_keys == 1 ? "" : "s")
                                  : f.state == "missing" ? "not present"
                                                         : f.state;
        files += (files.empty() ? "" : ", ") + f.path + " (" + state + ")";
    }
    std::fprintf(out, "%-14s %s\n", "settings",
                 cli::printable(files.empty() ? "no files" : files).c_str());
    for (const SettingRow& s : world.settings) {
        const std::string from = s.origin == "default" ? "default" : "from " + s.origin;
        const std::string text =
            cli::format("%-22s = %-12s %s", s.key.c_str(), s.value.c_str(), from.c_str());
        std::fprintf(out, "%s%s\n", kIndent, cli::printable(text + doubt(world, s)).c_str());
    }
}

void print_environment(const World& world, std::FILE* out) {
    const char* title = "environment";
    for (const auto& [name, value] : world.environment) {
        const char* note = name == "GGML_DISABLE_VULKAN" ? " (as TENON_PLUGINS_DISABLE=vulkan)"
                           : name.starts_with("GGML_")   ? " (understood)"
                                                         : " (acts inside the vendor's runtime)";
        std::fprintf(
            out, "%-14s %s\n", title,
            cli::printable(name + "=" + value + (world.elevated ? " (ignored)" : note)).c_str());
        title = "";
    }
}

void print_directories(const World& world, std::FILE* out) {
    size_t widest = 0, n = 0;
    for (const Directory& d : world.directories)
        widest = std::max(widest, cli::display_width(d.path));
    if (world.directories.empty()) std::fprintf(out, "%-14s none\n", "directories");
    for (const Directory& d : world.directories) {
        const std::string path = cli::printable(d.path);
        const std::string pad(widest - std::min(widest, cli::display_width(path)), ' ');
        const std::string state =
            d.state == "ok"        ? cli::format("%u file%s", d.n_files, d.n_files == 1 ? "" : "s")
            : d.state == "missing" ? "does not exist"
                                   : d.state + ": " + d.detail;
        std::fprintf(out, "%-14s %zu %s%s   %-22s %s\n", n == 0 ? "directories" : "", n + 1,
                     path.c_str(), pad.c_str(), cli::printable(d.origin).c_str(),
                     cli::printable(state).c_str());
        ++n;
    }
}

}  // namespace

void print_paths(const World& world, std::FILE* out) {
    std::fprintf(out, "%-14s %s   (%s, ggml API %s, plugin ABI %d.%d)\n", "library",
                 cli::printable(world.library_path).c_str(), tenon_version(), ggml_version(),
                 TENON_ABI_MAJOR, TENON_ABI_MINOR);
    std::fprintf(out, "%-14s %s\n", "elevated",
                 world.elevated ? "yes: the environment is ignored" : "no");
    print_settings(world, out);
    print_environment(world, out);
    print_directories(world, out);
    if (!world.other_copy.empty()) {
        std::fprintf(out, "%-14s %s also defines ggml's functions in this process\n",
                     "other copies", cli::printable(world.other_copy).c_str());
    }
}

}  // namespace tenon::rt_info
