// rt-info: every plugin file with its state, and the whole record of one.

#include <algorithm>
#include <iterator>
#include <map>

#include "tools/rt_info/info.h"

namespace tenon::rt_info {
namespace {

std::string or_dash(const std::string& s) { return s.empty() ? "-" : s; }

std::string plural(size_t n, const char* one) {
    return cli::format("%zu %s%s", n, one, n == 1 ? "" : "s");
}

bool is_default_place(const Plugin& p) {
    return p.origin == "beside-library" || p.origin == "built-in";
}

std::string reason_text(const Plugin& p) {
    if (p.state != "loaded" && p.state != "loaded-idle") return or_dash(p.message);
    const auto hidden =
        static_cast<size_t>(std::count_if(p.devices.begin(), p.devices.end(),
                                          [](const PluginDevice& d) { return !d.hidden.empty(); }));
    const std::string note = hidden ? cli::format(" (%zu hidden)", hidden) : "";
    return cli::format("%s%s, %.0f ms", p.message.c_str(), note.c_str(), p.load_ms);
}

cli::Color color_of(const Plugin& p, const World& world) {
    if (p.state == "loaded") return cli::Color::kGreen;
    return is_failure(p, world) ? cli::Color::kRed : cli::Color::kDim;
}

// Variants that were not chosen and doubles, one line per family.
void print_collapsed(const World& world, std::FILE* out) {
    std::map<std::string, std::vector<std::string>> variants, doubles;
    for (const Plugin& p : world.plugins) {
        if (p.state == "variant-not-chosen") variants[p.family].push_back(p.variant);
        if (p.state == "shadowed") doubles[p.family].push_back(p.name);
    }
    for (const auto& [family, names] : variants) {
        std::fprintf(out, "%zu other %s variant%s: %s\n", names.size(),
                     cli::printable(family).c_str(), names.size() == 1 ? "" : "s",
                     cli::printable(cli::joined(names)).c_str());
    }
    for (const auto& [family, names] : doubles) {
        std::fprintf(out, "%s of family %s found earlier: %s\n",
                     plural(names.size(), "file").c_str(), cli::printable(family).c_str(),
                     cli::printable(cli::joined(names)).c_str());
    }
}

void print_directories(const World& world, std::FILE* out) {
    std::string all;
    for (const Directory& d : world.directories) {
        const bool plain = d.origin == "beside-library" || d.origin == "built-in";
        const std::string state = d.state == "ok"        ? plural(d.n_files, "file")
                                  : d.state == "missing" ? "does not exist"
                                                         : d.state + ": " + d.detail;
        all += (all.empty() ? "" : ", ") + d.path + " (" + state +
               (plain ? "" : ", from " + d.origin) + ")";
    }
    std::fprintf(out, "\ndirectories: %s\n", all.empty() ? "none" : cli::printable(all).c_str());
}

bool has_device(const Plugin& p, const World& world, const std::string& name) {
    return std::any_of(world.devices.begin(), world.devices.end(), [&](const Device& d) {
        if (d.file != p.file) return false;
        return cli::glob_match(name, d.name) || (!d.pci.empty() && cli::glob_match(name, d.pci));
    });
}

bool is_meant(const Plugin& p, const World& world, const std::string& name) {
    for (const std::string* s : {&p.family, &p.variant, &p.id, &p.name, &p.file}) {
        if (!s->empty() && cli::glob_match(name, *s)) return true;
    }
    return has_device(p, world, name);
}

bool needs_explaining(const Plugin& p) {
    const bool refused = std::any_of(p.devices.begin(), p.devices.end(), [](const PluginDevice& d) {
        return !d.refused.empty() || !d.hidden.empty();
    });
    return refused || (p.state != "loaded" && p.state != "candidate" &&
                       p.state != "variant-not-chosen" && p.state != "shadowed");
}

const char* outcome_word(uint32_t outcome) {
    switch (outcome) {
        case TENON_STEP_OK:
            return "ok";
        case TENON_STEP_FAILED:
            return "NO";
        default:
            return "--";
    }
}

void print_steps(const Plugin& p, std::FILE* out) {
    for (const Step& s : p.steps) {
        const bool reached = s.outcome != TENON_STEP_NOT_REACHED;
        const std::string detail = !reached                         ? "not reached"
                                   : s.outcome == TENON_STEP_FAILED ? p.state + ": " + s.detail
                                                                    : s.detail;
        std::string text =
            cli::format("%3u %-15s %s", s.number, s.name.c_str(), outcome_word(s.outcome));
        if (!detail.empty()) text += "    " + detail;
        std::fprintf(out, "%s\n", cli::printable(text).c_str());
        if (!reached) break;
    }
}

void print_record(const Plugin& p, std::FILE* out) {
    const std::string name = is_default_place(p) ? p.name : or_dash(p.file);
    std::fprintf(out, "%-75s %s\n", cli::printable(name).c_str(), p.state.c_str());
    print_steps(p, out);
    for (const PluginDevice& d : p.devices) {
        if (!d.refused.empty()) {
            std::fprintf(out, " device %-12s bad-device: %s\n",
                         cli::printable(or_dash(d.name)).c_str(),
                         cli::printable(d.refused).c_str());
        } else if (!d.hidden.empty()) {
            std::fprintf(out, " device %-12s hidden: %s\n", cli::printable(d.name).c_str(),
                         cli::printable(d.hidden).c_str());
        }
    }
    const std::string help = what_helps(p.state);
    if (!help.empty()) std::fprintf(out, " what helps         %s\n", help.c_str());
}

std::vector<std::string> explainable_names(const World& world) {
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
        if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
    };
    for (const Plugin& p : world.plugins) {
        add(p.family);
        add(p.variant);
        add(p.name);
    }
    for (const Device& d : world.devices) add(d.name);
    return names;
}

}  // namespace

void print_plugins(const World& world, const Options& options, std::FILE* out) {
    cli::Table table;
    for (const char* title : {"STATE", "FAMILY", "VARIANT", "VERSION", "ABI", "FILE", "REASON"}) {
        table.add_column(title);
    }
    for (const Plugin& p : world.plugins) {
        const bool collapsed = p.state == "variant-not-chosen" || p.state == "shadowed";
        if (collapsed && !options.all) continue;
        const std::string state = p.state == "loading" ? "loading…" : p.state;
        table.add_row({{state, color_of(p, world)},
                       or_dash(p.family),
                       or_dash(p.variant),
                       or_dash(p.version),
                       or_dash(p.abi_built),
                       is_default_place(p) || p.file.empty() ? p.name : p.file,
                       reason_text(p)});
    }
    if (table.empty())
        std::fputs("no plugin file found\n", out);
    else
        table.print(out, options.terminal);
    if (!options.all) print_collapsed(world, out);
    print_directories(world, out);
}

void check_explained_name(const World& world, const std::string& name) {
    const bool known =
        name.empty() || std::any_of(world.plugins.begin(), world.plugins.end(),
                                    [&](const Plugin& p) { return is_meant(p, world, name); });
    if (!known) throw cli::unknown_name("plugin, family or device", name, explainable_names(world));
}

void print_explanation(const World& world, const std::string& name, std::FILE* out) {
    bool any = false;
    for (const Plugin& p : world.plugins) {
        if (name.empty() ? !needs_explaining(p) : !is_meant(p, world, name)) continue;
        if (any) std::fputc('\n', out);
        any = true;
        print_record(p, out);
    }
    if (any) return;
    std::fputs(world.plugins.empty() ? "no plugin file was found (rt-info --paths)\n"
                                     : "everything found is in use\n",
               out);
}

}  // namespace tenon::rt_info
