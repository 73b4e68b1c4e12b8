// Recorded blocks of a tensor type: decoding bit for bit, quantising byte for byte, dot products
// within 1e-6 of the sum of the absolute products.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "ggml-cpu.h"
#include "tests/conformance/golden.h"

namespace tenon::conformance {
namespace {

enum Section : uint32_t {
    kPlain = 1,
    kPlainDecoded = 2,
    kImatrix = 3,
    kImatrixDecoded = 4,
    kPartner = 5,
    kDot = 6,
    kCpuQuantized = 8,
    kReference = 9,
    kRaw = 16,
    kRawDecoded = 17,
    kRawPartner = 18,
    kRawDot = 19,
    kRawExtreme = 20,
    kRawExtremeDecoded = 21,
    kInputA = 32,
    kInputW = 34,
};

constexpr size_t kDotBytes = 5 * sizeof(double);  // of a row of kDot

struct Part {
    uint32_t kind, id, rows, n;
    std::vector<char> bytes;
};

struct TypeFile {
    int32_t type = -1;
    uint32_t partner = UINT32_MAX;
    std::vector<Part> parts;

    const Part* find(uint32_t kind, uint32_t id) const {
        for (const Part& p : parts) {
            if (p.kind == kind && p.id == id) return &p;
        }
        return nullptr;
    }
};

TypeFile read_type_file(const std::string& path) {
    const std::vector<char> bytes = golden_bytes(path);
    size_t at = 0;
    const auto take = [&](void* out, uint64_t n) {
        if (n > bytes.size() - at)
            throw std::runtime_error(path + ": cut short at " + std::to_string(at));
        std::copy_n(bytes.data() + at, n, static_cast<char*>(out));
        at += n;
    };
    uint32_t header[8];
    take(header, sizeof header);
    TypeFile file;
    file.type = static_cast<int32_t>(header[2]);
    file.partner = header[5];
    for (uint32_t i = 0; i < header[6]; ++i) {
        uint32_t words[4];
        uint64_t n;
        take(words, sizeof words);
        take(&n, sizeof n);
        if (n > bytes.size() - at)
            throw std::runtime_error(path + ": section of " + std::to_string(n) + " bytes at " +
                                     std::to_string(at));
        Part part{words[0], words[1], words[2], words[3], std::vector<char>(n)};
        take(part.bytes.data(), n);
        at = std::min(bytes.size(), (at + 7) / 8 * 8);
        file.parts.push_back(std::move(part));
    }
    return file;
}

bool same_bits(float a, float b) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (a == 0 && b == 0);
}

// What a number in a file must be, in the words of its failure.
void expect_equal(const std::string& what, uint64_t want, uint64_t is) {
    if (want != is) {
        throw std::runtime_error(what + ": " + std::to_string(is) + ", must be " +
                                 std::to_string(want));
    }
}

void expect_type(const std::string& path, uint32_t type) {
    if (type >= GGML_TYPE_COUNT || ggml_blck_size(static_cast<ggml_type>(type)) == 0) {
        throw std::runtime_error(path + ": type " + std::to_string(type) + " does not exist");
    }
}

// Sections of a type file, before anything is computed from them: every count against the bytes
// present and against the sections that are used with it.
class Counts {
public:
    Counts(const std::string& path, const TypeFile& file, const TypeFile& inputs)
        : path_(path), file_(file), inputs_(inputs) {}

    void check() const {
        for (const Part& part : file_.parts) {
            check_bytes(part);
            switch (part.kind) {
                case kPlainDecoded:
                    check_same(part, file_.find(kPlain, part.id));
                    break;
                case kImatrixDecoded:
                    check_same(part, file_.find(kImatrix, part.id));
                    check_same(part, file_.find(kPlain, part.id));
                    break;
                case kRawDecoded:
                case kRawPartner:
                case kRawDot:
                    check_same(part, file_.find(kRaw, part.id));
                    break;
                case kRawExtremeDecoded:
                    check_same(part, file_.find(kRawExtreme, part.id));
                    break;
                case kPlain:
                case kImatrix:
                    check_same(part, inputs_.find(kInputA, part.id));
                    check_imatrix(part);
                    break;
                case kDot:
                    check_same(part, file_.find(kPlain, part.id));
                    check_same(part, file_.find(kImatrix, part.id));
                    check_same(part, file_.find(kPartner, part.id));
                    break;
                default:
                    break;
            }
        }
    }

private:
    std::string where(const Part& part) const {
        return path_ + ": section " + std::to_string(part.kind) + ", case " +
               std::to_string(part.id);
    }

