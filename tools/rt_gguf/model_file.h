// A model file as the commands see it: parsed metadata, and tensor data read piece by piece, so
// that memory does not grow with the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gguf.h"
#include "tools/cli/files.h"

namespace tenon::rt_gguf {

using Gguf = std::unique_ptr<gguf_context, cli::GgufFree>;

struct Tensor {
    std::string name;
    ggml_type type;
    const ggml_tensor* header;  // shape; without data
    uint64_t offset;            // bytes from the start of the data section
    uint64_t size;              // bytes

    int64_t row_elements() const { return header->ne[0]; }
    int64_t rows() const { return ggml_nrows(header); }
    int64_t elements() const { return ggml_nelements(header); }
    size_t row_bytes() const { return ggml_row_size(type, header->ne[0]); }
};

class ModelFile {
public:
    // Throws cli::Stop when the file cannot be opened or its metadata is bad.
    explicit ModelFile(const std::string& path);

    const std::string& path() const { return file_.path(); }
    const gguf_context* gguf() const { return metadata_.gguf.get(); }
    const std::vector<Tensor>& tensors() const { return tensors_; }
    const Tensor* find(const std::string& name) const;  // NULL when absent
    uint64_t file_bytes() const { return file_.size(); }
    uint64_t data_offset() const { return gguf_get_data_offset(gguf()); }

    // Bytes of a tensor, from byte `from` of it. Throws when the file ends before.
    void read(const Tensor& tensor, uint64_t from, void* out, size_t size) const;
    // Throws when data of the tensor is missing.
    void expect_complete(const Tensor& tensor) const;

    // "" when the data of the tensor lies inside the file, else what is wrong with both numbers.
    std::string missing(const Tensor& tensor) const;

private:
    cli::InputFile file_;
    cli::Metadata metadata_;
    std::vector<Tensor> tensors_;
};

// "64 x 512", trailing ones dropped.
std::string shape_text(const Tensor& tensor);

// Whether values of this type can be turned into floats.
bool is_convertible(ggml_type type);

// n elements of `type` (whole blocks) as floats or doubles; the type must be convertible.
void convert(ggml_type type, const void* in, int64_t n, float* out);
void convert(ggml_type type, const void* in, int64_t n, double* out);

// A value of a pair as text: numbers, quoted strings; of arrays the first `most` elements.
std::string value_text(const gguf_context* ctx, int64_t id, size_t most);
// "u32", "str[512]"
std::string type_text(const gguf_context* ctx, int64_t id);

}  // namespace tenon::rt_gguf
