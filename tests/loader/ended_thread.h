// A thread that is to end in the middle of a call of the library.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace tenon::test {

// Runs `act` in a thread of its own. Gives whether that ended before `act` was through.
struct DoomedThread {
    explicit DoomedThread(std::function<void()> what) : act(std::move(what)) {
        pthread_create(&thread, nullptr, start, this);
    }
    DoomedThread(const DoomedThread&) = delete;
    DoomedThread& operator=(const DoomedThread&) = delete;

    bool ended() {
        pthread_join(thread, nullptr);
        return !returned;
    }
    void cancel() const { pthread_cancel(thread); }

private:
    static void* start(void* self) {
        auto& doomed = *static_cast<DoomedThread*>(self);
        doomed.act();
        doomed.returned = true;
        return nullptr;
    }
    std::function<void()> act;
    pthread_t thread{};
    std::atomic<bool> returned{false};
};

inline bool ends(std::function<void()> act) { return DoomedThread(std::move(act)).ended(); }

// What a callback does to the thread it is called on: nothing, end it, or wait until it is
// cancelled.
enum class Fate { kNone, kExit, kLinger };

struct Doom {
    std::atomic<Fate> fate{Fate::kNone};
    std::atomic<bool> inside{false};  // a callback lingers

    void meet() {
        if (fate == Fate::kExit) pthread_exit(nullptr);
        while (fate == Fate::kLinger) {
            inside = true;
            usleep(1000);
        }
    }

    // Whether `act` ends its thread both ways in which a thread can end.
    testing::AssertionResult ends_both_ways(const std::function<void()>& act) {
        fate = Fate::kExit;
        const bool exits = ends(act);
        fate = Fate::kLinger;
        inside = false;
        DoomedThread lingering(act);
        for (int i = 0; i < 20000 && !inside; ++i) usleep(1000);
        lingering.cancel();
        if (!inside) fate = Fate::kNone;  // it never came: let it go
        const bool cancelled = lingering.ended();
        fate = Fate::kNone;
        if (exits && cancelled) return testing::AssertionSuccess();
        return testing::AssertionFailure()
               << "pthread_exit: " << exits << ", pthread_cancel: " << cancelled;
    }
};

}  // namespace tenon::test
