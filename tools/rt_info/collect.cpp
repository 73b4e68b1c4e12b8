// rt-info: everything there is to know, put into plain structs.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "tenon/ext/cost.h"
#include "tenon/ext/fault.h"
#include "tenon/ext/features.h"
#include "tenon/ext/host_memory.h"
#include "tenon/ext/proc.h"
#include "tenon/ext/profile.h"
#include "tools/rt_info/info.h"

namespace tenon::rt_info {
namespace {

struct Word {
    uint64_t bit;
    const char* name;
};
constexpr Word kCapabilities[] = {
    {TENON_CAP_ASYNC, "async"},
    {TENON_CAP_EVENTS, "events"},
    {TENON_CAP_PINNED_HOST, "pinned-host"},
    {TENON_CAP_WRAP_HOST_PTR, "wrap-host-ptr"},
    {TENON_CAP_MMAP_FRIENDLY, "mmap-friendly"},
    {TENON_CAP_READS_HOST, "reads-host"},
    {TENON_CAP_UNIFIED_MEMORY, "unified-memory"},
    {TENON_CAP_HOST_THREADS, "host-threads"},
    {TENON_CAP_SOFTWARE, "software"},
    {TENON_CAP_PEER_COPY, "peer-copy"},
};
constexpr Word kBufferFlags[] = {
    {TENON_BUFT_HOST, "host"},     {TENON_BUFT_HOST_LAYOUT, "host-layout"},
    {TENON_BUFT_DEVICE, "device"}, {TENON_BUFT_PINNED, "pinned"},
    {TENON_BUFT_REPACK, "repack"}, {TENON_BUFT_DEFAULT, "default"},
};
constexpr const char* kExtensions[] = {
    TENON_EXT_PROFILE,  TENON_EXT_COST,  TENON_EXT_HOST_MEMORY,
    TENON_EXT_FEATURES, TENON_EXT_FAULT, TENON_EXT_PROC,
};
// Variables that other software reads and that change what is found.
constexpr const char* kForeignVariables[] = {
    "CUDA_VISIBLE_DEVICES",     "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
    "GGML_VK_VISIBLE_DEVICES",  "GGML_DISABLE_VULKAN",  "GGML_BACKEND_PATH",
    "GGML_CUDA_DISABLE_GRAPHS",
};
// What the library says of a state; FAULT for a word it does not know.
tenon_plugin_state state_of(const std::string& word) {
    tenon_plugin_state state{};
    state.struct_size = sizeof state;
    for (size_t i = 0; tenon_plugin_state_get(i, &state); ++i) {
        if (word == state.word) return state;
    }
    return {sizeof state, 0, TENON_STATE_FAULT, 0, TENON_E_INVALID, 0, "", ""};
}

const char* kind_name(uint32_t kind) {
    constexpr const char* kNames[] = {"cpu", "gpu", "igpu", "accel"};
    return kind < std::size(kNames) ? kNames[kind] : "accel";
}

std::string hex_text(const uint8_t* bytes, size_t n, bool uuid_dashes) {
    std::string text;
    for (size_t i = 0; i < n; ++i) {
        if (uuid_dashes && (i == 4 || i == 6 || i == 8 || i == 10)) text += '-';
        text += cli::format("%02x", bytes[i]);
    }
    return text;
}

void fill_identity(const tenon_device_identity& id, Device* device) {
    if (id.valid & TENON_ID_PCI) {
        device->pci = cli::format("%04x:%02x:%02x.%x", id.pci_domain, id.pci_bus, id.pci_device,
                                  id.pci_function);
        device->pci_id = cli::format("%04x:%04x", id.pci_vendor, id.pci_product);
    }
    if (id.valid & TENON_ID_UUID) device->uuid = hex_text(id.uuid, sizeof id.uuid, true);
    if (id.valid & TENON_ID_LUID) device->luid = hex_text(id.luid, sizeof id.luid, false);
    if (id.valid & TENON_ID_PARTITION) {
        device->partition.assign(id.partition, strnlen(id.partition, sizeof id.partition));
    }
}

void fill_memory(Device* device, uint64_t total) {
    tenon_memory_info memory{};
    memory.struct_size = sizeof memory;
    device->memory_total = total;
    if (tenon_device_memory(device->handle, &memory) != TENON_OK || memory.total == 0) return;
    device->has_memory = true;
    device->memory_total = memory.total;
    device->memory_free = memory.free;
    device->free_is_estimate = memory.flags & 1u;
    device->shared_with_host = memory.flags & 2u;
}

void fill_features(Device* device) {
    auto* get = reinterpret_cast<ggml_backend_get_features_t>(ggml_backend_reg_get_proc_address(
        ggml_backend_dev_backend_reg(device->handle), "ggml_backend_get_features"));
    if (!get) return;
    for (auto* f = get(ggml_backend_dev_backend_reg(device->handle)); f && f->name; ++f) {
        device->features.emplace_back(f->name, f->value ? f->value : "");
    }
}

Device device_of(const tenon_plugin_device& record, const Plugin& plugin) {
    Device device;
    device.handle = record.device;
    device.index = record.index;
    device.hidden = record.hidden;
    device.family = plugin.family;
    device.file = plugin.file;
    device.variant = plugin.variant;
    device.plugin_id = plugin.id;
    device.plugin_label =
        plugin.family + (plugin.family == "cpu" ? "-" + plugin.variant : "") + " " + plugin.version;
    tenon_device_info info{};
    info.struct_size = sizeof info;
    if (tenon_device_describe(device.handle, &info) != TENON_OK) return device;
    const auto text = [](const char* s) { return std::string(s ? s : ""); };
    device.name = text(info.name);
    device.kind = kind_name(info.kind);
    device.description = text(info.description);
    device.driver = text(info.driver);
    device.numa_node = info.numa_node;
    device.preference = info.preference;
    fill_identity(info.identity, &device);
    fill_memory(&device, info.memory_total);
    for (const Word& word : kCapabilities) {
        (info.caps & word.bit ? device.capabilities : device.missing_capabilities)
            .push_back(word.name);
    }
    for (uint32_t i = 0; i < info.n_attributes; ++i) {
        device.attributes.emplace_back(text(info.attributes[i].key),
                                       text(info.attributes[i].value));
    }
    for (const char* id : kExtensions) {
        if (tenon_device_has_extension(device.handle, id)) device.extensions.push_back(id);
    }
    tenon_buft_info buft{};
    buft.struct_size = sizeof buft;
    for (size_t i = 0; tenon_device_buffer_type(device.handle, i, &buft); ++i) {
        BufferType type{text(buft.name), {}, buft.alignment, buft.max_size};
        for (const Word& word : kBufferFlags) {
            if (buft.flags & word.bit) type.flags.push_back(word.name);
        }
        device.buffer_types.push_back(std::move(type));
    }
    fill_features(&device);
    return device;
}

Plugin plugin_of(size_t index, const tenon_plugin_report& r) {
    Plugin p;
    p.file = r.file;
    p.name = p.file.empty() ? "(linked in)" : p.file.substr(p.file.rfind('/') + 1);
    p.origin = r.origin;
    p.state = r.state;
    p.message = r.message;
    p.family = r.family;
    p.variant = r.variant;
    p.id = r.id;
    p.version = r.version;
    p.isa_need = r.isa_need;
    p.has_note = r.has_note;
    p.step = r.step;
    p.rank = r.rank;
    p.flags = r.flags;
    p.layout = r.tensor_layout;
    if (p.has_note) {
        p.abi_built = cli::format("%u.%u", r.abi_major, r.abi_minor_built);
        p.abi_needed = cli::format("%u.%u", r.abi_major, r.abi_minor_needed);
    }
    p.load_ms = static_cast<double>(r.load_ns) / 1e6;
    p.note_ms = static_cast<double>(r.note_ns) / 1e6;
    for (size_t i = 0; i < r.n_steps; ++i) {
        tenon_plugin_step s{};
        s.struct_size = sizeof s;
        if (!tenon_plugin_get_step(index, i, &s)) break;
        p.steps.push_back({s.number, s.outcome, s.name, s.detail});
    }
    return p;
}

void collect_plugins(World* world, bool with_devices) {
    for (size_t i = 0, n = tenon_plugin_count(); i < n; ++i) {
        tenon_plugin_report r{};
        r.struct_size = sizeof r;
        if (!tenon_plugin_get(i, &r)) break;
        Plugin plugin = plugin_of(i, r);
        for (size_t k = 0; k < r.n_devices; ++k) {
            tenon_plugin_device d{};
            d.struct_size = sizeof d;
            if (!tenon_plugin_get_device(i, k, &d)) break;
            plugin.devices.push_back({d.index, d.name, d.refused, d.hidden});
            if (with_devices && d.device) world->devices.push_back(device_of(d, plugin));
        }
        world->plugins.push_back(std::move(plugin));
    }
}

// As applications index them; hidden devices follow the plugin's shown ones, at the end.
void sort_devices(std::vector<Device>* devices) {
    const auto place = [](const Device& device) {
        for (size_t i = 0, n = ggml_backend_dev_count(); i < n; ++i) {
            if (ggml_backend_dev_get(i) == device.handle) return i;
        }
        return SIZE_MAX;
    };
    std::vector<std::pair<size_t, Device>> placed;
    for (Device& device : *devices) {
        const size_t at = place(device);
        placed.emplace_back(at, std::move(device));
    }
    std::stable_sort(placed.begin(), placed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    devices->clear();
    for (auto& [at, device] : placed) devices->push_back(std::move(device));
}

void collect_settings(World* world) {
    tenon_setting s{};
    s.struct_size = sizeof s;
    for (size_t i = 0; tenon_setting_get(i, &s); ++i) {
        world->settings.push_back({s.key, s.value, s.origin, s.known != 0});
    }
    tenon_settings_file f{};
    f.struct_size = sizeof f;
    for (size_t i = 0; tenon_settings_file_get(i, &f); ++i) {
        world->settings_files.push_back({f.path, f.state, f.n_keys});
    }
    for (const char* name : kForeignVariables) {
        if (const char* value = std::getenv(name)) world->environment.emplace_back(name, value);
    }
}

void collect_directories(World* world) {
    for (size_t i = 0, n = tenon_directory_count(); i < n; ++i) {
        tenon_directory d{};
        d.struct_size = sizeof d;
        if (!tenon_directory_get(i, &d)) break;
        world->directories.push_back({d.path, d.origin, d.state, d.detail, d.n_files});
    }
}

void collect_problems(World* world) {
    for (const Plugin& p : world->plugins) {
        const std::string about = p.family.empty() ? p.file : p.family;
        if (is_failure(p, *world)) {
            const char* severity =
                state_of(p.state).kind == TENON_STATE_ABSENT ? "info" : "warning";
            world->problems.push_back({severity, about, p.state, p.message});
        }
        for (const PluginDevice& d : p.devices) {
            if (d.refused.empty()) continue;
            world->problems.push_back(
                {"warning", d.name.empty() ? about : d.name, "bad-device", d.refused});
        }
    }
    for (const Directory& d : world->directories) {
        if (d.state == "unreadable" || d.state == "relative") {
            world->problems.push_back({"warning", d.path, d.state, d.detail});
        }
    }
}

// The directory of a file and its name.
std::pair<std::string, std::string> split_path(const std::string& path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return {".", path};
    return {path.substr(0, slash == 0 ? 1 : slash), path.substr(slash + 1)};
}

}  // namespace

void load(const Options& options) {
    if (!options.plugin_path.empty()) tenon_setting_set("plugin_path", options.plugin_path.c_str());
    if (!options.plugin_file.empty()) {
        struct stat st;
        if (::stat(options.plugin_file.c_str(), &st) != 0 &&
            ::lstat(options.plugin_file.c_str(), &st) != 0) {
            throw cli::stop(cli::kUnknownName, "%s: %s", options.plugin_file.c_str(),
                            std::strerror(errno));
        }
        tenon_setting_set("autoload", "0");
        if (options.no_load) {
            tenon_plugins_scan(split_path(options.plugin_file).first.c_str());
        } else {
            tenon_plugin_load(options.plugin_file.c_str(), nullptr);
        }
    } else if (options.no_load) {
        tenon_setting_set("autoload", "0");
        tenon_plugins_scan(nullptr);
    } else {
        ggml_backend_load_all();
    }
    tenon_clear_error();  // what failed stands in the reports
}

World collect(const Options& options, bool during_load) {
    World world;
    world.library_path = tenon_library_path();
    world.elevated = tenon_elevated();
    if (const char* other = tenon_other_copy()) world.other_copy = other;
    collect_plugins(&world, !during_load && !options.no_load);
    if (!options.plugin_file.empty() && options.no_load) {
        const std::string name = split_path(options.plugin_file).second;
        std::erase_if(world.plugins, [&](const Plugin& p) { return p.name != name; });
    }
    if (!during_load) sort_devices(&world.devices);
    collect_settings(&world);
    collect_directories(&world);
    collect_problems(&world);
    return world;
}

void restrict_devices(World* world, const std::string& globs) {
    if (globs.empty()) return;
    std::vector<std::string> valid;
    for (const Device& device : world->devices) valid.push_back(device.name);
    std::vector<Device> kept;
    const auto matches = [](const std::string& glob, const Device& d) {
        return cli::glob_match(glob, d.name) || (!d.pci.empty() && cli::glob_match(glob, d.pci)) ||
               (!d.uuid.empty() && cli::glob_match(glob, d.uuid));
    };
    std::vector<bool> wanted(world->devices.size());
    for (size_t begin = 0; begin <= globs.size();) {
        const size_t end = std::min(globs.find(',', begin), globs.size());
        const std::string glob = globs.substr(begin, end - begin);
        bool any = false;
        for (size_t i = 0; i < world->devices.size(); ++i) {
            if (!matches(glob, world->devices[i])) continue;
            wanted[i] = any = true;
        }
        if (!any) throw cli::unknown_name("device", glob, valid);
        begin = end + 1;
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i]) kept.push_back(std::move(world->devices[i]));
    }
    world->devices = std::move(kept);
}

