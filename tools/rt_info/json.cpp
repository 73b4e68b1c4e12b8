// rt-info: the same content as JSON. Keys and words are only ever added within a schema version.

#include <nlohmann/json.hpp>

#include "tools/rt_info/info.h"

namespace tenon::rt_info {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

Json or_null(const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); }

Json object(const Pairs& pairs) {
    Json all = Json::object();
    for (const auto& [key, value] : pairs) all[key] = value;
    return all;
}

Json json_of(const BufferType& t) {
    return {{"name", t.name},
            {"flags", t.flags},
            {"alignment", t.alignment},
            {"max_size", t.max_size == UINT64_MAX ? Json(nullptr) : Json(t.max_size)}};
}

Json json_of(const Device& d, const World& world) {
    Json same = Json::array();
    for (const Device& other : world.devices) {
        if (&other != &d && !d.pci.empty() && other.pci == d.pci &&
            other.partition == d.partition) {
            same.push_back(other.name);
        }
    }
    Json types = Json::array();
    for (const BufferType& t : d.buffer_types) types.push_back(json_of(t));
    Json device = {{"name", d.name},
                   {"kind", d.kind},
                   {"description", or_null(d.description)},
                   {"plugin", d.plugin_id},
                   {"index", d.index},
                   {"shown", d.hidden.empty()},
                   {"hidden_because", or_null(d.hidden)},
                   {"same_hardware", same},
                   {"driver", or_null(d.driver)},
                   {"numa_node", d.numa_node < 0 ? Json(nullptr) : Json(d.numa_node)},
                   {"preference", d.preference},
                   {"identity",
                    {{"pci", or_null(d.pci)},
                     {"pci_id", or_null(d.pci_id)},
                     {"uuid", or_null(d.uuid)},
                     {"luid", or_null(d.luid)},
                     {"partition", or_null(d.partition)}}},
                   {"memory",
                    {{"total", d.memory_total ? Json(d.memory_total) : Json(nullptr)},
                     {"free", d.has_memory ? Json(d.memory_free) : Json(nullptr)},
                     {"free_is_estimate", d.free_is_estimate},
                     {"shared_with_host", d.shared_with_host}}},
                   {"capabilities", d.capabilities},
                   {"buffer_types", types},
                   {"extensions", d.extensions},
                   {"attributes", object(d.attributes)},
                   {"features", object(d.features)}};
    if (d.has_ops) {
        device["ops"] = {{"any", d.ops.any}, {"complete", d.ops.complete}, {"total", d.ops.total}};
    }
    return device;
}

Json flag_names(uint32_t flags) {
    Json names = Json::array();
    if (flags & TENON_NOTE_TOUCHES_DRIVER) names.push_back("touches-driver");
    if (flags & TENON_NOTE_FORK_SAFE) names.push_back("fork-safe");
    if (flags & TENON_NOTE_UNLOADABLE) names.push_back("unloadable");
    if (flags & TENON_NOTE_COEXISTS) names.push_back("coexists");
    return names;
}

