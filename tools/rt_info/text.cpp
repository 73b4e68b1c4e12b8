// rt-info: devices as tables, lists and blocks, and the versions.

#include <algorithm>
#include <map>

#include "tools/rt_info/info.h"

namespace tenon::rt_info {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr uint64_t kMiB = 1024 * 1024;

// "138.2/139.8 GiB", "~1.0/2.0 GiB" when the free value is an estimate, "(shared) 58.0 GiB".
std::string memory_text(const Device& d) {
    if (d.memory_total == 0) return "-";
    const double total = static_cast<double>(d.memory_total) / kGiB;
    if (d.shared_with_host && d.kind != "cpu") return cli::format("(shared) %.0f GiB", total);
    if (!d.has_memory) return cli::format("-/%.1f GiB", total);
    return cli::format("%s%.1f/%.1f GiB", d.free_is_estimate ? "~" : "",
                       static_cast<double>(d.memory_free) / kGiB, total);
}

std::string or_dash(const std::string& s) { return s.empty() ? "-" : s; }

std::string words(const std::vector<std::string>& list) {
    std::string all;
    for (const std::string& word : list) all += (all.empty() ? "" : " ") + word;
    return all;
}

std::string words(const Pairs& pairs) {
    std::string all;
    for (const auto& [key, value] : pairs) all += (all.empty() ? "" : "  ") + key + "=" + value;
    return all;
}

void line(std::FILE* out, const char* key, const std::string& value) {
    if (value.empty()) return;
    std::fprintf(out, "  %-18s %s\n", key, cli::printable(value).c_str());
}

std::string plural(size_t n, const char* one) {
    return cli::format("%zu %s%s", n, one, n == 1 ? "" : "s");
}

std::string buffer_types_text(const Device& d) {
    std::string all;
    for (const BufferType& t : d.buffer_types) {
        std::string flags = words(t.flags);
        if (!flags.empty()) flags += ", ";
        const std::string max =
            t.max_size == UINT64_MAX ? "" : ", max " + cli::bytes_text(t.max_size);
        all +=
            cli::format("%s%s (%salign %llu%s)", all.empty() ? "" : "   ", t.name.c_str(),
                        flags.c_str(), static_cast<unsigned long long>(t.alignment), max.c_str());
    }
    return all.empty() ? "CPU (the library's host memory)" : all;
}

std::string identity_text(const Device& d) {
    if (d.pci.empty() && d.uuid.empty() && d.luid.empty()) return "";
    std::string all;
    if (!d.pci.empty()) all += "pci " + d.pci + " (" + d.pci_id + ")   ";
    if (!d.uuid.empty()) all += "uuid " + d.uuid + "   ";
    if (!d.luid.empty()) all += "luid " + d.luid + "   ";
    return all + "partition " + or_dash(d.partition);
}

// Of the CPU: what it may use and what it may not, and the variants that stood to choice.
void print_cpu_lines(const World& world, const Device& device, std::FILE* out) {
    line(out, "cpu features", tenon_cpu_features());
    const char *name = nullptr, *reason = nullptr;
    for (size_t i = 0; tenon_cpu_masked_feature(i, &name, &reason); ++i) {
        line(out, i == 0 ? "masked" : "", std::string(name) + ": processor has it, " + reason);
    }
    std::string variants;
    for (const Plugin& p : world.plugins) {
        if (p.family != device.family) continue;
        if (!variants.empty()) variants += " · ";
        variants += cli::format("%s (rank %u) %s", p.variant.c_str(), p.rank,
                                p.state == "loaded"               ? "in use"
                                : p.state == "variant-not-chosen" ? "usable"
                                                                  : p.state.c_str());
    }
    line(out, "variants", variants);
}

void print_device(const World& world, const Device& d, std::FILE* out) {
    std::fprintf(out, "%s%s\n", cli::printable(d.name).c_str(),
                 d.hidden.empty() ? "" : cli::printable("   hidden: " + d.hidden).c_str());
    line(out, "description", d.description);
    line(out, "kind", d.kind);
    line(out, "plugin", d.plugin_label + "  " + d.plugin_id + "  (" + d.file + ")");
    line(out, "driver", or_dash(d.driver));
    line(out, "identity", identity_text(d));
    if (d.numa_node >= 0) line(out, "numa node", cli::format("%d", d.numa_node));
    line(out, "memory", memory_text(d) + (d.has_memory ? " free" : ""));
    line(out, "capabilities", or_dash(words(d.capabilities)));
    line(out, "not available", words(d.missing_capabilities));
    line(out, "buffer types", buffer_types_text(d));
    line(out, "extensions", or_dash(words(d.extensions)));
    line(out, "attributes", words(d.attributes));
    line(out, "features", words(d.features));
    if (d.has_ops) {
        line(out, "ops",
             cli::format("%zu of %zu ops at least in part, %zu completely        "
                         "(rt-info --ops --device %s)",
                         d.ops.any, d.ops.total, d.ops.complete, d.name.c_str()));
    }
    if (d.kind == "cpu") print_cpu_lines(world, d, out);
}

// What was lost, at most one line per class, each with the command that tells more.
void print_foot(const World& world, const Options& options, std::FILE* out) {
    std::vector<std::string> lines;
    const auto hidden =
        static_cast<size_t>(std::count_if(world.devices.begin(), world.devices.end(),
                                          [](const Device& d) { return !d.hidden.empty(); }));
    if (hidden && !options.all)
        lines.push_back(plural(hidden, "device") + " hidden (rt-info --all)");

    std::vector<const Plugin*> failed;
    size_t unsafe = 0, refused = 0;
    for (const Plugin& p : world.plugins) {
        if (is_failure(p, world)) failed.push_back(&p);
        unsafe += p.state.starts_with("unsafe-");
        refused += static_cast<size_t>(
            std::count_if(p.devices.begin(), p.devices.end(),
                          [](const PluginDevice& d) { return !d.refused.empty(); }));
    }
    if (failed.size() == 1) {
        const std::string name = failed[0]->family.empty() ? failed[0]->name : failed[0]->family;
        lines.push_back("1 plugin failed: " + name + ", " + failed[0]->state +
                        " (rt-info --explain " + name + ")");
    } else if (!failed.empty()) {
        std::string names;
        for (const Plugin* p : failed) {
            names += (names.empty() ? "" : ", ") + (p->family.empty() ? p->name : p->family) + " " +
                     p->state;
        }
        lines.push_back(plural(failed.size(), "plugin") + " failed: " + names +
                        " (rt-info --explain)");
    }
    if (refused) lines.push_back(plural(refused, "device") + " refused (rt-info --explain)");
    if (unsafe) lines.push_back(plural(unsafe, "file") + " not trusted (rt-info --plugins)");
    if (world.elevated && !world.environment.empty()) {
        lines.push_back("elevated privileges: environment variables are ignored (rt-info --paths)");
    }
    if (!lines.empty()) std::fputc('\n', out);
    for (const std::string& text : lines) std::fprintf(out, "%s\n", cli::printable(text).c_str());
}

void print_search(const World& world, std::FILE* out) {
    if (!world.devices.empty()) {
        std::fputs("no usable device: every device is hidden (rt-info --all says why)\n", out);
        return;
    }
    std::fputs("no usable device: there is no plugin that could run anything\n\n", out);
    std::fputs(world.directories.empty() ? "plugins were looked for nowhere\n"
                                         : "plugins were looked for in\n",
               out);
    for (const Directory& d : world.directories) {
        const std::string state = d.state == "ok"        ? plural(d.n_files, "file")
                                  : d.state == "missing" ? "does not exist"
                                                         : d.state + ": " + d.detail;
        std::fprintf(out, "  %s   (%s)   %s\n", cli::printable(d.path).c_str(), d.origin.c_str(),
                     cli::printable(state).c_str());
    }
}

}  // namespace