    // The type of the elements; GGML_TYPE_COUNT where there is nothing to check.
    uint32_t type_of(const Part& part) const {
        switch (part.kind) {
            case kPlain:
            case kImatrix:
            case kRaw:
            case kRawExtreme:
                return static_cast<uint32_t>(file_.type);
            case kPartner:
            case kRawPartner:
                return file_.partner;
            case kPlainDecoded:
            case kImatrixDecoded:
            case kRawDecoded:
            case kRawExtremeDecoded:
            case kInputA:
            case kInputW:
                return GGML_TYPE_F32;
            default:
                return GGML_TYPE_COUNT;
        }
    }

    void check_bytes(const Part& part) const {
        if (part.kind == kDot || part.kind == kRawDot) {
            return expect_equal(where(part) + ", bytes of " + std::to_string(part.rows) + " rows",
                                uint64_t{part.rows} * kDotBytes, part.bytes.size());
        }
        const uint32_t type = type_of(part);
        if (type == GGML_TYPE_COUNT) return;
        expect_type(where(part), type);
        const auto block = static_cast<uint32_t>(ggml_blck_size(static_cast<ggml_type>(type)));
        if (part.rows == 0 || part.n == 0 || part.n % block != 0) {
            throw std::runtime_error(where(part) + ": " + std::to_string(part.rows) + " rows of " +
                                     std::to_string(part.n) + " elements, in blocks of " +
                                     std::to_string(block));
        }
        uint64_t bytes = ggml_row_size(static_cast<ggml_type>(type), part.n);
        if (__builtin_mul_overflow(bytes, part.rows, &bytes)) bytes = UINT64_MAX;
        expect_equal(where(part) + ", bytes of " + std::to_string(part.rows) + " rows of " +
                         std::to_string(part.n) + " elements",
                     bytes, part.bytes.size());
    }

    // `other` is used row by row along with `part`.
    void check_same(const Part& part, const Part* other) const {
        if (!other) return;
        check_bytes(*other);
        expect_equal(where(part) + ", rows", other->rows, part.rows);
        expect_equal(where(part) + ", elements per row", other->n, part.n);
    }

    void check_imatrix(const Part& part) const {
        const Part* w = inputs_.find(kInputW, part.id);
        if (!w) return;
        check_bytes(*w);
        expect_equal(where(part) + ", elements per row", w->n, part.n);
    }

    const std::string& path_;
    const TypeFile &file_, &inputs_;
};

class TypeCheck {
public:
    TypeCheck(const std::string& path, const OnResult& on_result)
        : file_(read_type_file(path)),
          inputs_(
              read_type_file((std::filesystem::path(path).parent_path() / "inputs.bin").string())),
          type_(static_cast<ggml_type>(file_.type)),
          on_result_(on_result) {
        expect_type(path, static_cast<uint32_t>(file_.type));
        Counts(path, file_, inputs_).check();
    }

    void run() {
        for (const Part& part : file_.parts) {
            switch (part.kind) {
                case kPlainDecoded:
                    decode(part, kPlain, "decode");
                    break;
                case kImatrixDecoded:
                    decode(part, file_.find(kImatrix, part.id) ? kImatrix : kPlain,
                           "decode imatrix");
                    break;
                case kRawDecoded:
                    decode(part, kRaw, "decode raw");
                    break;
                case kRawExtremeDecoded:
                    decode(part, kRawExtreme, "decode extremes");
                    break;
                case kPlain:
                    quantize(part, false);
                    break;
                case kImatrix:
                    quantize(part, true);
                    break;
                case kDot:
                    dot(part, file_.find(kPlain, part.id) ? kPlain : kImatrix, kPartner, "dot");
                    break;
                case kRawDot:
                    dot(part, kRaw, kRawPartner, "dot raw");
                    break;
                default:
                    break;
            }
        }
    }

private:
    void tell(Outcome outcome, const char* what, uint32_t id, const std::string& message) {
        on_result_({outcome, ggml_type_name(type_),
                    std::string(what) + ", case " + std::to_string(id), message});
    }

    void decode(const Part& want, uint32_t from, const char* what) {
        const Part* blocks = file_.find(from, want.id);
        const auto to_float = ggml_get_type_traits(type_)->to_float;
        if (!blocks) return;
        if (!to_float) return tell(Outcome::kSkipped, what, want.id, "the type has no decoder");
        std::vector<float> got(want.bytes.size() / sizeof(float)), expected(got.size());
        std::memcpy(expected.data(), want.bytes.data(), want.bytes.size());
        for (uint32_t r = 0; r < want.rows; ++r) {
            to_float(blocks->bytes.data() + r * ggml_row_size(type_, want.n),
                     got.data() + size_t(r) * want.n, want.n);
        }
        for (size_t i = 0; i < got.size(); ++i) {
            if (!same_bits(got[i], expected[i]) &&
                !(std::isnan(got[i]) && std::isnan(expected[i]))) {
                return tell(Outcome::kFailed, what, want.id,
                            "element " + std::to_string(i) + ": " + std::to_string(expected[i]) +
                                " expected, got " + std::to_string(got[i]));
            }
        }
        tell(Outcome::kPassed, what, want.id, "");
    }

