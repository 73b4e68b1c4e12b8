// Estimated times: the plugin's word, else its rates, else those of its kind.

#include <gtest/gtest.h>

#include <limits>

#include "tenon/tenon.h"
#include "tests/support/arena.h"
#include "tests/support/fake_plugin.h"

using namespace tenon;
using namespace tenon::test;

namespace {

class Estimate : public ::testing::Test {
protected:
    static FakePlugin& plugin() {
        static FakePlugin& loaded = [&]() -> FakePlugin& {
            FakeDevice told, gpu;
            told.name = "Told0";
            gpu.name = "Kind0";
            gpu.kind = TENON_DEVICE_GPU;
            for (FakeDevice* d : {&told, &gpu}) d->bufts = {{d->name}};
            FakePlugin& made = FakePlugin::make("ESTIMATE", {told, gpu});
            made.load();
            return made;
        }();
        return loaded;
    }

    // Other tests look at all devices there are.
    static void TearDownTestSuite() { plugin().unload(); }

    void SetUp() override {
        plugin().fake(0).time_ns = 0;
        plugin().fake(0).rates_status = TENON_OK;
        // 1 operation per ns in f32, 2 in f16, 4 in 8 bits; 1 byte per ns.
        tenon_cost_model& rates = plugin().fake(0).rates.emplace();
        rates.flops_f32 = 1e9;
        rates.flops_f16 = 2e9;
        rates.ops_i8 = 4e9;
        rates.bytes_per_s = 1e9;
        rates.launch_ns = 1000;
    }

    ggml_tensor* tensor(ggml_type type, int64_t n0, int64_t n1) {
        return ggml_new_tensor_2d(ctx.get(), type, n0, n1);
    }
    // 2 * 64 * 100 * 100 = 1 280 000 operations, the weights of `type`
    ggml_tensor* product(ggml_type type) {
        return ggml_mul_mat(ctx.get(), tensor(type, 64, 100), tensor(GGML_TYPE_F32, 64, 100));
    }
    // 100 operations, 1200 bytes
    ggml_tensor* sum() {
        return ggml_add(ctx.get(), tensor(GGML_TYPE_F32, 100, 1), tensor(GGML_TYPE_F32, 100, 1));
    }

    tenon_estimate ask(const ggml_tensor* node, size_t device = 0) {
        tenon_op_verdict verdict{};
        ggml_backend_dev_t dev = plugin().device(device);
        EXPECT_EQ(tenon_device_query(dev, &node, 1, &verdict, true), TENON_OK);
        tenon_estimate e{};
        e.struct_size = sizeof e;
        EXPECT_EQ(tenon_device_estimate(dev, node, &verdict, &e), TENON_OK) << tenon_last_error();
        return e;
    }

