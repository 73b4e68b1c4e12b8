// rt-gguf compare: how far the tensors of one file are from those of another.

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tools/rt_gguf/commands.h"
#include "tools/rt_gguf/model_file.h"

namespace tenon::rt_gguf {
namespace {

constexpr int64_t kElements = 1 << 21;  // per piece: whole blocks of every type

struct Sums {
    double square_error = 0, square_a = 0, square_b = 0, product = 0, max_error = 0;
    uint64_t n = 0;

    void add(double a, double b) {
        const double error = std::fabs(a - b);
        // Equal infinities do not differ; a NaN on one side only is the largest error there is.
        const bool same = a == b || (std::isnan(a) && std::isnan(b));
        const double e = same                ? 0
                         : std::isnan(error) ? std::numeric_limits<double>::infinity()
                                             : error;
        square_error += e * e;
        max_error = std::max(max_error, e);
        square_a += a * a;
        square_b += b * b;
        product += a * b;
        ++n;
    }
    void add(const Sums& s) {
        square_error += s.square_error;
        square_a += s.square_a;
        square_b += s.square_b;
        product += s.product;
        max_error = std::max(max_error, s.max_error);
        n += s.n;
    }
    double rmse() const { return n ? std::sqrt(square_error / static_cast<double>(n)) : 0; }
    // Two zero tensors point the same way; a zero one and another do not.
    double cosine() const {
        if (square_a == 0 || square_b == 0) return square_a == square_b ? 1 : 0;
        return product / (std::sqrt(square_a) * std::sqrt(square_b));
    }
};

struct Row {
    std::string name, type_a, type_b, problem;  // problem: why there are no sums
    Sums sums;
};

std::string why_not(const Tensor& a, const Tensor* b) {
    if (!b) return "only in the first file";
    if (!ggml_are_same_shape(a.header, b->header)) {
        return shape_text(a) + " against " + shape_text(*b);
    }
    for (const Tensor* t : {&a, b}) {
        if (!is_convertible(t->type))
            return std::string(ggml_type_name(t->type)) + " has no values of its own";
    }
    return {};
}

Sums compare_data(const ModelFile& file_a, const Tensor& a, const ModelFile& file_b,
                  const Tensor& b) {
    file_a.expect_complete(a);  // before there is memory for what a file only claims to hold
    file_b.expect_complete(b);
    Sums sums;
    std::vector<char> bytes;
    std::vector<double> values_a, values_b;
    const auto load = [&](const ModelFile& file, const Tensor& t, int64_t at, int64_t n,
                          std::vector<double>& out) {
        bytes.resize(ggml_row_size(t.type, n));
        file.read(t, ggml_row_size(t.type, at), bytes.data(), bytes.size());
        out.resize(static_cast<size_t>(n));
        convert(t.type, bytes.data(), n, out.data());
    };
    for (int64_t at = 0; at < a.elements(); at += kElements) {
        const int64_t n = std::min(kElements, a.elements() - at);
        load(file_a, a, at, n, values_a);
        load(file_b, b, at, n, values_b);
        for (size_t i = 0; i < values_a.size(); ++i) sums.add(values_a[i], values_b[i]);
    }
    return sums;
}

std::vector<Row> compare_files(const ModelFile& file_a, const ModelFile& file_b) {
    std::vector<Row> rows;
    cli::Progress progress("comparing", file_a.tensors().size());
    for (const Tensor& a : file_a.tensors()) {
        const Tensor* b = file_b.find(a.name);
        Row row{
            a.name, ggml_type_name(a.type), b ? ggml_type_name(b->type) : "-", why_not(a, b), {}};
        progress.update(rows.size(), a.name);
        if (row.problem.empty()) row.sums = compare_data(file_a, a, file_b, *b);
        rows.push_back(std::move(row));
    }
    for (const Tensor& b : file_b.tensors()) {
        if (!file_a.find(b.name)) {
            rows.push_back({b.name, "-", ggml_type_name(b.type), "only in the second file", {}});
        }
    }
    return rows;
}

nlohmann::ordered_json to_json(const std::vector<Row>& rows, const Sums& total,
                               const Words& files) {
    nlohmann::ordered_json out{{"schema", "tenon.rt-gguf.compare"},
                               {"schema_version", 1},
                               {"a", files[0]},
                               {"b", files[1]}};
    out["tensors"] = nlohmann::ordered_json::array();
    for (const Row& row : rows) {
        nlohmann::ordered_json tensor{
            {"name", row.name}, {"type_a", row.type_a}, {"type_b", row.type_b}};
        if (!row.problem.empty()) {
            tensor["problem"] = row.problem;
        } else {
            tensor["rmse"] = row.sums.rmse();
            tensor["cosine"] = row.sums.cosine();
            tensor["max_error"] = row.sums.max_error;
        }
        out["tensors"].push_back(std::move(tensor));
    }
    out["total"] = {{"elements", total.n},
                    {"rmse", total.rmse()},
                    {"cosine", total.cosine()},
                    {"max_error", total.max_error}};
    return out;
}

void print_table(const std::vector<Row>& rows, const Sums& total) {
    cli::Table table;
    table.add_column("TENSOR");
    table.add_column("A");
    table.add_column("B");
    for (const char* title : {"RMSE", "COSINE", "MAX ERROR"})
        table.add_column(title, cli::Align::kRight);
    table.add_column("NOTE");
    const auto numbers = [&](const char* name, const std::string& a, const std::string& b,
                             const Sums& sums) {
        table.add_row({name, a, b, cli::format("%.4g", sums.rmse()),
                       cli::format("%.6f", sums.cosine()), cli::format("%.4g", sums.max_error)});
    };
    for (const Row& row : rows) {
        if (row.problem.empty()) {
            numbers(row.name.c_str(), row.type_a, row.type_b, row.sums);
        } else {
            table.add_row({row.name,
                           row.type_a,
                           row.type_b,
                           "-",
                           "-",
                           "-",
                           {row.problem, cli::Color::kYellow}});
        }
    }
    numbers("total", "", "", total);
    table.print(stdout, cli::terminal_of(stdout));
}

}  // namespace

int compare(const Words& words) {
    cli::po::options_description options("options");
    options.add_options()("json", "the figures as JSON");
    const Parsed parsed =
        parse_command("compare",
                      "Root mean square error, cosine and largest error of every tensor.\nExit "
                      "code 1 when tensors are missing or have other shapes.",
                      words, options, {"A", "B"});
    if (parsed.help) return cli::kAnswered;
    const ModelFile file_a(parsed.files[0]), file_b(parsed.files[1]);
    const std::vector<Row> rows = compare_files(file_a, file_b);
    Sums total;
    bool complete = true;
    for (const Row& row : rows) {
        total.add(row.sums);
        complete = complete && row.problem.empty();
    }
    if (parsed.options.count("json")) {
        cli::print_json(stdout, to_json(rows, total, parsed.files));
    } else {
        print_table(rows, total);
    }
    return complete ? cli::kAnswered : cli::kFailed;
}

}  // namespace tenon::rt_gguf