Json words_of(const std::string& list) {
    Json words = Json::array();
    for (size_t begin = 0; begin < list.size();) {
        const size_t end = std::min(list.find(' ', begin), list.size());
        words.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

Json json_of(const Step& s) {
    return {{"n", s.number},
            {"name", s.name},
            {"ok", s.outcome == TENON_STEP_OK       ? Json(true)
                   : s.outcome == TENON_STEP_FAILED ? Json(false)
                                                    : Json(nullptr)},
            {"detail", or_null(s.detail)}};
}

Json json_of(const Plugin& p, bool with_steps) {
    Json devices = Json::array(), refused = Json::array();
    for (const PluginDevice& d : p.devices) {
        if (d.refused.empty())
            devices.push_back(d.name);
        else
            refused.push_back(
                {{"index", d.index}, {"name", or_null(d.name)}, {"message", d.refused}});
    }
    const auto noted = [&](Json value) { return p.has_note ? std::move(value) : Json(nullptr); };
    Json plugin = {{"file", or_null(p.file)},
                   {"state", p.state},
                   {"step", p.step},
                   {"message", or_null(p.message)},
                   {"family", or_null(p.family)},
                   {"variant", or_null(p.variant)},
                   {"id", or_null(p.id)},
                   {"version", or_null(p.version)},
                   {"abi", noted({{"built", p.abi_built}, {"needed", p.abi_needed}})},
                   {"rank", noted(p.rank)},
                   {"flags", flag_names(p.flags)},
                   {"isa_need", words_of(p.isa_need)},
                   {"origin", p.origin},
                   {"load_ms", p.load_ms > 0 ? Json(p.load_ms) : Json(nullptr)},
                   {"devices", devices},
                   {"refused_devices", refused}};
    if (with_steps) {
        plugin["steps"] = Json::array();
        for (const Step& s : p.steps) plugin["steps"].push_back(json_of(s));
    }
    return plugin;
}

Json json_of(const tenon_estimate& e) {
    if (e.time_ns == 0) return nullptr;
    constexpr const char* kSources[] = {"nothing", "plugin", "rates", "kind"};
    return {
        {"time_ns", e.time_ns}, {"source", kSources[e.source & 3]}, {"confidence", e.confidence}};
}

Json json_of(const OpMatrix& matrix) {
    Json columns = Json::array(), rows = Json::array();
    for (const OpColumn& c : matrix.columns)
        columns.push_back({{"title", c.title}, {"devices", c.devices}});
    for (const OpRow& row : matrix.rows) {
        Json calls = Json::array();
        for (const OpCall& call : row.calls) {
            Json verdicts = Json::array();
            for (const OpVerdict& v : call.verdicts) {
                constexpr const char* kSupport[] = {"no", "yes", "emulated"};
                verdicts.push_back({{"support", kSupport[v.support < 3 ? v.support : 0]},
                                    {"reason", v.reason},
                                    {"detail", v.detail ? Json(v.detail) : Json(nullptr)},
                                    {"time_ns", v.time_ns ? Json(v.time_ns) : Json(nullptr)},
                                    {"estimate", json_of(v.estimate)}});
            }
            calls.push_back({{"call", call.description},
                             {"operations", call.work.ops},
                             {"bytes_read", call.work.bytes_read},
                             {"bytes_written", call.work.bytes_written},
                             {"verdicts", verdicts}});
        }
        rows.push_back({{"op", row.name},
                        {"sources", or_null(row.sources)},
                        {"params", or_null(row.params)},
                        {"doc", row.doc},
                        {"calls", calls}});
    }
    return {{"columns", columns}, {"rows", rows}};
}

Json versions() {
    return {{"library", tenon_version()},
            {"ggml_api", ggml_version()},
            {"plugin_abi", cli::format("%d.%d", TENON_ABI_MAJOR, TENON_ABI_MINOR)},
            {"tensor_layout", TENON_TENSOR_LAYOUT_1}};
}

}  // namespace

void print_json(const World& world, const OpMatrix* matrix, const Options& options,
                std::FILE* out) {
    Json doc = {
        {"schema", "tenon.rt-info"}, {"schema_version", kSchemaVersion}, {"versions", versions()}};
    for (const char* key :
         {"devices", "plugins", "hardware", "settings", "directories", "problems"}) {
        doc[key] = Json::array();
    }
    for (const Device& d : world.devices) doc["devices"].push_back(json_of(d, world));
    for (const Plugin& p : world.plugins) doc["plugins"].push_back(json_of(p, options.verbose > 0));
    for (const SettingRow& s : world.settings) {
        doc["settings"].push_back(
            {{"key", s.key}, {"value", s.value}, {"origin", s.origin}, {"known", s.known}});
    }
    for (const Directory& d : world.directories) {
        doc["directories"].push_back(
            {{"path", d.path}, {"origin", d.origin}, {"state", d.state}, {"files", d.n_files}});
    }
    for (const Problem& p : world.problems) {
        doc["problems"].push_back(
            {{"severity", p.severity}, {"about", p.about}, {"state", p.state}, {"text", p.text}});
    }
    if (matrix) doc["ops"] = json_of(*matrix);
    cli::print_json(out, doc);
}

}  // namespace tenon::rt_info
