// What rt-info knows about a machine: plain structs that are collected first and then printed, by
// the text and the JSON printer alike.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tenon/tenon.h"
#include "tenon/work.h"
#include "tools/cli/cli.h"

namespace tenon::rt_info {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct BufferType {
    std::string name;
    std::vector<std::string> flags;  // "device", "default", "pinned"
    uint64_t alignment = 0, max_size = 0;
};

// Calls of the op table a device accepted.
struct OpCounts {
    size_t any = 0, complete = 0, total = 0;
};

struct Device {
    ggml_backend_dev_t handle = nullptr;
    std::string name, kind, description, driver;
    std::string plugin_id, plugin_label, variant;  // label: "cuda 1.0.2", "cpu-avx2 1.0.2"
    std::string family, file;
    uint32_t index = 0;
    std::string hidden;  // why; "": shown
    int32_t numa_node = -1, preference = 0;
    std::string pci, pci_id, uuid, luid, partition;  // "" = unknown
    bool has_memory = false;
    uint64_t memory_total = 0, memory_free = 0;
    bool free_is_estimate = false, shared_with_host = false;
    std::vector<std::string> capabilities, missing_capabilities, extensions;
    std::vector<BufferType> buffer_types;
    Pairs attributes, features;
    bool has_ops = false;
    OpCounts ops;
};

struct Step {
    uint32_t number = 0, outcome = 0;
    std::string name, detail;
};

struct PluginDevice {
    uint32_t index = 0;
    std::string name, refused, hidden;
};

struct Plugin {
    std::string file, name, origin, state, message;  // name: without directories
    std::string family, variant, id, version, isa_need;
    bool has_note = false;
    uint32_t step = 0, rank = 0, flags = 0;
    std::string abi_built, abi_needed;  // "1.0", "" = unknown
    uint32_t layout = 0;
    double load_ms = 0, note_ms = 0;
    std::vector<Step> steps;
    std::vector<PluginDevice> devices;
};

struct Directory {
    std::string path, origin, state, detail;
    uint32_t n_files = 0;
};
struct SettingRow {
    std::string key, value, origin;
    bool known = true;
};
struct SettingsFile {
    std::string path, state;
    uint32_t n_keys = 0;
};

// Something that looks like hardware or a plugin and is not usable.
struct Problem {
    std::string severity;  // "info", "warning"
    std::string about;     // family, device or file
    std::string state, text;
};

struct World {
    std::vector<Device> devices;  // as applications see them, hidden ones behind
    std::vector<Plugin> plugins;
    std::vector<Directory> directories;
    std::vector<SettingRow> settings;
    std::vector<SettingsFile> settings_files;
    std::vector<Problem> problems;
    Pairs environment;  // variables that matter, set now
    std::string library_path, other_copy;
    bool elevated = false;
};

// What the command line asked for.
enum class What { kDevices, kList, kPlugins, kExplain, kOps, kOp, kPaths, kVersion };
struct Options {
    What what = What::kDevices;
    std::string name;  // of --explain or --op
    bool all = false, json = false, no_load = false, strict = false;
    int verbose = 0;
    std::string device_globs, type_globs, diff, plugin_file, plugin_path;
    std::vector<std::string> require;
    cli::Terminal terminal;
    double timeout_s = 30;
};

// ---- rt_info_collect.cpp -----------------------------------------------------------------------

// Loads, or only scans, what the options say.
void load(const Options& options);

// Everything known. `during_load`: another thread is loading and may never end; devices are left
// out.
World collect(const Options& options, bool during_load);

// Keeps the devices a list of globs on name, PCI address or UUID names. Throws unknown_name.
void restrict_devices(World* world, const std::string& globs);

// Whether a plugin's state is a loss somebody should hear of.
bool is_failure(const Plugin& plugin, const World& world);

// Whether the state counts under --strict.
bool is_strict_failure(const Plugin& plugin);

// Whether "gpu", "cpu", a family, a device name or a PCI address is there to be used.
bool is_present(const World& world, const std::string& spec);

// ---- rt_info_text.cpp, rt_info_plugins.cpp, rt_info_paths.cpp ----------------------------------

void print_devices(const World& world, const Options& options, std::FILE* out);
void print_list(const World& world, std::FILE* out);
void print_plugins(const World& world, const Options& options, std::FILE* out);
void check_explained_name(const World& world, const std::string& name);  // throws unknown_name
void print_explanation(const World& world, const std::string& name, std::FILE* out);
void print_paths(const World& world, std::FILE* out);
void print_version(std::FILE* out);
std::string what_helps(const std::string& state);  // one line per reason word

// ---- rt_info_ops.cpp ---------------------------------------------------------------------------

// What a device says of a call, and how long it is expected to take.
struct OpVerdict : tenon_op_verdict {
    tenon_estimate estimate{};  // of what it supports
};

// One representative call and what every column's device said.
struct OpCall {
    std::string description;
    tenon_work work{};
    std::vector<OpVerdict> verdicts;  // per column
};
struct OpRow {
    std::string name;  // "MUL_MAT", "UNARY:GELU"
    std::string symbol, sources, params, doc;
    std::vector<OpCall> calls;
};
struct OpColumn {
    std::string title;  // "CUDA0-7" for eight equal devices
    std::vector<std::string> devices;
};
struct OpMatrix {
    std::vector<OpColumn> columns;
    std::vector<OpRow> rows;  // by name
};
OpMatrix ask_ops(const World& world, const Options& options);
void count_ops(World* world);  // fills Device::ops
void print_ops(const OpMatrix& matrix, const Options& options, std::FILE* out);
void print_op(const OpMatrix& matrix, const Options& options, std::FILE* out);

// ---- rt_info_json.cpp --------------------------------------------------------------------------

void print_json(const World& world, const OpMatrix* matrix, const Options& options, std::FILE* out);

}  // namespace tenon::rt_info
