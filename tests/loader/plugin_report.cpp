// Does what its arguments say, in order, and writes one JSON object per line to the file named
// first:
//
//   all, scan              ggml_backend_load_all(), tenon_plugins_scan(NULL)
//   dir=PATH               ggml_backend_load_all_from_path(PATH)
//   load=PATH              tenon_plugin_load(PATH)
//   set=KEY=VALUE          tenon_setting_set()
//   builtin                tenon_register_builtin() of a plugin that is part of this program
//   threads=N              ggml_backend_load_all() from N threads at once
//   unload=NAME            tenon_plugin_unload() of a registration
//   stream=NAME            opens a stream on a device and keeps it
//   user=UID               becomes another user
//   remove=PATH            removes a directory and its files
//   report, devices, directories, settings, log, descriptors
//
// A process of its own for every test: the registry of a process only grows.

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tenon/tenon.h"

extern "C" tenon_status tenon_plugin_entry_v1(const tenon_host*, const tenon_plugin**,
                                              tenon_error*);

namespace {

using Json = nlohmann::json;

std::ofstream g_out;
std::mutex g_log_mutex;
std::vector<Json> g_log;
std::vector<ggml_backend_t> g_streams;

void print(const Json& line) {
    g_out << line.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

void keep_log(ggml_log_level level, const char* text, void*) {
    const std::lock_guard lock(g_log_mutex);
    g_log.push_back({{"what", "log"}, {"level", level}, {"text", text}});
}

Json steps_of(size_t index, uint32_t n) {
    Json steps = Json::array();
    for (size_t i = 0; i < n; ++i) {
        tenon_plugin_step step{};
        step.struct_size = sizeof step;
        if (!tenon_plugin_get_step(index, i, &step)) break;
        steps.push_back({{"n", step.number},
                         {"name", step.name},
                         {"outcome", step.outcome},
                         {"detail", step.detail}});
    }
    return steps;
}

Json devices_of(size_t index, uint32_t n) {
    Json devices = Json::array();
    for (size_t i = 0; i < n; ++i) {
        tenon_plugin_device device{};
        device.struct_size = sizeof device;
        if (!tenon_plugin_get_device(index, i, &device)) break;
        devices.push_back({{"index", device.index},
                           {"name", device.name},
                           {"refused", device.refused},
                           {"hidden", device.hidden},
                           {"usable", device.device != nullptr}});
    }
    return devices;
}

void print_reports() {
    for (size_t i = 0; i < tenon_plugin_count(); ++i) {
        tenon_plugin_report r{};
        r.struct_size = sizeof r;
        if (!tenon_plugin_get(i, &r)) break;
        print({{"what", "plugin"},
               {"file", r.file},
               {"origin", r.origin},
               {"state", r.state},
               {"step", r.step},
               {"message", r.message},
               {"family", r.family},
               {"variant", r.variant},
               {"id", r.id},
               {"version", r.version},
               {"isa_need", r.isa_need},
               {"rank", r.rank},
               {"loaded", r.reg != nullptr},
               {"steps", steps_of(i, r.n_steps)},
               {"devices", devices_of(i, r.n_devices)}});
    }
}

void print_devices() {
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        print({{"what", "device"},
               {"name", ggml_backend_dev_name(device)},
               {"description", ggml_backend_dev_description(device)}});
    }
}

void print_directories() {
    for (size_t i = 0, n = tenon_directory_count(); i < n; ++i) {
        tenon_directory d{};
        d.struct_size = sizeof d;
        if (!tenon_directory_get(i, &d)) break;
        print({{"what", "directory"},
               {"path", d.path},
               {"origin", d.origin},
               {"state", d.state},
               {"detail", d.detail},
               {"files", d.n_files}});
    }
}

void print_settings() {
    for (size_t i = 0; i < tenon_setting_count(); ++i) {
        tenon_setting s{};
        s.struct_size = sizeof s;
        if (!tenon_setting_get(i, &s)) break;
        print({{"what", "setting"},
               {"key", s.key},
               {"value", s.value},
               {"origin", s.origin},
               {"known", s.known != 0}});
    }
}

void print_log() {
    const std::lock_guard lock(g_log_mutex);
    for (const Json& line : g_log) print(line);
}

void print_descriptors() {
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/self/fd")) {
        ++n;
    }
    print({{"what", "descriptors"}, {"count", n}});
}

void load_from_threads(int n) {
    std::vector<std::thread> threads;
    for (int i = 0; i < n; ++i) threads.emplace_back([] { ggml_backend_load_all(); });
    for (std::thread& thread : threads) thread.join();
}

void print_call(const char* what, tenon_status status) {
    print({{"what", what}, {"status", status}, {"error", tenon_last_error()}});
}

bool run(const std::string& command, const std::string& value) {
    if (command == "all")
        ggml_backend_load_all();
    else if (command == "scan")
        tenon_plugins_scan(nullptr);
    else if (command == "dir")
        ggml_backend_load_all_from_path(value.c_str());
    else if (command == "load")
        print_call("load", tenon_plugin_load(value.c_str(), nullptr));
    else if (command == "builtin") {
        print_call("builtin", tenon_register_builtin(tenon_plugin_entry_v1));
    } else if (command == "threads")
        load_from_threads(std::stoi(value));
    else if (command == "unload") {
        print_call("unload", tenon_plugin_unload(ggml_backend_reg_by_name(value.c_str())));
    } else if (command == "stream") {
        g_streams.push_back(ggml_backend_init_by_name(value.c_str(), nullptr));
        print({{"what", "stream"}, {"open", g_streams.back() != nullptr}});
    } else if (command == "set") {
        const size_t equals = value.find('=');
        print_call("set", tenon_setting_set(value.substr(0, equals).c_str(),
                                            value.substr(equals + 1).c_str()));
    } else if (command == "user")
        return ::seteuid(static_cast<uid_t>(std::stoul(value))) == 0;
    else if (command == "remove")
        std::filesystem::remove_all(value);
    else if (command == "report")
        print_reports();
    else if (command == "devices")
        print_devices();
    else if (command == "directories")
        print_directories();
    else if (command == "settings")
        print_settings();
    else if (command == "log")
        print_log();
    else if (command == "descriptors")
        print_descriptors();
    else
        return false;
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    g_out.open(argv[1]);
    ggml_log_set(keep_log, nullptr);
    for (int i = 2; i < argc; ++i) {
        const std::string argument = argv[i];
        const size_t equals = argument.find('=');
        const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
        if (!run(argument.substr(0, equals), value)) return 2;
    }
    for (ggml_backend_t stream : g_streams) ggml_backend_free(stream);
    print({{"what", "end"}});
    g_out.close();
    if (::geteuid() != ::getuid())
        std::_Exit(0);  // a leak checker could not look at its own process
    return 0;
}
