/* Launches a kernel with HIP's module API.
 *
 *   splitbar lower exchange.spv --target gfx1100 --emit hsaco=exchange.co --emit reflect=exchange.json
 *   cc -D__HIP_PLATFORM_AMD__ hip.c -I/opt/rocm/include -L/opt/rocm/lib -lamdhip64 -o hip
 *   ./hip exchange.co
 *
 * The kernel: exchange.comp. The launch: exchange.json; docs/launching.md explains its keys.
 */
#include <hip/hip_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROUPS = 4, GROUP_SIZE = 64, COUNT = GROUPS * GROUP_SIZE };

/* "arguments" of the reflection: a field for each, at its offset. */
struct arguments {
    void *source;      /* 0: buffer, set 0, binding 0 */
    void *destination; /* 8: buffer, set 0, binding 1 */
    uint32_t factor;   /* 16: push constants */
};

static void check(hipError_t result, const char *what) {
    if (result != hipSuccess) {
        fprintf(stderr, "%s: %s\n", what, hipGetErrorName(result));
        exit(1);
    }
}

#define CHECK(call) check(call, #call)

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s exchange.co\n", argv[0]);
        return 2;
    }
    hipModule_t module;
    hipFunction_t kernel;
    CHECK(hipModuleLoad(&module, argv[1]));
    CHECK(hipModuleGetFunction(&kernel, module, "main")); /* "symbol" */

    uint32_t source[COUNT], destination[COUNT];
    for (uint32_t i = 0; i < COUNT; ++i) {
        source[i] = i;
    }
    struct arguments arguments = {.factor = 7};
    CHECK(hipMalloc(&arguments.source, sizeof source));
    CHECK(hipMalloc(&arguments.destination, sizeof destination));
    CHECK(hipMemcpy(arguments.source, source, sizeof source, hipMemcpyHostToDevice));

    size_t size = 20; /* "kernarg_segment_size" */
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                     &size, HIP_LAUNCH_PARAM_END};
    /* "workgroup_size" is [64, 1, 1]; "dynamic_shared_memory" is false. */
    CHECK(hipModuleLaunchKernel(kernel, GROUPS, 1, 1, GROUP_SIZE, 1, 1, 0, NULL, NULL, extra));
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(destination, arguments.destination, sizeof destination, hipMemcpyDeviceToHost));

    for (uint32_t i = 0; i < COUNT; ++i) {
        uint32_t mirror = i / GROUP_SIZE * GROUP_SIZE + GROUP_SIZE - 1 - i % GROUP_SIZE;
        uint32_t expected = source[mirror] + 7 * source[i];
        if (destination[i] != expected) {
            fprintf(stderr, "element %u is %u, not %u\n", i, destination[i], expected);
            return 1;
        }
    }
    printf("%d elements are right\n", COUNT);
    CHECK(hipFree(arguments.source));
    CHECK(hipFree(arguments.destination));
    CHECK(hipModuleUnload(module));
    return 0;
}
