// Worker teams: workers look for the next run for a while, then sleep on its number.

#include "core/stream/threads.h"

#include <algorithm>
#include <cstdio>
#include <system_error>

#include "core/base/bits.h"
#include "core/base/limits.h"
#include "core/base/log.h"
#include "core/base/os.h"
#include "core/stream/numa.h"
#include "core/stream/spin.h"

namespace tenon {
namespace {

// About as long as an application takes between two graphs of a decoding loop.
constexpr uint32_t kStreamSpinRounds = 20000;
// The end of a graph is a matter of microseconds: members meet at a barrier before it.
constexpr uint32_t kFinishSpinRounds = 2000;

// Set while this thread is a member of a running team: parallel loops inside run inline.
thread_local bool t_in_team = false;

struct InTeam {
    bool before = t_in_team;
    InTeam() { t_in_team = true; }
    ~InTeam() { t_in_team = before; }
};

}  // namespace
}  // namespace tenon

using namespace tenon;

Result<std::unique_ptr<tenon_team>> tenon_team::create(const TeamOptions& options) {
    if (options.n_members < 1 || options.n_members > GGML_MAX_N_THREADS) {
        return fail(TENON_E_INVALID, "a team of %d threads: need 1 to %d", options.n_members,
                    GGML_MAX_N_THREADS);
    }
    auto team = std::make_unique<tenon_team>(options);
    team->fork_generation_ = fork_generation();
    team->paused_.store(options.paused, std::memory_order_relaxed);
    team->pins_caller_ = team->mask_of(0, team->member0_mask_);
    // Workers that would take a processor from those that compute must not spin.
    if (static_cast<uint32_t>(options.n_members) > thread_budget()) {
        team->options_.spin_rounds = 0;
    }
    team->workers_.reserve(static_cast<size_t>(options.n_members) - 1);
    for (int i = 1; i < options.n_members; ++i) {
        try {
            team->workers_.emplace_back(&tenon_team::work, team.get(), static_cast<uint32_t>(i));
        } catch (const std::system_error& e) {
            if (options.may_shrink) {
                team->shrink_to(i, e.what());
                break;
            }
            return fail(TENON_E_BUSY, "cannot start thread %d of %d: %s", i, options.n_members,
                        e.what());
        }
    }
    return team;
}

// The system gives no more threads: those that run are the team.
void tenon_team::shrink_to(int n_members, const char* why) {
    static std::atomic<bool> warned{false};
    options_.n_members = n_members;
    if (warned.exchange(true, std::memory_order_relaxed)) return;
    log(GGML_LOG_LEVEL_WARN, "%d of %d threads could be started (%s): the work is theirs",
        n_members, wanted_, why);
}

tenon_team::~tenon_team() {
    if (forked()) {
        for (std::thread& worker : workers_) worker.detach();
        return;
    }
    stop_.store(true, std::memory_order_relaxed);
    run_word_.fetch_add(1u << kMembersBits, std::memory_order_seq_cst);
    os::wake_all(&run_word_);
    for (std::thread& worker : workers_) worker.join();
}

bool tenon_team::forked() const { return fork_generation_ != fork_generation(); }

// CPUs of a member: by the mask of the options, else by the NUMA strategy. False: no restriction.
bool tenon_team::mask_of(uint32_t member, bool* mask) const {
    const bool* given = options_.cpumask;
    const auto n_set = std::count(given, given + GGML_MAX_N_THREADS, true);
    if (n_set == 0) return numa_mask(member, mask);
    if (!options_.strict_cpu) {
        std::copy(given, given + GGML_MAX_N_THREADS, mask);
        return true;
    }
    // Workers take the set CPUs in order, the calling thread the next one after the last worker's.
    const int64_t place = member == 0 ? size() - 1 : static_cast<int64_t>(member) - 1;
    int64_t to_skip = place % n_set;
    for (int i = 0; i < GGML_MAX_N_THREADS; ++i) mask[i] = given[i] && to_skip-- == 0;
    return true;
}

void tenon_team::work(uint32_t member) {
    char name[16];
    std::snprintf(name, sizeof name, "tenon-%u", member);
    os::set_thread_name(name);
    bool mask[GGML_MAX_N_THREADS] = {};
    if (mask_of(member, mask)) os::set_thread_affinity(mask, GGML_MAX_N_THREADS);
    os::set_thread_priority(options_.priority);

    const InTeam in_team;
    uint32_t seen = 0;
    bool was_member = true;
    while (true) {
        // Who had no part in the last run is probably not needed for the next.
        seen = wait_for_run(seen, was_member ? options_.spin_rounds : 0);
        if (stop_.load(std::memory_order_relaxed)) return;
        const uint32_t members = seen & kMembersMask;
        was_member = member < members;
        if (!was_member) continue;
        call(function_, arg_, member, members);
        finish_one();
    }
}

