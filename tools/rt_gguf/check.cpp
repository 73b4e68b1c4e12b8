// rt-gguf check: validates a whole file. Errors make the file unusable, notes break a convention.

#include <algorithm>
#include <cinttypes>
#include <nlohmann/json.hpp>

#include "tenon/tenon.h"
#include "tools/rt_gguf/commands.h"
#include "tools/rt_gguf/model_file.h"

namespace tenon::rt_gguf {
namespace {

constexpr size_t kPiece = 16 << 20;  // bytes read at a time

struct Findings {
    std::vector<std::string> errors;
    std::vector<std::string> notes;
    uint64_t checked_bytes = 0;
};

// The first block of a bad piece that does not validate by itself, relative to the piece.
size_t first_bad_block(ggml_type type, const std::vector<char>& piece, size_t size) {
    const size_t block = ggml_type_size(type);
    for (size_t i = 0; i * block < size; ++i) {
        if (!ggml_validate_row_data(type, piece.data() + i * block, block)) return i;
    }
    return 0;
}

void check_data(const ModelFile& file, const Tensor& tensor, std::vector<char>& piece,
                Findings& found, cli::Progress& progress) {
    const std::string subject = "tensor '" + tensor.name + "': ";
    if (const std::string text = file.missing(tensor); !text.empty()) {
        found.errors.push_back(subject + text);
        return;
    }
    const size_t block = ggml_type_size(tensor.type);
    const uint64_t step = kPiece / block * block;
    for (uint64_t at = 0; at < tensor.size; at += step) {
        const auto size = static_cast<size_t>(std::min(step, tensor.size - at));
        piece.resize(std::max(piece.size(), size));
        file.read(tensor, at, piece.data(), size);
        progress.update(found.checked_bytes + at, tensor.name);
        if (ggml_validate_row_data(tensor.type, piece.data(), size)) continue;
        const uint64_t bad = at / block + first_bad_block(tensor.type, piece, size);
        const auto per_row =
            static_cast<uint64_t>(tensor.row_elements() / ggml_blck_size(tensor.type));
        found.errors.push_back(
            subject + cli::format("row %" PRIu64 " of %" PRId64
                                  " holds a value that is infinite, not a number, or not %s",
                                  bad / per_row, tensor.rows(), ggml_type_name(tensor.type)));
        break;
    }
    found.checked_bytes += tensor.size;
    tenon_clear_error();
}

bool is_conventional(const std::string& key) {
    const auto good = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    };
    return std::all_of(key.begin(), key.end(), good);
}

void check_metadata(const ModelFile& file, Findings& found) {
    const gguf_context* ctx = file.gguf();
    const auto find = [&](const char* key) { return gguf_find_key(ctx, key); };
    const int64_t architecture = find("general.architecture");
    if (architecture < 0) {
        found.notes.push_back("key 'general.architecture' is missing");
    } else if (gguf_get_kv_type(ctx, architecture) != GGUF_TYPE_STRING) {
        found.notes.push_back("key 'general.architecture' is " + type_text(ctx, architecture) +
                              ", should be str");
    }
    const bool quantized = std::any_of(file.tensors().begin(), file.tensors().end(),
                                       [](const Tensor& t) { return ggml_is_quantized(t.type); });
    if (quantized && find("general.quantization_version") < 0) {
        found.notes.push_back(
            "key 'general.quantization_version' is missing, tensors are quantized");
    }
    for (int64_t i = 0; i < gguf_get_n_kv(ctx); ++i) {
        const std::string key = gguf_get_key(ctx, i);
        if (!is_conventional(key))
            found.notes.push_back("key '" + key + "' is not lower_snake_case");
    }
    const int64_t tokens = find("tokenizer.ggml.tokens");
    for (const char* key : {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"}) {
        const int64_t id = find(key);
        if (tokens < 0 || id < 0) continue;
        if (gguf_get_arr_n(ctx, id) != gguf_get_arr_n(ctx, tokens)) {
            found.errors.push_back(
                cli::format("key '%s': has %zu elements, 'tokenizer.ggml.tokens' has %zu", key,
                            gguf_get_arr_n(ctx, id), gguf_get_arr_n(ctx, tokens)));
        }
    }
}

void check_end(const ModelFile& file, Findings& found) {
    if (file.tensors().empty()) return;
    const Tensor& last = file.tensors().back();
    const uint64_t alignment = gguf_get_alignment(file.gguf());
    const uint64_t end = file.data_offset() + last.offset + last.size;
    const uint64_t padded =
        file.data_offset() + last.offset + (last.size + alignment - 1) / alignment * alignment;
    if (file.file_bytes() >= end && file.file_bytes() < padded) {
        found.errors.push_back(cli::format("the padding after the last tensor ends at %" PRIu64
                                           ", file has %" PRIu64
                                           " bytes: its data cannot be loaded",
                                           padded, file.file_bytes()));
    }
    if (file.file_bytes() > padded) {
        found.notes.push_back(cli::format("%" PRIu64 " bytes after the last tensor are ignored",
                                          file.file_bytes() - padded));
    }
}

nlohmann::ordered_json to_json(const ModelFile& file, const Findings& found) {
    return {{"schema", "tenon.rt-gguf.check"},
            {"schema_version", 1},
            {"file", file.path()},
            {"ok", found.errors.empty()},
            {"tensors", file.tensors().size()},
            {"checked_bytes", found.checked_bytes},
            {"errors", found.errors},
            {"notes", found.notes}};
}

}  // namespace

int check(const Words& words) {
    cli::po::options_description options("options");
    options.add_options()("json", "the findings as JSON");
    const Parsed parsed = parse_command("check",
                                        "Validates metadata, layout and the data of every "
                                        "tensor.\nExit code 1 when the file is bad.",
                                        words, options, {"FILE"});
    if (parsed.help) return cli::kAnswered;

    const ModelFile file(parsed.files[0]);
    Findings found;
    check_metadata(file, found);
    uint64_t total = 0;
    for (const Tensor& tensor : file.tensors()) total += tensor.size;
    {
        cli::Progress progress("checking", total);
        std::vector<char> piece;
        for (const Tensor& tensor : file.tensors())
            check_data(file, tensor, piece, found, progress);
    }
    check_end(file, found);

    if (parsed.options.count("json")) {
        cli::print_json(stdout, to_json(file, found));
    } else {
        const std::string path = cli::printable(file.path());
        for (const std::string& text : found.errors)
            std::printf("%s: error: %s\n", path.c_str(), cli::printable(text).c_str());
        for (const std::string& text : found.notes)
            std::printf("%s: note: %s\n", path.c_str(), cli::printable(text).c_str());
        std::printf("%s: %s, %zu tensors, %s checked, %zu errors, %zu notes\n", path.c_str(),
                    found.errors.empty() ? "ok" : "bad", file.tensors().size(),
                    cli::bytes_text(found.checked_bytes).c_str(), found.errors.size(),
                    found.notes.size());
    }
    return found.errors.empty() ? cli::kAnswered : cli::kFailed;
}

}  // namespace tenon::rt_gguf