    ggml_context_ptr ctx = make_arena();
};

TEST_F(Estimate, IsThePluginsTimeWhereItGivesOne) {
    plugin().fake(0).time_ns = 777;
    plugin().fake(0).confidence = 60;
    const tenon_estimate e = ask(sum());
    EXPECT_EQ(e.source, static_cast<uint32_t>(TENON_ESTIMATE_PLUGIN));
    EXPECT_EQ(e.time_ns, 777u);
    EXPECT_EQ(e.confidence, 60u);
}

TEST_F(Estimate, IsTheLongerOfOperationsAndBytesOverItsRates) {
    const tenon_estimate e = ask(sum());
    EXPECT_EQ(e.source, static_cast<uint32_t>(TENON_ESTIMATE_RATES));
    EXPECT_EQ(e.time_ns, 1000u + 1200u);
    EXPECT_EQ(ask(product(GGML_TYPE_F32)).time_ns, 1000u + 1280000u);
}

TEST_F(Estimate, TakesTheRateOfTheTypeOfTheWeights) {
    EXPECT_EQ(ask(product(GGML_TYPE_F16)).time_ns, 1000u + 1280000u / 2);
    EXPECT_EQ(ask(product(GGML_TYPE_Q8_0)).time_ns, 1000u + 1280000u / 4);
    plugin().fake(0).rates->ops_i8 = 0;  // not told: those of f16
    EXPECT_EQ(ask(product(GGML_TYPE_Q8_0)).time_ns, 1000u + 1280000u / 2);
    plugin().fake(0).rates->flops_f16 = -1;  // nor these: those of f32
    EXPECT_EQ(ask(product(GGML_TYPE_Q8_0)).time_ns, 1000u + 1280000u);
}

TEST_F(Estimate, TrustsMeasuredRatesMoreThanToldOnesAndTheseMoreThanTheKind) {
    const uint32_t told = ask(sum()).confidence;
    plugin().fake(0).rates->measured = 1;
    EXPECT_GT(ask(sum()).confidence, told);
    plugin().fake(0).rates.reset();
    EXPECT_LT(ask(sum()).confidence, told);
}

TEST_F(Estimate, IsThatOfTheKindWithoutUsableRates) {
    const tenon_estimate gpu = ask(product(GGML_TYPE_F32), 1);
    EXPECT_EQ(gpu.source, static_cast<uint32_t>(TENON_ESTIMATE_KIND));
    // 1.28 million operations take a GPU less than its start.
    EXPECT_GT(gpu.time_ns, 1000u);
    EXPECT_LT(gpu.time_ns, 20000u);

    std::optional<tenon_cost_model>& rates = plugin().fake(0).rates;
    for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
        rates->flops_f32 = bad;
        EXPECT_EQ(ask(sum()).source, static_cast<uint32_t>(TENON_ESTIMATE_KIND)) << bad;
        SetUp();
        rates->bytes_per_s = bad;
        EXPECT_EQ(ask(sum()).source, static_cast<uint32_t>(TENON_ESTIMATE_KIND)) << bad;
        SetUp();
    }
    plugin().fake(0).rates_status = TENON_E_NO_DRIVER;
    EXPECT_EQ(ask(sum()).source, static_cast<uint32_t>(TENON_ESTIMATE_KIND));
}

TEST_F(Estimate, OfNothingIsNoTime) {
    plugin().fake(0).time_ns = 777;
    for (const ggml_tensor* node : {ggml_transpose(ctx.get(), tensor(GGML_TYPE_F32, 4, 5)),
                                    ggml_scale(ctx.get(), tensor(GGML_TYPE_F32, 4, 0), 2)}) {
        const tenon_estimate e = ask(node);
        EXPECT_EQ(e.source, static_cast<uint32_t>(TENON_ESTIMATE_NOTHING));
        EXPECT_EQ(e.time_ns, 0u);
        EXPECT_EQ(e.confidence, 100u);
    }
}

TEST_F(Estimate, OfImmenseWorkStaysANumber) {
    ggml_tensor node{}, a{};
    node.op = GGML_OP_MUL_MAT;
    for (ggml_tensor* t : {&node, &a}) std::fill_n(t->ne, GGML_MAX_DIMS, INT64_MAX);
    node.src[0] = node.src[1] = &a;
    tenon_op_verdict verdict{};
    tenon_estimate e{};
    e.struct_size = sizeof e;
    ASSERT_EQ(tenon_device_estimate(plugin().device(0), &node, &verdict, &e), TENON_OK);
    EXPECT_GT(e.time_ns, uint64_t{1} << 62);
}

TEST_F(Estimate, NeedsADeviceANodeAVerdictAndARecord) {
    const ggml_tensor* node = sum();
    tenon_op_verdict verdict{};
    tenon_estimate e{};
    e.struct_size = sizeof e;
    ggml_backend_dev_t device = plugin().device(0);
    EXPECT_EQ(tenon_device_estimate(nullptr, node, &verdict, &e), TENON_E_INVALID);
    EXPECT_EQ(tenon_device_estimate(device, nullptr, &verdict, &e), TENON_E_INVALID);
    EXPECT_EQ(tenon_device_estimate(device, node, nullptr, &e), TENON_E_INVALID);
    EXPECT_EQ(tenon_device_estimate(device, node, &verdict, nullptr), TENON_E_INVALID);
}

}  // namespace
