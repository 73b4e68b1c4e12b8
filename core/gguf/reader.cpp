// Parsing of model files; declared in reader.h. In the order of the file, stopping at the first
// fault with one line that names the key or tensor and the numbers.

#include "core/gguf/reader.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "core/base/bits.h"
#include "core/gguf/tensor_context.h"
#include "core/tensor/types.h"

namespace tenon::gguf {
namespace {

// Least bytes of a pair (length 8, key 1, type 4, value 1) and of a tensor record (length 8,
// n_dims 4, type 4, offset 8).
constexpr uint64_t kLeastKv = 14;
constexpr uint64_t kLeastTensor = 24;

struct Header {
    uint64_t n_tensors = 0;
    uint64_t n_kv = 0;
};

class Parser {
public:
    Parser(const Source& source, gguf_context& ctx)
        : in_(source), ctx_(ctx), start_(source.start) {}

    Result<void> metadata();
    Input& input() { return in_; }

private:
    Result<Header> header();
    Result<void> version();
    Result<uint64_t> count(const char* field, uint64_t least_bytes);
    Result<void> kv(uint64_t i, const Header& header, uint64_t after);
    Result<std::string> key(uint64_t after);
    Result<void> scalar(Kv& kv, uint64_t after);
    Result<void> array(Kv& kv, uint64_t after);
    Result<void> string(Kv& kv, uint64_t after);
    Result<void> alignment();
    Result<void> tensor(uint64_t i, const Header& header, uint64_t after);
    Result<void> name(TensorInfo& info, uint64_t after);
    Result<void> dimensions(TensorInfo& info, uint64_t after);
    Result<void> data_section();