    // Cases in which the recorded bytes are a defect or a matter of taste; README, "How to
    // compare".
    bool exempt(uint32_t id) const { return id == 6 || (type_ == GGML_TYPE_IQ3_S && id == 14); }

    void quantize(const Part& want, bool with_imatrix) {
        const char* what = with_imatrix ? "quantize imatrix" : "quantize";
        const Part* a = inputs_.find(kInputA, want.id);
        const Part* w = inputs_.find(kInputW, want.id);
        if (!a || (with_imatrix && !w)) return;
        if (exempt(want.id)) return tell(Outcome::kSkipped, what, want.id, "exempt");
        std::vector<char> got(want.bytes.size());
        const auto* source = reinterpret_cast<const float*>(a->bytes.data());
        if (type_ == GGML_TYPE_Q8_1 ||
            type_ == GGML_TYPE_Q8_K) {  // activation types: their own quantiser
            // the reference if the type has one, else what the CPU converts activations with
            const auto* cpu = ggml_get_type_traits_cpu(type_);
            auto from_float = ggml_get_type_traits(type_)->from_float_ref;
            if (!from_float && cpu) from_float = cpu->from_float;
            if (!from_float) return tell(Outcome::kFailed, what, want.id, "no reference quantizer");
            for (uint32_t r = 0; r < want.rows; ++r) {
                from_float(source + size_t(r) * want.n,
                           got.data() + r * ggml_row_size(type_, want.n), want.n);
            }
        } else {
            const size_t n = ggml_quantize_chunk(
                type_, source, got.data(), 0, want.rows, want.n,
                with_imatrix ? reinterpret_cast<const float*>(w->bytes.data()) : nullptr);
            if (n != want.bytes.size()) {
                return tell(Outcome::kFailed, what, want.id,
                            std::to_string(n) + " bytes written, " +
                                std::to_string(want.bytes.size()) + " expected");
            }
        }
        if (got != want.bytes) {
            const auto at =
                std::mismatch(got.begin(), got.end(), want.bytes.begin()).first - got.begin();
            return tell(Outcome::kFailed, what, want.id, "byte " + std::to_string(at) + " differs");
        }
        tell(Outcome::kPassed, what, want.id, "");
    }

    void dot(const Part& want, uint32_t left_kind, uint32_t right_kind, const char* what) {
        const Part* left = file_.find(left_kind, want.id);
        const Part* right = file_.find(right_kind, want.id);
        const auto* traits = ggml_get_type_traits_cpu(type_);
        if (!left || !right) return;
        if (!traits || !traits->vec_dot)
            return tell(Outcome::kSkipped, what, want.id, "no dot product on this device");
        if (static_cast<uint32_t>(traits->vec_dot_type) != file_.partner) {
            return tell(Outcome::kFailed, what, want.id,
                        "partner type " + std::string(ggml_type_name(traits->vec_dot_type)));
        }
        const uint32_t n = left->n;
        for (uint32_t r = 0; r < left->rows; ++r) {
            double record[kDotBytes /
                          sizeof(double)];  // exact, sum of absolute products, three builds
            std::memcpy(record, want.bytes.data() + r * sizeof record, sizeof record);
            float got = NAN;
            traits->vec_dot(static_cast<int>(n), &got, 0,
                            left->bytes.data() + r * ggml_row_size(type_, n), 0,
                            right->bytes.data() + r * ggml_row_size(traits->vec_dot_type, n), 0, 1);
            if (!(std::fabs(got - record[0]) <= 1e-6 * record[1]) && std::isfinite(record[0])) {
                return tell(Outcome::kFailed, what, want.id,
                            "row " + std::to_string(r) + ": " + std::to_string(record[0]) +
                                " expected, got " + std::to_string(got) + ", limit " +
                                std::to_string(1e-6 * record[1]));
            }
        }
        tell(Outcome::kPassed, what, want.id, "");
    }

    TypeFile file_, inputs_;
    ggml_type type_;
    const OnResult& on_result_;
};

}  // namespace

void run_golden_type(const std::string& path, const OnResult& on_result) {
    TypeCheck(path, on_result).run();
}

}  // namespace tenon::conformance
