// Worker teams and thread pools.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "core/base/os.h"
#include "core/stream/threads.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "tenon/ext/threads.h"
#include "tenon/tenon.h"
#include "tests/support/arena.h"
#include "tests/support/emulated.h"
#include "tests/support/fake_plugin.h"

using namespace tenon;
using namespace tenon::test;

namespace {

std::unique_ptr<tenon_team> team_of(int n, uint32_t spin = 0) {
    TeamOptions options;
    options.n_members = n;
    options.spin_rounds = spin;
    auto team = tenon_team::create(options);
    EXPECT_TRUE(team);
    return std::move(*team);
}

// Everybody adds up, and nobody leaves before all have come: only possible when they run together.
struct Meeting {
    std::atomic<uint32_t> arrived{0}, mask{0};
    static void attend(void* arg, uint32_t member, uint32_t members) {
        auto& meeting = *static_cast<Meeting*>(arg);
        meeting.mask.fetch_or(1u << member);
        meeting.arrived.fetch_add(1);
        while (meeting.arrived.load() < members) std::this_thread::yield();
    }
};

TEST(Team, RunsAllMembersAtTheSameTime) {
    for (const int n : {1, 2, 5, 9}) {
        for (const uint32_t spin : {0u, 1000u}) {
            auto team = team_of(n, spin);
            for (int i = 0; i < 50; ++i) {
                Meeting meeting;
                ASSERT_TRUE(team->run(Meeting::attend, &meeting));
                ASSERT_EQ(meeting.mask, (1u << n) - 1);
            }
        }
    }
}

TEST(Team, AMemberThatThrowsFailsTheRunAndNothingElse) {
    for (const int n : {1, 3}) {
        auto team = team_of(n);
        for (uint32_t thrower = 0; thrower < static_cast<uint32_t>(n); ++thrower) {
            const auto ran = team->run(
                [](void* who, uint32_t member, uint32_t) {
                    if (member == *static_cast<uint32_t*>(who)) throw 42;
                },
                &thrower);
            ASSERT_FALSE(ran);
            EXPECT_EQ(ran.error().code, TENON_E_INTERNAL);
            Meeting meeting;
            ASSERT_TRUE(team->run(Meeting::attend, &meeting));
            EXPECT_EQ(meeting.mask, (1u << n) - 1);
        }
    }
}

TEST(Team, ALoopThatThrowsIsAnInternalError) {
    const auto* threads = host_threads_extension();
    for (const uint64_t n : {uint64_t{1}, uint64_t{1000}}) {
        EXPECT_EQ(threads->parallel_for(
                      nullptr, n, 10, [](void*, uint64_t, uint64_t) { throw 42; }, nullptr),
                  TENON_E_INTERNAL);
        std::atomic<uint64_t> sum{0};
        EXPECT_EQ(threads->parallel_for(
                      nullptr, n, 10,
                      [](void* arg, uint64_t begin, uint64_t end) {
                          static_cast<std::atomic<uint64_t>*>(arg)->fetch_add(end - begin);
                      },
                      &sum),
                  TENON_OK);
        EXPECT_EQ(sum, n);
    }
    tenon_clear_error();
}

TEST(Team, AlternatesBetweenOneAndAllMembers) {
    auto team = team_of(4, 100);
    for (int i = 0; i < 10000; ++i) {
        const int n = i % 2 ? 1 + i % 4 : 4;
        ASSERT_TRUE(team->acquire(n));
        Meeting meeting;
        ASSERT_TRUE(team->run(Meeting::attend, &meeting));
        ASSERT_EQ(meeting.mask, (1u << n) - 1);
        team->release();
    }
}

TEST(Team, SleepsWhilePausedAndWakesWhenNeeded) {
    auto team = team_of(3, 1u << 30);
    for (int i = 0; i < 20; ++i) {
        team->pause();
        team->pause();
        Meeting meeting;
        ASSERT_TRUE(team->run(Meeting::attend, &meeting));
        ASSERT_EQ(meeting.mask, 7u);
        team->resume();
    }
}

TEST(Team, NoticesASecondUser) {
    auto team = team_of(2);
    ASSERT_TRUE(team->acquire(2));
    EXPECT_FALSE(team->acquire(2));
    team->release();
    // From inside, too: a run within a run of the same team would never end.
    struct Inner {
        tenon_team* team;
        tenon_status status = TENON_OK;
    } inner{team.get()};
    ASSERT_TRUE(team->run(
        [](void* arg, uint32_t member, uint32_t) {
            auto& in = *static_cast<Inner*>(arg);
            if (member != 0) return;
            const auto again = in.team->run([](void*, uint32_t, uint32_t) {}, nullptr);
            in.status = again ? TENON_OK : again.error().code;
        },
        &inner));
    EXPECT_EQ(inner.status, TENON_E_BUSY);
}

TEST(Team, RefusesImpossibleSizes) {
    for (const int n : {0, -1, GGML_MAX_N_THREADS + 1}) {
        TeamOptions options;
        options.n_members = n;
        EXPECT_FALSE(tenon_team::create(options)) << n;
    }
}

TEST(Team, GivesTheCallerItsAffinityBack) {
    bool before[GGML_MAX_N_THREADS] = {}, during[GGML_MAX_N_THREADS] = {};
    ASSERT_TRUE(os::get_thread_affinity(before, GGML_MAX_N_THREADS));
    int first = 0;
    while (!before[first]) ++first;
    TeamOptions options;
    options.n_members = 2;
    options.cpumask[first] = true;
    auto team = tenon_team::create(options);
    ASSERT_TRUE(team && (*team)->acquire(2));
    os::get_thread_affinity(during, GGML_MAX_N_THREADS);
    EXPECT_EQ(std::count(during, std::end(during), true), 1);
    EXPECT_TRUE(during[first]);
    (*team)->release();
    os::get_thread_affinity(during, GGML_MAX_N_THREADS);
    EXPECT_TRUE(std::equal(before, std::end(before), during));
}

TEST(ThreadPool, HasTheDefaultsOfTheApi) {
    ggml_threadpool_params params = ggml_threadpool_params_default(3);
    EXPECT_EQ(params.n_threads, 3);
    EXPECT_EQ(params.prio, GGML_SCHED_PRIO_NORMAL);
    EXPECT_EQ(params.poll, 50u);
    EXPECT_FALSE(params.strict_cpu || params.paused);
    ggml_threadpool_params other = params;
    other.paused = true;
    EXPECT_TRUE(ggml_threadpool_params_match(&params, &other));
    other.cpumask[5] = true;
    EXPECT_FALSE(ggml_threadpool_params_match(&params, &other));
    EXPECT_FALSE(ggml_threadpool_params_match(&params, nullptr));
    ggml_threadpool_params_init(nullptr, 1);

    EXPECT_EQ(ggml_threadpool_new(nullptr), nullptr);
    params.n_threads = 0;
    EXPECT_EQ(ggml_threadpool_new(&params), nullptr);
    params.n_threads = 3;
    params.paused = true;
    ggml_threadpool* pool = ggml_threadpool_new(&params);
    EXPECT_EQ(ggml_threadpool_get_n_threads(pool), 3);
    ggml_threadpool_pause(pool);
    ggml_threadpool_resume(pool);
    ggml_threadpool_free(pool);
    ggml_threadpool_free(nullptr);
    ggml_threadpool_pause(nullptr);
    EXPECT_EQ(ggml_threadpool_get_n_threads(nullptr), 0);
    tenon_clear_error();
}

struct Square {
    ggml_context_ptr ctx = make_arena();
    ggml_tensor* x = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 100);
    ggml_tensor* y = ggml_sqr(ctx.get(), x);
    ggml_cgraph* graph = ggml_new_graph(ctx.get());
    Square() {
        ggml_set_f32(x, 3.0f);
        ggml_build_forward_expand(graph, y);
    }
};

