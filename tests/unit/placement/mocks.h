// Devices for tests of the scheduler: M0 and M1 with memory of their own, ACC which works in host
// memory, and a CPU. They compute nothing; they write down what they were asked to do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml.h"
#include "tenon/plugin.h"

namespace tenon::test {

struct MockBehaviour {
    std::function<const char*(const ggml_tensor&)>
        refuses;                                    // the reason, or NULL; unset: supports all
    std::function<bool(const ggml_tensor&)> wants;  // worth uploading weights for
    uint64_t fail_alloc_above = UINT64_MAX;         // bytes
    tenon_status run_status = TENON_OK;
};

enum Mock { kM0, kM1, kAcc, kCpu, kMocks };
extern MockBehaviour g_mock[kMocks];
extern bool g_mock_quiet;                    // writes nothing down
extern std::vector<std::string> g_mock_log;  // "M0 run a b", "M0 set w 2048 6656", "M0 get x"

// The mocks' streams, made for one test; forgets the behaviour of the test before.
class MockBackends {
public:
    MockBackends();
    ggml_backend_t operator[](Mock which) const { return streams_[which].get(); }

private:
    ggml_backend_ptr streams_[kMocks];
};

}  // namespace tenon::test
