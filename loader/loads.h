// The candidates of the process and the loads that work on them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "loader/candidate.h"
#include "loader/discovery.h"
#include "loader/reports.h"

namespace tenon {

using Candidates = std::vector<Candidate*>;

// All candidates of the process and the loads that work on them. Everything but the reports is
// guarded by one mutex, which is held while plugins start.
class Loader {
public:
    std::mutex mutex;
    Reports reports;

    // All files of the places; `only_scan`: steps 1 to 7.
    void load_places(const std::vector<SearchPlace>& places, bool only_scan);
    // One file by absolute path; the registration it has when it is loaded already.
    Result<ggml_backend_reg_t> load_one(const std::string& path);
    // A plugin of the program itself.
    Result<ggml_backend_reg_t> load_entry(tenon_plugin_entry_fn entry);
    Result<void> unload(ggml_backend_reg_t reg);

private:
    // Steps 1 to 5, in search order.
    Candidates gather(const std::vector<SearchPlace>& places);
    Candidate* candidate_for(const std::string& file, const std::string& origin);
    Candidates loaded() const;
    Candidate* loaded_in_family(const std::string& family) const;
    void load_family(const std::string& family, Candidates members, Candidates* started);
    bool start(Candidate* candidate, Candidates* started);
    void choose_without_loading(const std::string& family, Candidates members);
    void register_started(const Candidates& started);
    static void tell_unmatched_filters(const Candidates& all);
    void tell_if_unusable(const std::string& family, const Candidates& all);
    void show(const Candidate& candidate);

    std::map<std::string, std::unique_ptr<Candidate>> candidates_;  // by file, or "builtin:" + id
    size_t next_order_ = 0;
};

}  // namespace tenon