TEST(ThreadPool, ManyGraphsOnTwoPoolsAndThreadCounts) {
    fake_cpu().fake(0).workspace = 0;
    ggml_backend_ptr stream(ggml_backend_cpu_init());
    Square square;
    ggml_threadpool* pools[2];
    for (auto*& pool : pools) {
        ggml_threadpool_params params = ggml_threadpool_params_default(2);
        params.poll = 1;
        pool = ggml_threadpool_new(&params);
    }
    for (int i = 0; i < 3000; ++i) {
        fake_cpu().fake(0).ran.clear();
        ggml_backend_cpu_set_threadpool(stream.get(), pools[i % 2]);
        ggml_backend_cpu_set_n_threads(stream.get(), 1 + i / 2 % 2);
        ggml_set_f32(square.y, 0.0f);
        ASSERT_EQ(ggml_backend_graph_compute(stream.get(), square.graph), GGML_STATUS_SUCCESS);
        ASSERT_EQ(ggml_get_f32_1d(square.y, 99), 9.0f);
    }
    // A pool may be gone before the stream forgets it.
    ggml_threadpool_free(pools[1]);
    ggml_backend_cpu_set_threadpool(stream.get(), nullptr);
    ggml_threadpool_free(pools[0]);
}

TEST(ThreadPool, TwoThreadsAtOnceIsAnErrorNotADeadlock) {
    fake_cpu();
    ggml_threadpool_params params = ggml_threadpool_params_default(2);
    params.poll = 0;
    ggml_threadpool* pool = ggml_threadpool_new(&params);
    ggml_backend_ptr stream(ggml_backend_cpu_init());
    ggml_backend_cpu_set_threadpool(stream.get(), pool);
    Square square;
    ASSERT_TRUE(pool->team->acquire(2));  // as another thread's graph would
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), square.graph), GGML_STATUS_FAILED);
    EXPECT_NE(std::string(tenon_last_error()).find("another graph"), std::string::npos);
    pool->team->release();
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), square.graph), GGML_STATUS_SUCCESS);
    stream.reset();
    ggml_threadpool_free(pool);
}