    Input in_;
    gguf_context& ctx_;
    uint64_t start_;
};

// The least bytes that n items of `least` bytes take, saturated: it only bounds read-ahead.
uint64_t least(uint64_t n, uint64_t bytes) {
    return n > UINT64_MAX / 64 ? UINT64_MAX / 2 : n * bytes;
}

uint64_t after_kv(const Header& h, uint64_t i) {
    return least(h.n_kv - i - 1, kLeastKv) + least(h.n_tensors, kLeastTensor);
}

Result<void> Parser::metadata() {
    in_.about("header");
    auto header = this->header();
    if (!header) return header.error();
    for (uint64_t i = 0; i < header->n_kv; ++i) {
        auto done = kv(i, *header, after_kv(*header, i));
        if (!done) return done;
    }
    if (auto done = alignment(); !done) return done;
    for (uint64_t i = 0; i < header->n_tensors; ++i) {
        auto done = tensor(i, *header, least(header->n_tensors - i - 1, kLeastTensor));
        if (!done) return done;
    }
    return data_section();
}

Result<Header> Parser::header() {
    in_.promise(20);
    char magic[4];
    if (auto done = in_.bytes(magic, sizeof magic, "magic"); !done) return done.error();
    if (std::memcmp(magic, GGUF_MAGIC, sizeof magic) != 0) {
        for (char& c : magic) {
            if (c < 0x20 || c > 0x7E) c = '?';
        }
        return invalid("header: magic is '%.4s', a model file starts with '%s'", magic, GGUF_MAGIC);
    }
    in_.promise(16);
    if (auto done = version(); !done) return done.error();
    Header header;
    in_.promise(8);
    auto n_tensors = count("n_tensors", kLeastTensor);
    if (!n_tensors) return n_tensors.error();
    header.n_tensors = *n_tensors;
    in_.promise(least(header.n_tensors, kLeastTensor));
    auto n_kv = count("n_kv", kLeastKv);
    if (!n_kv) return n_kv.error();
    header.n_kv = *n_kv;
    return header;
}

Result<void> Parser::version() {
    auto version = in_.number<uint32_t>("version");
    if (!version) return version.error();
    const uint32_t v = *version;
    if (v == 0) return invalid("header: version is 0, readable are 2 and %d", GGUF_VERSION);
    if ((v & 0xFFFF) == 0) {
        return invalid("header: version 0x%08" PRIx32
                       " looks byte-swapped: the file has another byte order than this machine",
                       v);
    }
    if (v == 1 || v > GGUF_VERSION) {
        return invalid("header: version v%" PRIu32 " is not supported, readable are v2 and v%d", v,
                       GGUF_VERSION);
    }
    ctx_.version = v;
    return {};
}

// A count of items that take at least `least_bytes` each.
Result<uint64_t> Parser::count(const char* field, uint64_t least_bytes) {
    auto n = in_.number<int64_t>(field);
    if (!n) return n.error();
    if (*n < 0) return invalid("header: %s is %" PRId64 ", below 0", field, *n);
    const auto items = static_cast<uint64_t>(*n);
    if (items > in_.left() / least_bytes) {
        return invalid("header: %s is %" PRIu64 ", the %" PRIu64
                       " bytes that follow hold at most %" PRIu64,
                       field, items, in_.left(), in_.left() / least_bytes);
    }
    return items;
}

Result<void> Parser::kv(uint64_t i, const Header& header, uint64_t after) {
    in_.about("key " + std::to_string(i + 1) + " of " + std::to_string(header.n_kv));
    auto name = key(after);
    if (!name) return name.error();
    in_.about("key '" + shown(*name) + "'");

    auto kv = std::make_unique<Kv>();
    kv->key = std::move(*name);
    in_.promise(after + 1);
    auto type = in_.number<int32_t>("type");
    if (!type) return type.error();
    if (!is_value_type(*type)) {
        return invalid("%s: value type %" PRId32 " is not in 0..%d", in_.subject().c_str(), *type,
                       GGUF_TYPE_COUNT - 1);
    }
    kv->is_array = *type == GGUF_TYPE_ARRAY;
    kv->type = static_cast<gguf_type>(*type);
    auto done = kv->is_array ? array(*kv, after) : scalar(*kv, after);
    if (!done) return done;
    if (kv->type == GGUF_TYPE_BOOL) {
        for (uint8_t& byte : kv->data) byte = byte != 0;
    }
    ctx_.put(std::move(kv));
    return {};
}

Result<std::string> Parser::key(uint64_t after) {
    in_.promise(after + 6);
    auto length = in_.number<uint64_t>("key length");
    if (!length) return length.error();
    if (*length == 0) return invalid("%s: key length is 0", in_.subject().c_str());
    if (*length > kMaxKeyBytes || *length > in_.left()) {
        return invalid("%s: key length is %" PRIu64 ", at most %" PRIu64 " bytes of %" PRIu64
                       " left may be a key",
                       in_.subject().c_str(), *length, kMaxKeyBytes, in_.left());
    }
    std::string key(static_cast<size_t>(*length), '\0');
    in_.promise(after + 5);
    if (auto done = in_.bytes(key.data(), *length, "key"); !done) return done.error();
    if (const size_t at = key.find('\0'); at != std::string::npos) {
        return invalid("%s: key '%s' has a zero byte at %zu of %zu", in_.subject().c_str(),
                       shown(key).c_str(), at, key.size());
    }
    if (const int64_t first = ctx_.find_kv(key); first >= 0) {
        return invalid("%s: key '%s' was seen before as key %" PRId64, in_.subject().c_str(),
                       shown(key).c_str(), first + 1);
    }
    return key;
}

Result<void> Parser::scalar(Kv& kv, uint64_t after) {
    if (kv.type == GGUF_TYPE_STRING) return string(kv, after);
    kv.n = 1;
    kv.data.resize(gguf_type_size(kv.type));
    in_.promise(after);
    return in_.bytes(kv.data.data(), kv.data.size(), "value");
}

Result<void> Parser::array(Kv& kv, uint64_t after) {
    in_.promise(after + 8);
    auto type = in_.number<int32_t>("element type");
    if (!type) return type.error();
    if (!is_value_type(*type) || *type == GGUF_TYPE_ARRAY) {
        return invalid("%s: element type %" PRId32 " is not in 0..%d or is an array (%d)",
                       in_.subject().c_str(), *type, GGUF_TYPE_COUNT - 1, GGUF_TYPE_ARRAY);
    }
    kv.type = static_cast<gguf_type>(*type);
    const bool strings = kv.type == GGUF_TYPE_STRING;
    const uint64_t element = strings ? sizeof(uint64_t) : gguf_type_size(kv.type);

    in_.promise(after);
    auto n = in_.number<uint64_t>("element count");
    if (!n) return n.error();
    if (*n > kMaxArrayElements || *n > in_.left() / element) {
        return invalid("%s: element count is %" PRIu64 ", the %" PRIu64
                       " bytes that follow hold at most %" PRIu64 ", the limit is %" PRIu64,
                       in_.subject().c_str(), *n, in_.left(), in_.left() / element,
                       kMaxArrayElements);
    }
    if (!strings) {
        kv.n = *n;
        return in_.append(kv.data, *n * element, "elements");
    }
    // Modest, since n is only a claim: memory follows the bytes that arrive.
    kv.starts.reserve(std::min<uint64_t>(*n, 1 << 18));
    kv.data.reserve(std::min<uint64_t>(*n, 1 << 18) * sizeof(uint64_t));
    for (uint64_t i = 0; i < *n; ++i) {
        auto done = string(kv, after + (*n - i - 1) * sizeof(uint64_t));
        if (!done) return done;
    }
    return {};
}

// Appends one string and its terminator.
Result<void> Parser::string(Kv& kv, uint64_t after) {
    in_.promise(after);
    auto length = in_.number<uint64_t>("string length");
    if (!length) return length.error();
    if (*length > kMaxStringBytes || *length > in_.left()) {
        return invalid("%s: string %" PRIu64 " has length %" PRIu64 ", %" PRIu64
                       " bytes are left and the limit is %" PRIu64,
                       in_.subject().c_str(), kv.n, *length, in_.left(), kMaxStringBytes);
    }
    const uint64_t start = kv.data.size();
    if (*length <= in_.buffered()) {  // a vocabulary has hundreds of thousands of these
        kv.data.resize(start + *length + 1);
        in_.take_buffered(kv.data.data() + start, *length);
    } else {
        if (auto done = in_.append(kv.data, *length, "string"); !done) return done;
        kv.data.push_back(0);
    }
    kv.starts.push_back(start);
    ++kv.n;
    return {};
}

Result<void> Parser::alignment() {
    const int64_t id = ctx_.find_kv(GGUF_KEY_GENERAL_ALIGNMENT);
    if (id < 0) return {};
    const Kv& kv = *ctx_.kvs[static_cast<size_t>(id)];
    if (kv.is_array || kv.type != GGUF_TYPE_UINT32) {
        return invalid("key '%s': type is %s, must be %s", kv.key.c_str(),
                       gguf_type_name(kv.is_array ? GGUF_TYPE_ARRAY : kv.type),
                       gguf_type_name(GGUF_TYPE_UINT32));
    }
    uint32_t value;
    std::memcpy(&value, kv.data.data(), sizeof value);
    if (!is_valid_alignment(value)) {
        return invalid("key '%s': %" PRIu32 " is not a power of two from 1 to %" PRIu64,
                       kv.key.c_str(), value, kMaxAlignment);
    }
    ctx_.alignment = value;
    return {};
}

Result<void> Parser::tensor(uint64_t i, const Header& header, uint64_t after) {
    in_.about("tensor " + std::to_string(i + 1) + " of " + std::to_string(header.n_tensors));
    TensorInfo info;
    if (auto done = name(info, after); !done) return done;
    in_.about("tensor '" + shown(info.tensor.name) + "'");
    if (auto done = dimensions(info, after); !done) return done;

    in_.promise(after + 8);
    auto type = in_.number<int32_t>("type");
    if (!type) return type.error();
    in_.promise(after);
    auto offset = in_.number<uint64_t>("offset");
    if (!offset) return offset.error();
    // Before the cast: an enum may not hold any number.
    if (!is_usable_type(*type)) {
        return invalid("%s: type %" PRId32 " is not in 0..%d or was removed", in_.subject().c_str(),
                       *type, GGML_TYPE_COUNT - 1);
    }
    info.tensor.type = static_cast<ggml_type>(*type);
    info.offset = *offset;
    if (auto done = set_dense_layout(info, in_.subject().c_str()); !done) return done;
    ctx_.append(info);
    return {};
}

Result<void> Parser::name(TensorInfo& info, uint64_t after) {
    in_.promise(after + 16);
    auto length = in_.number<uint64_t>("name length");
    if (!length) return length.error();
    if (*length > kMaxNameBytes || *length > in_.left()) {
        return invalid("%s: name length is %" PRIu64 ", at most %" PRIu64 " bytes of %" PRIu64
                       " left may be a name",
                       in_.subject().c_str(), *length, kMaxNameBytes, in_.left());
    }
    char* name = info.tensor.name;
    if (auto done = in_.bytes(name, *length, "name"); !done) return done;
    if (const size_t visible = std::strlen(name); visible != *length) {
        return invalid("%s: name '%s' has a zero byte at %zu of %" PRIu64, in_.subject().c_str(),
                       shown(name).c_str(), visible, *length);
    }
    if (const int64_t first = ctx_.find_tensor(name); first >= 0) {
        return invalid("%s: name '%s' was seen before as tensor %" PRId64, in_.subject().c_str(),
                       shown(name).c_str(), first + 1);
    }
    return {};
}

Result<void> Parser::dimensions(TensorInfo& info, uint64_t after) {
    in_.promise(after + 12);
    auto n_dims = in_.number<uint32_t>("n_dims");
    if (!n_dims) return n_dims.error();
    if (*n_dims > GGML_MAX_DIMS) {
        return invalid("%s: n_dims is %" PRIu32 ", at most %d", in_.subject().c_str(), *n_dims,
                       GGML_MAX_DIMS);
    }
    int64_t* ne = info.tensor.ne;
    if (auto done = in_.bytes(ne, *n_dims * sizeof(int64_t), "dimensions"); !done) return done;
    for (uint32_t j = *n_dims; j < GGML_MAX_DIMS; ++j) ne[j] = 1;
    return {};
}

// Finds the start of the data section and checks that the tensors fill it: each starts where the
// one before it, padded, ended. That leaves no room for gaps, overlaps or wrapped offsets.
Result<void> Parser::data_section() {
    ctx_.data_offset = start_ + in_.position();
    if (ctx_.tensors.empty()) return {};
    size_t data;
    if (!align_up_size(in_.position(), ctx_.alignment, &data)) {
        return invalid("header: metadata ends at %" PRIu64 ", too far to pad", in_.position());
    }
    size_t sum = 0;
    for (const TensorInfo& info : ctx_.tensors) {
        const std::string name = shown(info.tensor.name);
        if (info.offset != sum) {
            return invalid("tensor '%s': offset is %" PRIu64 ", must be %zu", name.c_str(),
                           info.offset, sum);
        }
        size_t padded;
        if (!align_up_size(info.size, ctx_.alignment, &padded) || !add_size(sum, padded, &sum)) {
            return invalid("tensor '%s': %" PRIu64 " bytes after offset %" PRIu64 " pass 2^64",
                           name.c_str(), info.size, info.offset);
        }
    }
    size_t end;
    if (!add_size(start_ + data, sum, &end) || end > static_cast<size_t>(INT64_MAX)) {
        return invalid("tensor '%s': ends %zu bytes after %" PRIu64
                       ", past the largest file offset",
                       shown(ctx_.tensors.back().tensor.name).c_str(), sum, start_ + data);
    }
    ctx_.data_size = sum;
    ctx_.data_offset = start_ + data;
    in_.about("data section");
    return in_.skip_to(data, "the first tensor");
}

}  // namespace

Result<gguf_context*> read(const Source& source, const gguf_init_params& params) {
    if (params.ctx) *params.ctx = nullptr;
    auto ctx = std::make_unique<gguf_context>();
    Parser parser(source, *ctx);
    if (auto done = parser.metadata(); !done) return done.error();
    if (params.ctx) {
        auto tensors = make_tensor_context(*ctx, parser.input(), params.no_alloc);
        if (!tensors) return tensors.error();
        *params.ctx = *tensors;
    }
    return ctx.release();
}

}  // namespace tenon::gguf
