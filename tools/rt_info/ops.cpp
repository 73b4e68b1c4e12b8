// rt-info: which device supports which op, asked with the representative calls of the op table.

#include <algorithm>
#include <iterator>
#include <memory>

#include "tools/rt_info/info.h"

namespace tenon::rt_info {
namespace {

struct ContextFree {
    void operator()(ggml_context* ctx) const { ggml_free(ctx); }
};
using Context = std::unique_ptr<ggml_context, ContextFree>;

// A call with the node that asks it; the context keeps the node.
struct Question {
    Context context;
    ggml_tensor* node = nullptr;
};

Question build_call(size_t op, size_t sub_op, size_t i, std::string* description) {
    constexpr size_t kTensors = 32;
    Question q;
    q.context.reset(ggml_init({.mem_size = kTensors * ggml_tensor_overhead() + 1024,
                               .mem_buffer = nullptr,
                               .no_alloc = true}));
    char text[256] = "";
    q.node = tenon_op_call(q.context.get(), op, sub_op, i, text, sizeof text);
    *description = text;
    return q;
}

bool has_type(const ggml_tensor& node, const std::string& globs) {
    const auto matches = [&](ggml_type type) {
        for (size_t begin = 0; begin <= globs.size();) {
            const size_t end = std::min(globs.find(',', begin), globs.size());
            if (cli::glob_match(globs.substr(begin, end - begin), ggml_type_name(type)))
                return true;
            begin = end + 1;
        }
        return false;
    };
    if (matches(node.type)) return true;
    for (const ggml_tensor* src : node.src) {
        if (src && matches(src->type)) return true;
    }
    return false;
}

// All rows with their calls, and the nodes in the same order.
struct Questionnaire {
    std::vector<OpRow> rows;
    std::vector<Question> questions;
    std::vector<const ggml_tensor*> nodes;
};

void add_calls(size_t op, size_t sub_op, const std::string& type_globs, OpRow* row,
               Questionnaire* all) {
    for (size_t i = 0, n = tenon_op_call_count(op, sub_op); i < n; ++i) {
        OpCall call;
        Question q = build_call(op, sub_op, i, &call.description);
        if (!q.node) continue;
        if (!type_globs.empty() && !has_type(*q.node, type_globs)) continue;
        call.work = tenon_node_work(q.node);
        all->nodes.push_back(q.node);
        all->questions.push_back(std::move(q));
        row->calls.push_back(std::move(call));
    }
}

Questionnaire make_questions(const std::string& type_globs) {
    Questionnaire all;
    for (size_t op = 0; op < tenon_op_count(); ++op) {
        tenon_op_info info{};
        info.struct_size = sizeof info;
        if (!tenon_op_get(op, &info)) break;
        const size_t n_rows = std::max<size_t>(info.n_sub_ops, 1);
        for (size_t sub = 0; sub < n_rows; ++sub) {
            OpRow row{info.name, info.symbol, info.sources, info.params, info.doc, {}};
            tenon_sub_op_info sub_info{};
            sub_info.struct_size = sizeof sub_info;
            if (info.n_sub_ops && tenon_sub_op_get(op, sub, &sub_info)) {
                row.name += std::string(":") + sub_info.name;
                row.doc = sub_info.doc;
            }
            add_calls(op, sub, type_globs, &row, &all);
            all.rows.push_back(std::move(row));
        }
    }
    return all;
}

// Answers of one device to all questions; without one, nothing is supported.
std::vector<OpVerdict> ask(ggml_backend_dev_t device, const Questionnaire& all, bool want_cost) {
    std::vector<tenon_op_verdict> verdicts(all.nodes.size());
    if (tenon_device_query(device, all.nodes.data(), all.nodes.size(), verdicts.data(),
                           want_cost) != TENON_OK) {
        verdicts.assign(all.nodes.size(), tenon_op_verdict{});
    }
    std::vector<OpVerdict> answers;
    for (size_t i = 0; i < verdicts.size(); ++i) {
        OpVerdict& answer = answers.emplace_back(OpVerdict{verdicts[i], {}});
        answer.estimate.struct_size = sizeof answer.estimate;
        if (want_cost && answer.support != TENON_SUPPORT_NO)
            tenon_device_estimate(device, all.nodes[i], &verdicts[i], &answer.estimate);
    }
    return answers;
}

// "CUDA0-7" when the devices differ in a number at the end.
std::string range_title(const std::vector<std::string>& names) {
    if (names.size() == 1) return names[0];
    const std::string& last = names.back();
    const size_t digits = last.find_last_not_of("0123456789");
    return names[0] + "-" + (digits == std::string::npos ? last : last.substr(digits + 1));
}

struct Group {
    OpColumn column;
    ggml_backend_dev_t device;
    std::string key;
};

// One column per plugin and kind of hardware.
std::vector<Group> group_devices(const World& world, const Options& options) {
    std::vector<Group> groups;
    for (const Device& d : world.devices) {
        if (!d.hidden.empty() && !options.all) continue;
        const std::string key = d.plugin_id + "\n" + d.kind + "\n" + d.description;
        const auto same = std::find_if(groups.begin(), groups.end(),
                                       [&](const Group& g) { return g.key == key; });
        if (same != groups.end())
            same->column.devices.push_back(d.name);
        else
            groups.push_back({{"", {d.name}}, d.handle, key});
    }
    for (Group& g : groups) g.column.title = range_title(g.column.devices);
    return groups;
}

struct Count {
    size_t yes = 0, emulated = 0, n = 0;
};

Count count(const OpRow& row, size_t column) {
    Count c;
    for (const OpCall& call : row.calls) {
        ++c.n;
        const uint32_t support = call.verdicts[column].support;
        c.yes += support != TENON_SUPPORT_NO;
        c.emulated += support == TENON_SUPPORT_EMULATED;
    }
    return c;
}

std::string cell(const OpRow& row, size_t column) {
    const Count c = count(row, column);
    if (c.yes == 0) return "-";
    return cli::format("%zu/%zu%s", c.yes, c.n, c.emulated ? "e" : "");
}

OpCounts totals(const OpMatrix& matrix, size_t column) {
    OpCounts t;
    for (const OpRow& row : matrix.rows) {
        const Count c = count(row, column);
        ++t.total;
        t.any += c.yes > 0;
        t.complete += c.yes == c.n;
    }
    return t;
}

size_t column_of(const OpMatrix& matrix, const std::string& name) {
    std::vector<std::string> valid;
    for (size_t i = 0; i < matrix.columns.size(); ++i) {
        for (const std::string& device : matrix.columns[i].devices) {
            if (cli::glob_match(name, device)) return i;
            valid.push_back(device);
        }
    }
    throw cli::unknown_name("device of --diff", name, valid);
}

// Keeps the rows two devices answer differently.
void keep_differences(OpMatrix* matrix, const std::string& diff) {
    const size_t comma = diff.find(',');
    if (comma == std::string::npos) throw cli::stop(cli::kUsage, "--diff wants two devices: A,B");
    const size_t a = column_of(*matrix, diff.substr(0, comma));
    const size_t b = column_of(*matrix, diff.substr(comma + 1));
    std::erase_if(matrix->rows, [&](const OpRow& row) {
        return std::all_of(row.calls.begin(), row.calls.end(), [&](const OpCall& call) {
            return call.verdicts[a].support == call.verdicts[b].support;
        });
    });
}

void keep_op(OpMatrix* matrix, const std::string& name) {
    std::vector<std::string> valid;
    for (const OpRow& row : matrix->rows) valid.push_back(row.name);
    std::erase_if(matrix->rows, [&](const OpRow& row) {
        const size_t colon = row.name.find(':');
        const bool is_sub = colon != std::string::npos;
        return !(cli::glob_match(name, row.name) ||
                 (is_sub && (cli::glob_match(name, row.name.substr(0, colon)) ||
                             cli::glob_match(name, row.name.substr(colon + 1)))));
    });
    if (!matrix->rows.empty()) return;
    const std::string near = cli::nearest(name, valid);
    throw cli::stop(cli::kUnknownName, "unknown op '%s'%s%s (rt-info --ops lists all)",
                    name.c_str(), near.empty() ? "" : ", nearest is ", near.c_str());
}

// "33.6 M"
std::string count_text(double n) {
    constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
    size_t unit = 0;
    for (; n >= 999.5 && unit + 1 < std::size(kUnits); ++unit) n /= 1000;
    return cli::format("%.3g%s", n, kUnits[unit]);
}

std::string work_bytes_text(const tenon_work& work) {
    return cli::bytes_text(static_cast<uint64_t>(work.bytes_read + work.bytes_written));
}

std::string verdict_text(const OpVerdict& v) {
    if (v.support == TENON_SUPPORT_NO)
        return std::string("no: ") + (v.detail ? v.detail : tenon_reason_word(v.reason));
    std::string text = v.support == TENON_SUPPORT_EMULATED ? "emulated" : "yes";
    if (v.estimate.time_ns == 0) return text;
    // Whose word the time is: the plugin's, unless it says otherwise.
    constexpr const char* kSources[] = {"", "", " by its rates", " by its kind"};
    const char* mark = v.flags & TENON_VERDICT_MEASURED ? "*" : "~";
    return text + " " + mark + cli::time_text(static_cast<double>(v.estimate.time_ns) * 1e-9) +
           kSources[v.estimate.source & 3];
}

}  // namespace

OpMatrix ask_ops(const World& world, const Options& options) {
    const bool one_op = options.what == What::kOp;
    Questionnaire all = make_questions(options.type_globs);
    OpMatrix matrix;
    std::vector<std::vector<OpVerdict>> answers;
    for (Group& group : group_devices(world, options)) {
        answers.push_back(ask(group.device, all, /*want_cost=*/one_op || options.json));
        matrix.columns.push_back(std::move(group.column));
    }
    size_t next = 0;
    for (OpRow& row : all.rows) {
        for (OpCall& call : row.calls) {
            for (const auto& answer : answers) call.verdicts.push_back(answer[next]);
            ++next;
        }
    }
    matrix.rows = std::move(all.rows);
    std::sort(matrix.rows.begin(), matrix.rows.end(),
              [](const OpRow& a, const OpRow& b) { return a.name < b.name; });
    if (one_op)
        keep_op(&matrix, options.name);
    else
        std::erase_if(matrix.rows, [](const OpRow& row) { return row.calls.empty(); });
    if (!options.diff.empty()) keep_differences(&matrix, options.diff);
    return matrix;
}

void count_ops(World* world) {
    const Questionnaire all = make_questions("");
    for (Device& device : world->devices) {
        const auto verdicts = ask(device.handle, all, /*want_cost=*/false);
        size_t next = 0;
        for (const OpRow& row : all.rows) {
            if (row.calls.empty()) continue;
            size_t yes = 0;
            for (size_t i = 0; i < row.calls.size(); ++i)
                yes += verdicts[next++].support != TENON_SUPPORT_NO;
            ++device.ops.total;
            device.ops.any += yes > 0;
            device.ops.complete += yes == row.calls.size();
        }
        device.has_ops = true;
    }
}

void print_ops(const OpMatrix& matrix, const Options& options, std::FILE* out) {
    cli::Table table;
    table.add_column("");
    for (const OpColumn& column : matrix.columns)
        table.add_column(column.title, cli::Align::kRight);
    for (const OpRow& row : matrix.rows) {
        std::vector<cli::Cell> cells = {" " + row.name};
        for (size_t i = 0; i < matrix.columns.size(); ++i) cells.emplace_back(cell(row, i));
        table.add_row(std::move(cells));
    }
    std::vector<cli::Cell> any = {
        cli::format(" %zu ops, supported at least in part", matrix.rows.size())};
    std::vector<cli::Cell> complete = {" completely"};
    for (size_t i = 0; i < matrix.columns.size(); ++i) {
        const OpCounts t = totals(matrix, i);
        any.emplace_back(cli::format("%zu", t.any));
        complete.emplace_back(cli::format("%zu", t.complete));
    }
    table.add_row(std::move(any));
    table.add_row(std::move(complete));
    table.print(out, options.terminal);
    std::fputs(
        "\nn/m: m representative calls asked, n accepted; - none; e: emulated, slow path.  "
        "Details: rt-info --op MUL_MAT\n",
        out);
}

void print_op(const OpMatrix& matrix, const Options& options, std::FILE* out) {
    bool first = true;
    for (const OpRow& row : matrix.rows) {
        if (!first) std::fputc('\n', out);
        first = false;
        std::fprintf(out, "%-17s %s\n", row.name.c_str(), row.doc.c_str());
        if (!row.sources.empty()) std::fprintf(out, "  sources     %s\n", row.sources.c_str());
        if (!row.params.empty()) std::fprintf(out, "  parameters  %s\n", row.params.c_str());
        if (row.calls.empty()) continue;
        std::fputc('\n', out);
        cli::Table table;
        table.add_column("  call");
        table.add_column("operations", cli::Align::kRight);
        table.add_column("bytes", cli::Align::kRight);
        for (const OpColumn& column : matrix.columns) table.add_column(column.title);
        for (const OpCall& call : row.calls) {
            std::vector<cli::Cell> cells = {"  " + call.description, count_text(call.work.ops),
                                            work_bytes_text(call.work)};
            for (const OpVerdict& v : call.verdicts) cells.emplace_back(verdict_text(v));
            table.add_row(std::move(cells));
        }
        table.print(out, options.terminal);
    }
}

}  // namespace tenon::rt_info
