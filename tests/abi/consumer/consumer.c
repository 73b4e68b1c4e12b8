/* Adds two numbers on the CPU through the ggml API and prints the sum and the registrations. */
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include <stdio.h>

int main(void) {
    struct ggml_init_params params = {1 << 20, NULL, 1};
    struct ggml_context* ctx = ggml_init(params);
    struct ggml_tensor* a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    struct ggml_tensor* sum = ggml_add(ctx, a, a);
    struct ggml_cgraph* graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, sum);
    ggml_backend_t cpu = ggml_backend_cpu_init();
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, cpu);
    float value = 21;
    ggml_backend_tensor_set(a, &value, 0, sizeof value);
    const int failed = ggml_backend_graph_compute(cpu, graph) != GGML_STATUS_SUCCESS;
    ggml_backend_tensor_get(sum, &value, 0, sizeof value);
    printf("sum %g", value);
    for (size_t i = 0; i < ggml_backend_reg_count(); ++i) {
        printf(" %s", ggml_backend_reg_name(ggml_backend_reg_get(i)));
    }
    printf("\n");
    ggml_backend_buffer_free(buffer);
    ggml_backend_free(cpu);
    ggml_free(ctx);
    return failed;
}
