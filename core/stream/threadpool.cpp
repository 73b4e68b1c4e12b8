// What others see of worker teams: ggml_threadpool, and the extension tenon.threads/1 for plugins.

#include <algorithm>
#include <mutex>

#include "core/base/log.h"
#include "core/stream/threads.h"
#include "tenon/ext/threads.h"

namespace tenon {
namespace {

// Spin rounds of an idle worker per step of ggml_threadpool_params.poll.
constexpr uint32_t kRoundsPerPoll = 131072;
constexpr uint32_t kMaxPoll = 100;
constexpr size_t kIdleTeamsKept = 4;

// Never destroyed: at the end of the process its workers may still run.
struct Teams {
    std::mutex mutex;
    std::vector<ggml_threadpool*> pools;            // alive
    std::vector<std::unique_ptr<tenon_team>> idle;  // given back by plugins
    std::mutex loop_mutex;                          // held while a parallel loop uses the team
    std::unique_ptr<tenon_team> loop_team;
};

Teams& teams() {
    static Teams* all = new Teams;
    return *all;
}

uint32_t budget(const tenon_host*) { return thread_budget(); }

tenon_team* team_get(const tenon_host*, uint32_t n, uint32_t* granted) {
    return guard<tenon_team*>(nullptr, [&]() -> Result<tenon_team*> {
        const int members = static_cast<int>(std::clamp<uint32_t>(n, 1, thread_budget()));
        {
            const std::lock_guard lock(teams().mutex);
            auto& idle = teams().idle;
            for (auto it = idle.begin(); it != idle.end(); ++it) {
                if ((*it)->wanted() != members || (*it)->forked()) continue;
                tenon_team* team = it->release();
                idle.erase(it);
                if (granted) *granted = static_cast<uint32_t>(team->size());
                return team;
            }
        }
        auto made = make_stream_team(members);
        if (!made) return made.error();
        if (granted) *granted = static_cast<uint32_t>((*made)->size());
        return made->release();
    });
}

void team_put(const tenon_host*, tenon_team* team) {
    guard_void([&] {
        std::unique_ptr<tenon_team> owned(team);
        if (!owned) return;
        const std::lock_guard lock(teams().mutex);
        if (teams().idle.size() < kIdleTeamsKept) teams().idle.push_back(std::move(owned));
    });
}

tenon_status team_run(tenon_team* team, tenon_team::Function function, void* arg) {
    if (!team || !function) return TENON_E_INVALID;
    const auto result = team->run(function, arg);
    return result ? TENON_OK : result.error().code;
}

struct Loop {
    uint64_t n, grain;
    void (*function)(void* arg, uint64_t begin, uint64_t end);
    void* arg;
    std::atomic<uint64_t> next{0};

    void take_chunks() {
        while (true) {
            const uint64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
            if (begin >= n) return;
            function(arg, begin, begin + std::min(grain, n - begin));
        }
    }
};

tenon_status parallel_for(const tenon_host*, uint64_t n, uint64_t grain,
                          void (*function)(void* arg, uint64_t begin, uint64_t end), void* arg) {
    if (!function) return TENON_E_INVALID;
    if (n == 0) return TENON_OK;
    grain = std::clamp<uint64_t>(grain, 1, n);
    const auto inline_run = [&] {
        return guard<tenon_status>(TENON_E_INTERNAL, [&] {
            function(arg, 0, n);
            return TENON_OK;
        });
    };
    // Overflow of the chunk counter: every member may add one grain beyond the end.
    const bool worth_it = n > grain && n < UINT64_MAX / 2 && grain < UINT64_MAX / 2048;
    if (in_team() || thread_budget() < 2 || !worth_it) return inline_run();
    std::unique_lock lock(teams().loop_mutex, std::try_to_lock);
    if (!lock) return inline_run();

    auto& team = teams().loop_team;
    const bool made = guard<bool>(false, [&]() -> Result<bool> {
        if (team) return true;
        TeamOptions options;
        options.n_members = static_cast<int>(thread_budget());
        options.may_shrink = true;
        auto created = tenon_team::create(options);
        if (!created) return created.error();
        team = std::move(*created);
        return true;
    });
    if (!made) return inline_run();
    Loop loop{n, grain, function, arg};
    const auto ran =
        team->run([](void* p, uint32_t, uint32_t) { static_cast<Loop*>(p)->take_chunks(); }, &loop);
    if (ran) return TENON_OK;
    if (ran.error().code == TENON_E_INTERNAL) {  // it ran and threw
        report(ran.error());
        return TENON_E_INTERNAL;
    }
    if (ran.error().code == TENON_E_FORKED) (void)team.release();  // its threads are not here
    return inline_run();
}

constexpr tenon_ext_host_threads kHostThreads{
    sizeof(tenon_ext_host_threads), 0, budget, team_get, team_put, team_run, parallel_for};

}  // namespace

const tenon_ext_host_threads* host_threads_extension() { return &kHostThreads; }

void pause_if_alive(ggml_threadpool* pool) {
    const std::lock_guard lock(teams().mutex);
    const auto& pools = teams().pools;
    if (std::find(pools.begin(), pools.end(), pool) != pools.end()) pool->team->pause();
}

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_threadpool_params ggml_threadpool_params_default(int n_threads) {
    ggml_threadpool_params params;
    ggml_threadpool_params_init(&params, n_threads);
    return params;
}

void ggml_threadpool_params_init(ggml_threadpool_params* params, int n_threads) {
    if (!params) return;
    *params = {};
    params->n_threads = n_threads;
    params->prio = GGML_SCHED_PRIO_NORMAL;
    params->poll = 50;
}

bool ggml_threadpool_params_match(const ggml_threadpool_params* a,
                                  const ggml_threadpool_params* b) {
    if (!a || !b) return a == b;
    return a->n_threads == b->n_threads && a->prio == b->prio && a->poll == b->poll &&
           a->strict_cpu == b->strict_cpu &&
           std::equal(a->cpumask, std::end(a->cpumask), b->cpumask);
}

ggml_threadpool* ggml_threadpool_new(ggml_threadpool_params* params) {
    return guard<ggml_threadpool*>(nullptr, [&]() -> Result<ggml_threadpool*> {
        if (!params) return fail(TENON_E_INVALID, "cannot make a thread pool: parameters are null");
        TeamOptions options;
        options.n_members = params->n_threads;
        options.spin_rounds = std::min(params->poll, kMaxPoll) * kRoundsPerPoll;
        options.priority = params->prio;
        options.strict_cpu = params->strict_cpu;
        options.paused = params->paused;
        std::copy(std::begin(params->cpumask), std::end(params->cpumask), options.cpumask);
        auto team = tenon_team::create(options);
        if (!team) return team.error();
        auto pool = std::make_unique<ggml_threadpool>(ggml_threadpool{std::move(*team)});
        const std::lock_guard lock(teams().mutex);
        teams().pools.push_back(pool.get());
        return pool.release();
    });
}

void ggml_threadpool_free(ggml_threadpool* pool) {
    if (!pool) return;
    guard_void([&] {
        {
            const std::lock_guard lock(teams().mutex);
            std::erase(teams().pools, pool);
        }
        delete pool;
    });
}

int ggml_threadpool_get_n_threads(ggml_threadpool* pool) { return pool ? pool->team->size() : 0; }

void ggml_threadpool_pause(ggml_threadpool* pool) {
    if (pool) pool->team->pause();
}

void ggml_threadpool_resume(ggml_threadpool* pool) {
    if (pool) pool->team->resume();
}

}  // extern "C"
