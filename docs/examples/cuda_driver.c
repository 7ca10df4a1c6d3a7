/* Launches a kernel with the CUDA driver API.
 *
 *   splitbar lower exchange.spv --target sm_80 --emit ptx=exchange.ptx --emit reflect=exchange.json
 *   cc cuda_driver.c -I/usr/local/cuda/include -lcuda -o cuda_driver
 *   ./cuda_driver exchange.ptx
 *
 * The kernel: exchange.comp. The launch: exchange.json; docs/launching.md explains its keys.
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROUPS = 4, GROUP_SIZE = 64, COUNT = GROUPS * GROUP_SIZE };

/* "arguments" of the reflection: a field for each, at its offset. */
struct arguments {
    CUdeviceptr source;      /* 0: buffer, set 0, binding 0 */
    CUdeviceptr destination; /* 8: buffer, set 0, binding 1 */
    uint32_t factor;         /* 16: push constants */
};

static void check(CUresult result, const char *what) {
    if (result != CUDA_SUCCESS) {
        const char *name = NULL;
        cuGetErrorName(result, &name);
        fprintf(stderr, "%s: %s\n", what, name ? name : "unknown error");
        exit(1);
    }
}

#define CHECK(call) check(call, #call)

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        perror(path);
        exit(1);
    }
    long size = ftell(file);
    char *text = size < 0 ? NULL : calloc((size_t)size + 1, 1); /* PTX ends with a zero */
    rewind(file);
    if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return text;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s exchange.ptx\n", argv[0]);
        return 2;
    }
    char *code = read_file(argv[1]);

    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, code));
    CHECK(cuModuleGetFunction(&kernel, module, "main")); /* "symbol" */

    uint32_t source[COUNT], destination[COUNT];
    for (uint32_t i = 0; i < COUNT; ++i) {
        source[i] = i;
    }
    struct arguments arguments = {.factor = 7};
    CHECK(cuMemAlloc(&arguments.source, sizeof source));
    CHECK(cuMemAlloc(&arguments.destination, sizeof destination));
    CHECK(cuMemcpyHtoD(arguments.source, source, sizeof source));

    size_t size = 20; /* "kernarg_segment_size" */
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    /* "workgroup_size" is [64, 1, 1]; "dynamic_shared_memory" is false. */
    CHECK(cuLaunchKernel(kernel, GROUPS, 1, 1, GROUP_SIZE, 1, 1, 0, NULL, NULL, extra));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(destination, arguments.destination, sizeof destination));

    for (uint32_t i = 0; i < COUNT; ++i) {
        uint32_t mirror = i / GROUP_SIZE * GROUP_SIZE + GROUP_SIZE - 1 - i % GROUP_SIZE;
        uint32_t expected = source[mirror] + 7 * source[i];
        if (destination[i] != expected) {
            fprintf(stderr, "element %u is %u, not %u\n", i, destination[i], expected);
            return 1;
        }
    }
    printf("%d elements are right\n", COUNT);
    cuMemFree(arguments.source);
    cuMemFree(arguments.destination);
    cuModuleUnload(module);
    cuDevicePrimaryCtxRelease(device);
    free(code);
    return 0;
}
