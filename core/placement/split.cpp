// Splits: runs of nodes of one backend, and the copies they need. Then the images: second headers
// for the nodes that read a copy, and for whatever reads those, so that the application's graph
// stays as it is.

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/placement/scheduler.h"

using namespace tenon;
using namespace tenon::placement;

namespace {

class Cutter {
public:
    explicit Cutter(ggml_backend_sched& sched) : s_(sched), image_(sched.image) {}

    void run() {
        s_.splits.clear();
        s_.copies.clear();
        s_.replacements.clear();
        s_.splits.push_back(Split{.uid = fresh_graph_uid()});
        for (size_t i = 0; i < image_.nodes.size(); i++) {
            const Item& x = image_.node(i);
            if (x.is_view_op()) continue;
            if (s_.splits.back().empty) {
                s_.splits.back().backend = x.backend;
                s_.splits.back().empty = false;
            } else if (needs_new_split(i)) {
                start_split(i, x.backend);
            }
            copy_sources(i);
            if (x.root >= 0) ++image_.items[x.root].writes;
        }
        s_.splits.back().end = static_cast<int32_t>(image_.nodes.size());
        s_.splits.back().copies_end = static_cast<int32_t>(s_.copies.size());
    }

private:
    // Copies of weights start a split of their own, so that memory of earlier ones can be used
    // again.
    bool needs_new_split(size_t node) {
        const Split& split = s_.splits.back();
        if (image_.node(node).backend != split.backend) return true;
        if (static_cast<size_t>(split.copies_first) == s_.copies.size()) return false;
        for (const Source& source : image_.sources_of(node)) {
            const Item& x = image_.items[source.item];
            if (x.weights && !s_.can_use(split.backend, x)) return true;
        }
        return false;
    }

    void start_split(size_t node, int8_t backend) {
        Split& old = s_.splits.back();
        old.end = static_cast<int32_t>(node);
        old.copies_end = static_cast<int32_t>(s_.copies.size());
        Split split{.backend = backend, .empty = false};
        split.first = old.end;
        split.copies_first = old.copies_end;
        split.uid = fresh_graph_uid();
        s_.splits.push_back(split);
    }

    void copy_sources(size_t node) {
        const int b = s_.splits.back().backend;
        for (const Source& source : image_.sources_of(node)) {
            if (s_.can_use(b, image_.items[source.item])) continue;
            const int32_t copy = copy_of(source.item, b);
            ++s_.copies[copy].readers;
            s_.replacements.push_back({static_cast<int32_t>(node), source.slot, copy});
        }
    }

    // A copy serves all later readers on its backend, until somebody writes into the original.
    int32_t copy_of(int32_t at, int b) {
        Item& x = image_.items[at];
        const int32_t version = x.root >= 0 ? image_.items[x.root].writes : x.writes;
        for (int32_t c = x.first_copy; c >= 0; c = s_.copies[c].next) {
            if (s_.copies[c].backend == b && s_.copies[c].version == version) return c;
        }
        Copy copy;
        copy.item = at;
        copy.version = version;
        copy.next = x.first_copy;
        copy.backend = static_cast<int8_t>(b);
        copy.from = reader_of(x);
        copy.user_input = x.has_flag(GGML_TENSOR_FLAG_INPUT);
        copy.tensor = make_tensor(*x.tensor, b);
        x.first_copy = static_cast<int32_t>(s_.copies.size());
        s_.copies.push_back(copy);
        return x.first_copy;
    }

    // The backend whose stream orders the reading of the original: the one that made it.
    int8_t reader_of(const Item& x) {
        if (s_.can_use(x.backend, x)) return x.backend;
        for (int b = 0; b < s_.n; b++) {
            if (s_.can_use(b, x)) return static_cast<int8_t>(b);
        }
        return static_cast<int8_t>(s_.last());
    }

    ggml_tensor* make_tensor(const ggml_tensor& original, int b) {
        ggml_tensor* t = s_.headers.next();
        *t = ggml_tensor{};
        t->type = original.type;
        std::copy_n(original.ne, GGML_MAX_DIMS, t->ne);
        std::copy_n(original.nb, GGML_MAX_DIMS, t->nb);
        std::snprintf(t->name, sizeof t->name, "%.40s#%.100s#0", ggml_backend_name(s_.backends[b]),
                      original.name);
        return t;
    }

    ggml_backend_sched& s_;
    Image& image_;
};

class ImageMaker {
public:
    explicit ImageMaker(ggml_backend_sched& sched) : s_(sched), image_(sched.image) {}

    void run() {
        size_t next = 0;
        const auto& replaced = s_.replacements;
        s_.node_images.clear();
        for (size_t i = 0; i < image_.nodes.size(); i++) {
            Item& x = image_.node(i);
            ggml_tensor* own = nullptr;
            for (; next < replaced.size() && static_cast<size_t>(replaced[next].node) == i;
                 next++) {
                if (!own) own = duplicate(*x.tensor);
                own->src[replaced[next].slot] = s_.copies[replaced[next].copy].tensor;
            }
            if (!replaced.empty()) own = follow_sources(i, own);
            if (own) x.image = own;
            s_.node_images.push_back(x.image);
        }
    }

private:
    // A node whose sources or root have another header now needs one too.
    ggml_tensor* follow_sources(size_t node, ggml_tensor* own) {
        const Item& x = image_.node(node);
        for (const Source& source : image_.sources_of(node)) {
            ggml_tensor* original = x.tensor->src[source.slot];
            if (own && own->src[source.slot] != original) continue;  // reads a copy
            ggml_tensor* now = image_of(source.item);
            if (now == original) continue;
            if (!own) own = duplicate(*x.tensor);
            own->src[source.slot] = now;
        }
        if (x.root >= 0 && image_of(x.root) != x.tensor->view_src) {
            if (!own) own = duplicate(*x.tensor);
            own->view_src = image_of(x.root);
        }
        return own;
    }

    // The header of a source; views that are no nodes follow their root.
    ggml_tensor* image_of(int32_t at) {
        Item& x = image_.items[at];
        if (x.node < 0 && x.root >= 0 && x.image == x.tensor) {
            ggml_tensor* root = image_.items[x.root].image;
            if (root != x.tensor->view_src) {
                x.image = duplicate(*x.tensor);
                x.image->view_src = root;
            }
        }
        return x.image;
    }

    // Everything but the unused end of the name.
    ggml_tensor* duplicate(const ggml_tensor& t) {
        ggml_tensor* own = s_.headers.next();
        std::memcpy(static_cast<void*>(own), &t, offsetof(ggml_tensor, name));
        const size_t length = strnlen(t.name, sizeof t.name - 1);
        std::memcpy(own->name, t.name, length);
        own->name[length] = '\0';
        own->extra = t.extra;
        std::memcpy(own->padding, t.padding, sizeof t.padding);
        return own;
    }

    ggml_backend_sched& s_;
    Image& image_;
};

// Whether the application, or another split through memory, may look at what a node leaves behind.
bool seen_outside(const Item& x) {
    return x.placed || x.root >= 0 || x.has_flag(GGML_TENSOR_FLAG_OUTPUT | GGML_TENSOR_FLAG_LOSS);
}

}  // namespace

void ggml_backend_sched::cut() {
    headers.clear();
    Cutter(*this).run();
    use_counts.clear();
    for (const int32_t at : image.nodes) {
        const Item& x = image.items[at];
        use_counts.push_back(!x.is_view_op() && seen_outside(x) ? -1 : x.uses);
    }
}

void ggml_backend_sched::make_images() { ImageMaker(*this).run(); }