void print_devices(const World& world, const Options& options, std::FILE* out) {
    const auto is_shown = [&](const Device& d) { return d.hidden.empty() || options.all; };
    if (std::none_of(world.devices.begin(), world.devices.end(), is_shown)) {
        print_search(world, out);
        print_foot(world, options, out);
        return;
    }
    if (options.verbose > 0) {
        bool first = true;
        for (const Device& d : world.devices) {
            if (!is_shown(d)) continue;
            if (!first) std::fputc('\n', out);
            first = false;
            print_device(world, d, out);
        }
        print_foot(world, options, out);
        return;
    }
    cli::Table table;
    for (const char* title : {"NAME", "KIND", "DEVICE", "MEMORY", "DRIVER", "PLUGIN"})
        table.add_column(title);
    if (options.all) table.add_column("NOTE");
    for (const Device& d : world.devices) {
        if (!is_shown(d)) continue;
        std::vector<cli::Cell> cells = {d.name,
                                        d.kind,
                                        or_dash(d.description),
                                        memory_text(d),
                                        or_dash(d.kind == "cpu" ? d.variant : d.driver),
                                        d.plugin_label};
        if (options.all) cells.emplace_back(d.hidden.empty() ? "" : "hidden: " + d.hidden);
        table.add_row(std::move(cells));
    }
    table.print(out, options.terminal);
    print_foot(world, options, out);
}

void print_list(const World& world, std::FILE* out) {
    for (const Device& d : world.devices) {
        if (!d.hidden.empty()) continue;
        std::fprintf(out, "%s: %s (%llu MiB, %llu MiB free)\n", cli::printable(d.name).c_str(),
                     cli::printable(d.description).c_str(),
                     static_cast<unsigned long long>(d.memory_total / kMiB),
                     static_cast<unsigned long long>(d.memory_free / kMiB));
    }
}

void print_version(std::FILE* out) {
    std::fprintf(out, "rt-info      %s\n", tenon_version());
    std::fprintf(out, "library      %s\n", tenon_version());
    std::fprintf(out, "ggml API     %s\n", ggml_version());
    std::fprintf(out, "plugin ABI   %d.%d\n", TENON_ABI_MAJOR, TENON_ABI_MINOR);
}

}  // namespace tenon::rt_info