bool is_failure(const Plugin& plugin, const World& world) {
    const bool family_works =
        std::any_of(world.plugins.begin(), world.plugins.end(), [&](const Plugin& other) {
            return other.family == plugin.family &&
                   (other.state == "loaded" || other.state == "candidate");
        });
    const tenon_state_kind kind = state_of(plugin.state).kind;
    return kind == TENON_STATE_FAULT || (kind == TENON_STATE_ABSENT && !family_works);
}

bool is_strict_failure(const Plugin& plugin) {
    for (const PluginDevice& device : plugin.devices) {
        if (!device.refused.empty()) return true;
    }
    const tenon_state_kind kind = state_of(plugin.state).kind;
    return kind == TENON_STATE_FAULT || kind == TENON_STATE_NO_PLUGIN;
}

std::string what_helps(const std::string& state) { return state_of(state).help; }

bool is_present(const World& world, const std::string& spec) {
    return std::any_of(world.devices.begin(), world.devices.end(), [&](const Device& d) {
        if (!d.hidden.empty()) return false;
        return cli::glob_match(spec, d.kind) ||
               (cli::glob_match(spec, "gpu") && d.kind == "igpu") ||
               cli::glob_match(spec, d.family) || cli::glob_match(spec, d.name) ||
               (!d.pci.empty() && cli::glob_match(spec, d.pci));
    });
}

}  // namespace tenon::rt_info