const tenon_ext_host_threads& extension() {
    const tenon_host* host = host_table("test");
    return *static_cast<const tenon_ext_host_threads*>(host->extension(host, TENON_EXT_THREADS));
}

TEST(HostThreads, GrantsNoMoreThanTheBudget) {
    const auto& threads = extension();
    const uint32_t budget = threads.budget(nullptr);
    EXPECT_GE(budget, 1u);
    uint32_t granted = 0;
    tenon_team* team = threads.team_get(nullptr, 10000, &granted);
    EXPECT_EQ(granted, budget);
    Meeting meeting;
    EXPECT_EQ(threads.team_run(team, Meeting::attend, &meeting), TENON_OK);
    EXPECT_EQ(meeting.arrived, budget);
    threads.team_put(nullptr, team);
    tenon_team* again = threads.team_get(nullptr, budget, nullptr);
    EXPECT_EQ(again, team);  // kept, not made anew
    threads.team_put(nullptr, again);
    EXPECT_EQ(threads.team_run(nullptr, Meeting::attend, nullptr), TENON_E_INVALID);
    threads.team_put(nullptr, nullptr);
}

TEST(HostThreads, LoopsCoverEveryIndexOnceAndNest) {
    struct Loop {
        const tenon_ext_host_threads* threads;
        std::vector<std::atomic<int>> hits;
    };
    for (const uint64_t n : {0, 1, 7, 1000}) {
        for (const uint64_t grain : {0, 1, 3, 100000}) {
            Loop loop{&extension(), std::vector<std::atomic<int>>(n)};
            EXPECT_EQ(extension().parallel_for(
                          nullptr, n, grain,
                          [](void* arg, uint64_t begin, uint64_t end) {
                              auto& l = *static_cast<Loop*>(arg);
                              for (uint64_t i = begin; i < end; ++i) ++l.hits[i];
                              // Inline: must not wait for the outer loop's threads.
                              l.threads->parallel_for(
                                  nullptr, 4, 1, [](void*, uint64_t, uint64_t) {}, nullptr);
                          },
                          &loop),
                      TENON_OK);
            for (const auto& hits : loop.hits) EXPECT_EQ(hits, 1);
        }
    }
}

