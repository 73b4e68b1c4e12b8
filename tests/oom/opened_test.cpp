// The library opened by a running program: a thread that has no memory left may still call it.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "ggml.h"
#include "tests/oom/failing_malloc.h"

namespace tenon::test {
namespace {

struct Library {
    decltype(&ggml_init) init;
    const char* (*last_error)();
    bool has_text = false;
};

TEST(OpenedLibrary, ReportsThatAThreadHasNoMemory) {
    void* handle = dlopen(TENON_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    Library library{reinterpret_cast<decltype(&ggml_init)>(dlsym(handle, "ggml_init")),
                    reinterpret_cast<const char* (*)()>(dlsym(handle, "tenon_last_error"))};
    ASSERT_NE(library.init, nullptr);
    ASSERT_NE(library.last_error, nullptr);
    for (int i = 0; i < 4; ++i) {
        library.has_text = false;
        const auto use = [](void* arg) -> void* {
            auto& self = *static_cast<Library*>(arg);
            fail_allocation(0);
            const ggml_context* none = self.init({1024, nullptr, true});
            fail_allocation(-1);
            self.has_text = !none && self.last_error()[0] != 0;
            return nullptr;
        };
        pthread_t thread;
        ASSERT_EQ(pthread_create(&thread, nullptr, use, &library), 0);
        pthread_join(thread, nullptr);
        EXPECT_TRUE(library.has_text);
    }
}

}  // namespace
}  // namespace tenon::test
