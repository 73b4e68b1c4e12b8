// Worker teams: the threads of the process that compute. One implementation serves ggml_threadpool,
// streams without a pool, and the extension tenon.threads/1.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "ggml-cpu.h"
#include "tenon/ext/threads.h"
#include "tenon/plugin.h"

namespace tenon {

struct TeamOptions {
    int n_members = 1;         // the calling thread included, at most GGML_MAX_N_THREADS
    uint32_t spin_rounds = 0;  // an idle worker looks this often for work before it sleeps
    int priority = 0;          // enum ggml_sched_priority
    bool strict_cpu = false;   // one CPU of the mask per member
    bool paused = false;       // workers sleep until resumed or needed
    bool may_shrink = false;   // fewer members where the system starts no more threads
    bool cpumask[GGML_MAX_N_THREADS] = {};  // all false: as the process
};

}  // namespace tenon

// A fixed set of threads that run one function together. Member 0 is the thread that calls.
// The thread that creates a team may differ from the one that runs it; only one may run it at a
// time.
struct tenon_team {
    using Function = void (*)(void* arg, uint32_t member, uint32_t members);

    static tenon::Result<std::unique_ptr<tenon_team>> create(const tenon::TeamOptions& options);
    explicit tenon_team(const tenon::TeamOptions& options)
        : options_(options), wanted_(options.n_members) {}
    ~tenon_team();  // waits for the workers
    tenon_team(const tenon_team&) = delete;
    tenon_team& operator=(const tenon_team&) = delete;

    int size() const { return options_.n_members; }
    int wanted() const { return wanted_; }  // members asked for; more than size() after a shrink
    bool forked() const;                    // its threads stayed in the parent process

    // Runs function(arg, 0 … active-1), all at the same time. TENON_E_BUSY when the team runs
    // already, TENON_E_INTERNAL when a member threw or ended its thread: the others still ran to
    // their end. A worker that is gone is replaced before the next run.
    tenon::Result<void> run(Function function, void* arg);

    void pause();
    void resume();

    // Takes the team for one graph on `members` threads: false when somebody else has it. While it
    // is taken, run() uses that many members, and the calling thread has the affinity of member 0.
    bool acquire(int members);
    void release();

private:
    static constexpr uint32_t kMembersBits = 10;
    static constexpr uint32_t kMembersMask = (1u << kMembersBits) - 1;

    void shrink_to(int n_members, const char* why);
    struct Leaving;  // a worker whose thread ends in the middle of a run
    struct Turn;     // one run
    struct Members;  // the other members of a run

    void start_worker(int member);  // throws std::system_error
    tenon::Result<void> replace_lost_workers();
    void work(uint32_t member, uint32_t seen);
    void call(Function function, void* arg, uint32_t member, uint32_t members);
    uint32_t wait_for_run(uint32_t seen, uint32_t rounds);
    void finish_one();
    void wait_for_members();
    bool mask_of(uint32_t member, bool* mask) const;

    tenon::TeamOptions options_;
    int wanted_;
    std::vector<std::thread> workers_;           // member i: [i - 1]
    std::unique_ptr<std::atomic<bool>[]> lost_;  // parallel: its thread has ended
    std::atomic<bool> any_lost_{false};
    std::atomic<int> setup_errno_{0};  // of a worker that could not be placed; not told yet
    std::atomic<int> active_{0};       // members of the next run; 0: all
    std::atomic<bool> taken_{false};
    uint32_t fork_generation_ = 0;
    bool pins_caller_ = false;     // the options restrict member 0
    bool restore_caller_ = false;  // caller_mask_ holds the affinity it had before
    bool member0_mask_[GGML_MAX_N_THREADS] = {};
    bool caller_mask_[GGML_MAX_N_THREADS] = {};

    // Number of the run << kMembersBits | its members. Workers sleep on it. A member of a run reads
    // function_ and arg_ only after it has seen the run's number here, and the next run cannot
    // start before it is done; a worker that is no member never reads them.
    alignas(64) std::atomic<uint32_t> run_word_{0};
    std::atomic<uint32_t> sleepers_{0};
    std::atomic<bool> paused_{false};
    std::atomic<bool> stop_{false};
    alignas(64) std::atomic<uint32_t> pending_{0};  // workers that have not finished the run
    std::atomic<uint32_t> caller_waits_{0};
    alignas(64) Function function_ = nullptr;
    void* arg_ = nullptr;
    std::atomic<bool> running_{false};
    std::atomic<bool> threw_{false};  // a member of this run
    std::atomic<bool> left_{false};   // likewise: it ended its thread
};

struct ggml_threadpool {
    std::unique_ptr<tenon_team> team;
};

namespace tenon {

// A team for a stream that has no pool: workers spin briefly between graphs, then sleep.
Result<std::unique_ptr<tenon_team>> make_stream_team(int n_members);

// Threads used when nobody said how many.
int default_threads();

// Processors this process may use: what all its teams together should not exceed.
uint32_t thread_budget();

// Whether the calling thread is computing as a member of a team.
bool in_team();

// Pauses the pool unless it was freed in the meantime.
void pause_if_alive(ggml_threadpool* pool);

const tenon_ext_host_threads* host_threads_extension();

// Number of forks between the start of the program and this process; worker threads and most
// plugins do not survive one.
uint32_t fork_generation();

}  // namespace tenon
