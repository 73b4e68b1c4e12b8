// rt-gguf show: metadata, tensors and sizes per type, as tables or JSON.

#include <cinttypes>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/rt_gguf/commands.h"
#include "tools/rt_gguf/model_file.h"

namespace tenon::rt_gguf {
namespace {

using nlohmann::ordered_json;

struct TypeSum {
    size_t n_tensors = 0;
    uint64_t elements = 0;
    uint64_t bytes = 0;
};
using TypeSums = std::map<ggml_type, TypeSum>;

TypeSums sums_of(const ModelFile& file) {
    TypeSums sums;
    for (const Tensor& tensor : file.tensors()) {
        TypeSum& sum = sums[tensor.type];
        ++sum.n_tensors;
        sum.elements += static_cast<uint64_t>(tensor.elements());
        sum.bytes += tensor.size;
    }
    return sums;
}

std::string first_missing(const ModelFile& file) {
    for (const Tensor& tensor : file.tensors()) {
        const std::string text = file.missing(tensor);
        if (!text.empty()) return "tensor '" + tensor.name + "': " + text;
    }
    return {};
}

// ---- tables -----------------------------------------------------------------------------------

void print_metadata(const ModelFile& file, const cli::Terminal& terminal) {
    constexpr size_t kShownElements = 8, kShownBytes = 200;
    cli::Table table;
    table.add_column("KEY");
    table.add_column("TYPE");
    table.add_column("VALUE");
    const gguf_context* ctx = file.gguf();
    for (int64_t i = 0; i < gguf_get_n_kv(ctx); ++i) {
        const std::string value = cli::printable(value_text(ctx, i, kShownElements));
        table.add_row(
            {gguf_get_key(ctx, i), type_text(ctx, i), cli::cut_to_width(value, kShownBytes)});
    }
    table.print(stdout, terminal);
}

void print_tensors(const ModelFile& file, const cli::Terminal& terminal) {
    cli::Table table;
    table.add_column("TENSOR");
    table.add_column("TYPE");
    table.add_column("SHAPE", cli::Align::kRight);
    table.add_column("BYTES", cli::Align::kRight);
    table.add_column("OFFSET", cli::Align::kRight);
    for (const Tensor& tensor : file.tensors()) {
        table.add_row({tensor.name, ggml_type_name(tensor.type), shape_text(tensor),
                       cli::count_text(tensor.size), cli::count_text(tensor.offset)});
    }
    table.print(stdout, terminal);
}

void print_types(const ModelFile& file, const cli::Terminal& terminal) {
    const TypeSums sums = sums_of(file);
    TypeSum total;
    for (const auto& [type, sum] : sums) {
        total.n_tensors += sum.n_tensors;
        total.elements += sum.elements;
        total.bytes += sum.bytes;
    }
    cli::Table table;
    table.add_column("TYPE");
    table.add_column("TENSORS", cli::Align::kRight);
    table.add_column("ELEMENTS", cli::Align::kRight);
    table.add_column("BITS", cli::Align::kRight);
    table.add_column("SIZE", cli::Align::kRight);
    table.add_column("SHARE", cli::Align::kRight);
    const auto add = [&](const char* name, const TypeSum& sum) {
        const double bits =
            sum.elements ? 8.0 * static_cast<double>(sum.bytes) / static_cast<double>(sum.elements)
                         : 0;
        const double share =
            total.bytes ? 100.0 * static_cast<double>(sum.bytes) / static_cast<double>(total.bytes)
                        : 0;
        table.add_row({name, std::to_string(sum.n_tensors), cli::count_text(sum.elements),
                       cli::format("%.3g", bits), cli::bytes_text(sum.bytes),
                       cli::format("%.1f %%", share)});
    };
    for (const auto& [type, sum] : sums) add(ggml_type_name(type), sum);
    add("total", total);
    table.print(stdout, terminal);
}

// ---- JSON -------------------------------------------------------------------------------------

ordered_json number_json(gguf_type type, const void* data, size_t i) {
    const auto get = [&]<class T>() -> ordered_json {
        T value;
        std::memcpy(&value, static_cast<const char*>(data) + i * sizeof(T), sizeof(T));
        return value;
    };
    switch (type) {
        case GGUF_TYPE_UINT8:
            return get.template operator()<uint8_t>();
        case GGUF_TYPE_INT8:
            return get.template operator()<int8_t>();
        case GGUF_TYPE_UINT16:
            return get.template operator()<uint16_t>();
        case GGUF_TYPE_INT16:
            return get.template operator()<int16_t>();
        case GGUF_TYPE_UINT32:
            return get.template operator()<uint32_t>();
        case GGUF_TYPE_INT32:
            return get.template operator()<int32_t>();
        case GGUF_TYPE_UINT64:
            return get.template operator()<uint64_t>();
        case GGUF_TYPE_INT64:
            return get.template operator()<int64_t>();
        case GGUF_TYPE_FLOAT32:
            return get.template operator()<float>();
        case GGUF_TYPE_FLOAT64:
            return get.template operator()<double>();
        case GGUF_TYPE_BOOL:
            return get.template operator()<uint8_t>() != 0;
        default:
            return nullptr;
    }
}

ordered_json kv_json(const gguf_context* ctx, int64_t id) {
    const bool is_array = gguf_get_kv_type(ctx, id) == GGUF_TYPE_ARRAY;
    const gguf_type type = is_array ? gguf_get_arr_type(ctx, id) : gguf_get_kv_type(ctx, id);
    const size_t n = gguf_get_arr_n(ctx, id);
    const void* data = type == GGUF_TYPE_STRING || n == 0 ? nullptr : gguf_get_arr_data(ctx, id);
    ordered_json values = ordered_json::array();
    for (size_t i = 0; i < n; ++i) {
        values.push_back(data ? number_json(type, data, i)
                              : ordered_json(gguf_get_arr_str(ctx, id, i)));
    }
    ordered_json kv{{"key", gguf_get_key(ctx, id)}, {"type", gguf_type_name(type)}};
    kv["array"] = is_array;
    kv["value"] = is_array ? std::move(values) : std::move(values[0]);
    return kv;
}

ordered_json to_json(const ModelFile& file) {
    const gguf_context* ctx = file.gguf();
    ordered_json out{{"schema", "tenon.rt-gguf.show"},
                     {"schema_version", 1},
                     {"file", file.path()},
                     {"file_bytes", file.file_bytes()},
                     {"gguf_version", gguf_get_version(ctx)},
                     {"alignment", gguf_get_alignment(ctx)},
                     {"data_offset", file.data_offset()},
                     {"complete", first_missing(file).empty()}};
    out["metadata"] = ordered_json::array();
    for (int64_t i = 0; i < gguf_get_n_kv(ctx); ++i) out["metadata"].push_back(kv_json(ctx, i));
    out["tensors"] = ordered_json::array();
    for (const Tensor& tensor : file.tensors()) {
        const int64_t* ne = tensor.header->ne;
        out["tensors"].push_back({{"name", tensor.name},
                                  {"type", ggml_type_name(tensor.type)},
                                  {"shape", {ne[0], ne[1], ne[2], ne[3]}},
                                  {"bytes", tensor.size},
                                  {"offset", tensor.offset}});
    }
    out["types"] = ordered_json::array();
    for (const auto& [type, sum] : sums_of(file)) {
        out["types"].push_back({{"type", ggml_type_name(type)},
                                {"tensors", sum.n_tensors},
                                {"elements", sum.elements},
                                {"bytes", sum.bytes}});
    }
    return out;
}

}  // namespace

int show(const Words& words) {
    cli::po::options_description options("options");
    options.add_options()("json", "everything as JSON, arrays in full")(
        "metadata", "only this table")("tensors", "only this table")("types", "only this table")(
        "color", cli::po::value<std::string>()->default_value("auto"), "auto, always or never");
    const Parsed parsed = parse_command("show", "Prints metadata, tensors and sizes per type.",
                                        words, options, {"FILE"});
    if (parsed.help) return cli::kAnswered;
    const auto when = cli::parse_color(parsed.options["color"].as<std::string>());
    const ModelFile file(parsed.files[0]);
    if (parsed.options.count("json")) {
        cli::print_json(stdout, to_json(file));
        return cli::kAnswered;
    }
    const bool metadata = parsed.options.count("metadata"),
               tensors = parsed.options.count("tensors"), types = parsed.options.count("types"),
               all = !metadata && !tensors && !types;
    const cli::Terminal terminal = cli::terminal_of(stdout, when);
    const gguf_context* ctx = file.gguf();
    if (all) {
        std::printf("%s: GGUF v%" PRIu32 ", %s, %" PRId64 " keys, %" PRId64
                    " tensors, alignment %zu, data at %" PRIu64 "\n\n",
                    cli::printable(file.path()).c_str(), gguf_get_version(ctx),
                    cli::bytes_text(file.file_bytes()).c_str(), gguf_get_n_kv(ctx),
                    gguf_get_n_tensors(ctx), gguf_get_alignment(ctx), file.data_offset());
    }
    if (all || metadata) print_metadata(file, terminal);
    if (all) std::printf("\n");
    if (all || tensors) print_tensors(file, terminal);
    if (all) std::printf("\n");
    if (all || types) print_types(file, terminal);
    if (const std::string text = first_missing(file); !text.empty()) {
        std::printf("\nincomplete: %s\n", cli::printable(text).c_str());
    }
    return cli::kAnswered;
}

}  // namespace tenon::rt_gguf
