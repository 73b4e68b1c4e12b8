// Worker teams: workers look for the next run for a while, then sleep on its number.

#include "core/stream/threads.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "core/base/bits.h"
#include "core/base/limits.h"
#include "core/base/log.h"
#include "core/base/os.h"
#include "core/base/per_thread.h"
#include "core/stream/numa.h"
#include "core/stream/spin.h"

namespace tenon {
namespace {

// About as long as an application takes between two graphs of a decoding loop.
constexpr uint32_t kStreamSpinRounds = 20000;
// The end of a graph is a matter of microseconds: members meet at a barrier before it.
constexpr uint32_t kFinishSpinRounds = 2000;

// Set while this thread is a member of a running team: parallel loops inside run inline.
TENON_PER_THREAD bool t_in_team = false;

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
    team->workers_.resize(static_cast<size_t>(options.n_members) - 1);
    team->lost_ = std::make_unique<std::atomic<bool>[]>(team->workers_.size());
    for (int i = 1; i < options.n_members; ++i) {
        try {
            team->start_worker(i);
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

// It takes part in the runs after those that have begun.
void tenon_team::start_worker(int member) {
    workers_[static_cast<size_t>(member) - 1] =
        std::thread(&tenon_team::work, this, static_cast<uint32_t>(member),
                    run_word_.load(std::memory_order_relaxed));
}

// Between two runs, by the caller of the next.
Result<void> tenon_team::replace_lost_workers() {
    any_lost_.store(false, std::memory_order_relaxed);
    for (int i = 1; i < size(); ++i) {
        std::thread& worker = workers_[static_cast<size_t>(i) - 1];
        std::atomic<bool>& lost = lost_[static_cast<size_t>(i) - 1];
        if (!lost.load(std::memory_order_acquire)) continue;
        const os::NoCancel held_back;
        any_lost_.store(true, std::memory_order_relaxed);  // unless all goes well
        if (worker.joinable()) worker.join();
        try {
            start_worker(i);
        } catch (const std::system_error& e) {
            return fail(TENON_E_BUSY, "cannot start thread %d of %d again: %s", i, size(),
                        e.what());
        }
        lost.store(false, std::memory_order_relaxed);
        any_lost_.store(false, std::memory_order_relaxed);
    }
    return {};
}

tenon_team::~tenon_team() {
    const os::NoCancel held_back;
    if (forked()) {
        for (std::thread& worker : workers_) {
            if (worker.joinable()) worker.detach();
        }
        return;
    }
    stop_.store(true, std::memory_order_relaxed);
    run_word_.fetch_add(1u << kMembersBits, std::memory_order_seq_cst);
    os::wake_all(&run_word_);
    for (std::thread& worker : workers_) {
        if (worker.joinable()) worker.join();  // one that could not be started is not
    }
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

// Runs while a function unwinds the stack of a worker to its end: the caller must not wait for it.
struct tenon_team::Leaving {
    tenon_team& team;
    const uint32_t member;
    bool finished = false;
    ~Leaving() {
        if (finished) return;
        team.lost_[member - 1].store(true, std::memory_order_release);
        team.any_lost_.store(true, std::memory_order_relaxed);
        team.left_.store(true, std::memory_order_relaxed);
        team.finish_one();
    }
};

// The application's log is not for workers: their callers tell what went wrong at the start.
void tenon_team::work(uint32_t member, uint32_t seen) {
    char name[16];
    std::snprintf(name, sizeof name, "tenon-%u", member);
    os::set_thread_name(name);
    bool mask[GGML_MAX_N_THREADS] = {};
    const bool placed = !mask_of(member, mask) || os::set_thread_affinity(mask, GGML_MAX_N_THREADS);
    if (!placed || !os::set_thread_priority(options_.priority)) {
        setup_errno_.store(errno, std::memory_order_relaxed);
    }

    const InTeam in_team;
    bool was_member = true;
    while (true) {
        // Who had no part in the last run is probably not needed for the next.
        seen = wait_for_run(seen, was_member ? options_.spin_rounds : 0);
        if (stop_.load(std::memory_order_relaxed)) return;
        const uint32_t members = seen & kMembersMask;
        was_member = member < members;
        if (!was_member) continue;
        Leaving leaving{*this, member};
        call(function_, arg_, member, members);
        leaving.finished = true;
        finish_one();
    }
}

void tenon_team::call(Function function, void* arg, uint32_t member, uint32_t members) {
    catch_all([&] { function(arg, member, members); },
              [&](bool, const char*) {
                  threw_.store(true, std::memory_order_relaxed);  // told after finish_one()
              });
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

// Both end in order when the calling thread is ended by the function it runs.
struct tenon_team::Turn {
    tenon_team& team;
    ~Turn() { team.running_.store(false, std::memory_order_release); }
};
struct tenon_team::Members {
    tenon_team& team;
    ~Members() { team.wait_for_members(); }
};

Result<void> tenon_team::run(Function function, void* arg) {
    if (forked()) {
        return fail(TENON_E_FORKED, "a team of %d threads belongs to the parent process", size());
    }
    if (running_.exchange(true, std::memory_order_acquire)) {
        return fail(TENON_E_BUSY, "a team of %d threads runs already", size());
    }
    const Turn turn{*this};
    if (any_lost_.load(std::memory_order_relaxed)) {
        if (auto ok = replace_lost_workers(); !ok) return ok;
    }
    if (const int e = setup_errno_.exchange(0, std::memory_order_relaxed)) {
        log(GGML_LOG_LEVEL_WARN, "cannot set a thread's affinity or priority: %s",
            std::strerror(e));
    }
    threw_.store(false, std::memory_order_relaxed);
    left_.store(false, std::memory_order_relaxed);
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
        const Members others{*this};
        if (sleepers_.load(std::memory_order_seq_cst) != 0) os::wake_all(&run_word_);
        call(function, arg, 0, members);
    }
    const bool left = left_.load(std::memory_order_relaxed);
    if (left || threw_.load(std::memory_order_relaxed)) {
        return fail(TENON_E_INTERNAL, "a function run by a team of %d threads %s", size(),
                    left ? "ended its thread" : "threw an exception");
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
        if (!os::set_thread_affinity(member0_mask_, GGML_MAX_N_THREADS)) {
            setup_errno_.store(errno, std::memory_order_relaxed);
        }
    }
    return true;
}

void tenon_team::release() {
    if (restore_caller_) (void)os::set_thread_affinity(caller_mask_, GGML_MAX_N_THREADS);
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