void tenon_team::call(Function function, void* arg, uint32_t member, uint32_t members) noexcept {
    try {
        function(arg, member, members);
    } catch (...) {
        threw_.store(true, std::memory_order_relaxed);  // seen by the caller: finish_one() follows
    }
}

uint32_t tenon_team::wait_for_run(uint32_t seen, uint32_t rounds) {
    for (; rounds > 0 && !paused_.load(std::memory_order_relaxed); --rounds) {
        const uint32_t word = run_word_.load(std::memory_order_acquire);
        if (word != seen) return word;
        cpu_relax();
    }
    // Either this thread is counted before the caller looks for sleepers, or it sees the new
    // number.
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    uint32_t word;
    while ((word = run_word_.load(std::memory_order_seq_cst)) == seen) {
        os::wait_on(&run_word_, seen);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return word;
}

void tenon_team::finish_one() {
    if (pending_.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
    if (caller_waits_.load(std::memory_order_seq_cst)) os::wake_all(&pending_);
}

void tenon_team::wait_for_members() {
    for (uint32_t i = 0; i < kFinishSpinRounds; ++i) {
        if (pending_.load(std::memory_order_acquire) == 0) return;
        cpu_relax();
    }
    caller_waits_.store(1, std::memory_order_seq_cst);
    uint32_t left;
    while ((left = pending_.load(std::memory_order_seq_cst)) != 0) os::wait_on(&pending_, left);
    caller_waits_.store(0, std::memory_order_relaxed);
}

Result<void> tenon_team::run(Function function, void* arg) {
    if (forked()) {
        return fail(TENON_E_FORKED, "a team of %d threads belongs to the parent process", size());
    }
    if (running_.exchange(true, std::memory_order_acquire)) {
        return fail(TENON_E_BUSY, "a team of %d threads runs already", size());
    }
    const int active = active_.load(std::memory_order_relaxed);
    const uint32_t members = static_cast<uint32_t>(active > 0 ? active : size());
    const InTeam in_team;
    if (members == 1) {
        call(function, arg, 0, 1);
    } else {
        if (paused_.load(std::memory_order_relaxed)) resume();
        function_ = function;
        arg_ = arg;
        pending_.store(members - 1, std::memory_order_relaxed);
        const uint32_t number = (run_word_.load(std::memory_order_relaxed) >> kMembersBits) + 1;
        run_word_.store(number << kMembersBits | members, std::memory_order_seq_cst);
        if (sleepers_.load(std::memory_order_seq_cst) != 0) os::wake_all(&run_word_);
        call(function, arg, 0, members);
        wait_for_members();
    }
    const bool threw = threw_.load(std::memory_order_relaxed);
    if (threw) threw_.store(false, std::memory_order_relaxed);
    running_.store(false, std::memory_order_release);
    if (threw) {
        return fail(TENON_E_INTERNAL, "a function run by a team of %d threads threw an exception",
                    size());
    }
    return {};
}

void tenon_team::pause() { paused_.store(true, std::memory_order_relaxed); }
void tenon_team::resume() { paused_.store(false, std::memory_order_relaxed); }

bool tenon_team::acquire(int members) {
    if (taken_.exchange(true, std::memory_order_acquire)) return false;
    active_.store(std::min(members, size()), std::memory_order_relaxed);
    if (pins_caller_) {
        restore_caller_ = os::get_thread_affinity(caller_mask_, GGML_MAX_N_THREADS);
        os::set_thread_affinity(member0_mask_, GGML_MAX_N_THREADS);
    }
    return true;
}

void tenon_team::release() {
    if (restore_caller_) os::set_thread_affinity(caller_mask_, GGML_MAX_N_THREADS);
    restore_caller_ = false;
    active_.store(0, std::memory_order_relaxed);
    taken_.store(false, std::memory_order_release);
}

namespace tenon {

int default_threads() {
    return static_cast<int>(std::min<uint32_t>(GGML_DEFAULT_N_THREADS, thread_budget()));
}

uint32_t thread_budget() {
    static const uint32_t budget =
        std::min<uint32_t>(os::process_limits().cpus, GGML_MAX_N_THREADS);
    return budget;
}

Result<std::unique_ptr<tenon_team>> make_stream_team(int n_members) {
    TeamOptions options;
    options.n_members = std::clamp(n_members, 1, GGML_MAX_N_THREADS);
    options.spin_rounds = kStreamSpinRounds;
    options.may_shrink = true;
    return tenon_team::create(options);
}

bool in_team() { return t_in_team; }

}  // namespace tenon