TEST(HostThreads, HostTableAnswers) {
    const tenon_host* host = host_table("test");
    EXPECT_EQ(host_table("test"), host);
    EXPECT_NE(host_table("other"), host);
    EXPECT_EQ(host->extension(host, "tenon.nothing/1"), nullptr);
    EXPECT_EQ(host->extension(host, nullptr), nullptr);
    EXPECT_STREQ(host->op_name(host, GGML_OP_MUL_MAT, -1), "MUL_MAT");
    EXPECT_STREQ(host->op_name(host, GGML_OP_UNARY, GGML_UNARY_OP_SILU), "SILU");
    const tenon_type_info* q8 = host->type_info(host, GGML_TYPE_Q8_0);
    ASSERT_NE(q8, nullptr);
    EXPECT_EQ(q8->block_elems, 32u);
    EXPECT_EQ(q8->block_bytes, 34u);
    EXPECT_NE(q8->to_float, nullptr);
    EXPECT_EQ(host->type_info(host, 4), nullptr);  // retired
    EXPECT_EQ(host->type_info(host, 100000), nullptr);
    EXPECT_EQ(host->option(host, "no_such_option"), nullptr);
    void* p = host->alloc(host, 100, 256);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 256, 0u);
    host->free(host, p, 100, 256);
    const uint64_t before = host->now_ns(host);
    EXPECT_LE(before, host->now_ns(host));
}

TEST(Fork, ChildIsToldAndLives) {
    fake_cpu();
    ggml_backend_ptr stream(ggml_backend_cpu_init());
    ggml_backend_cpu_set_n_threads(stream.get(), 2);
    Square square;
    ASSERT_EQ(ggml_backend_graph_compute(stream.get(), square.graph), GGML_STATUS_SUCCESS);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        // The plugin is not fork-safe: every entry answers, none enters it or waits for its
        // threads.
        const bool refused =
            ggml_backend_graph_compute(stream.get(), square.graph) == GGML_STATUS_FAILED;
        const bool said = std::string(tenon_last_error()).find("forked") != std::string::npos;
        stream.reset();
        ::_exit(refused && said ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(ggml_backend_graph_compute(stream.get(), square.graph), GGML_STATUS_SUCCESS);
}

TEST(Fork, ChildComputesOnThreadsOfItsOwn) {
    if (kEmulated) GTEST_SKIP() << "the emulator cannot start threads in a forked child";
    fake_cpu();
    ggml_backend_ptr stream(ggml_backend_cpu_init());
    ggml_backend_cpu_set_n_threads(stream.get(), 3);
    Square square;
    ASSERT_EQ(ggml_backend_graph_compute(stream.get(), square.graph), GGML_STATUS_SUCCESS);
    ggml_backend_cpu_reg()->fork_safe = true;  // as the note of the real plugin says
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ggml_set_f32(square.y, 0.0f);
        const bool computed =
            ggml_backend_graph_compute(stream.get(), square.graph) == GGML_STATUS_SUCCESS &&
            ggml_get_f32_1d(square.y, 99) == 9.0f && fake_cpu().fake(0).last_threads == 3;
        stream.reset();
        ::_exit(computed ? 0 : 1);
    }
    ggml_backend_cpu_reg()->fork_safe = false;
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
