/* A driver for docs/examples on machines without a GPU: it has the functions of the CUDA driver and
 * of HIP that those programs call, keeps device memory in that of the host, and launches on the
 * simulator: SPLITBAR_SIM is the command of a launch up to the workgroups. The first two arguments
 * of a kernel are addresses of buffers, the rest is by value. */
#include <cuda.h>
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 2, MOST_BYTES = 4096 };

static struct { unsigned char *address; size_t bytes; } memory[BUFFERS];
static char kernel[64];

static void fail(const char *what) {
    fprintf(stderr, "driver.c: %s\n", what);
    exit(3);
}

static void *allocate(size_t bytes) {
    for (int n = 0; n < BUFFERS; ++n) {
        if (!memory[n].address) {
            memory[n].address = aligned_alloc(256, (bytes + 255) / 256 * 256);
            memory[n].bytes = bytes;
            return memory[n].address;
        }
    }
    fail("too many buffers");
    return NULL;
}

static void name(const char *symbol) {
    if (strlen(symbol) >= sizeof kernel) fail("the name of the kernel is too long");
    strcpy(kernel, symbol);
}

/* Runs `SPLITBAR_SIM --entry NAME --groups .. --workgroup-size .. --buffer .. --push .. --dump ..`. */
static void launch(const unsigned grid[3], const unsigned block[3], const unsigned char *arguments,
                   size_t bytes) {
    char command[MOST_BYTES];
    const char *sim = getenv("SPLITBAR_SIM");
    if (!sim) fail("SPLITBAR_SIM is not set");
    int at = snprintf(command, sizeof command,
                      "%s --entry %s --groups %u,%u,%u --workgroup-size %u,%u,%u", sim, kernel,
                      grid[0], grid[1], grid[2], block[0], block[1], block[2]);
    for (int n = 0; n < BUFFERS; ++n) {
        unsigned char *address;
        memcpy(&address, arguments + 8 * n, 8);
        if (address != memory[n].address) fail("an argument is not the address of its buffer");
        char file[16];
        snprintf(file, sizeof file, "%d.in", n);
        FILE *out = fopen(file, "wb");
        if (!out || fwrite(address, 1, memory[n].bytes, out) != memory[n].bytes || fclose(out))
            fail("a buffer cannot be written");
        at += snprintf(command + at, sizeof command - at, " --buffer %d=%s --dump %d=%d.out", n, file, n,
                       n);
    }
    at += snprintf(command + at, sizeof command - at, " --push ");
    for (size_t n = 8 * BUFFERS; n < bytes; ++n)
        at += snprintf(command + at, sizeof command - at, "%02x", arguments[n]);
    if (system(command)) fail(command);
    for (int n = 0; n < BUFFERS; ++n) {
        char file[16];
        snprintf(file, sizeof file, "%d.out", n);
        FILE *in = fopen(file, "rb");
        if (!in || fread(memory[n].address, 1, memory[n].bytes, in) != memory[n].bytes || fclose(in))
            fail("a buffer cannot be read");
    }
}

static void launch_extra(const unsigned grid[3], const unsigned block[3], unsigned dynamic_bytes,
                         void **parameters, void **extra, void *end) {
    if (dynamic_bytes || parameters) fail("only the block of arguments is known here");
    if (extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != end) fail("extra is wrong");
    launch(grid, block, extra[1], *(size_t *)extra[3]);
}

CUresult cuGetErrorName(CUresult error, const char **text) { (void)error; *text = "?"; return 0; }
CUresult cuInit(unsigned int flags) { if (flags) fail("cuInit"); return 0; }
CUresult cuDeviceGet(CUdevice *device, int ordinal) { *device = ordinal; return 0; }
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    (void)device; *context = (CUcontext)memory; return 0;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) { (void)device; return 0; }
CUresult cuCtxSetCurrent(CUcontext context) { if (!context) fail("no context"); return 0; }
CUresult cuCtxSynchronize(void) { return 0; }
CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    if (!strstr(image, ".target sm_")) fail("not PTX");
    *module = (CUmodule)memory;
    return 0;
}
CUresult cuModuleUnload(CUmodule module) { (void)module; return 0; }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *symbol) {
    (void)module; name(symbol); *function = (CUfunction)kernel; return 0;
}
CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
    *address = (CUdeviceptr)allocate(bytes);
    return 0;
}
CUresult cuMemFree(CUdeviceptr address) { free((void *)address); return 0; }
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
    memcpy((void *)to, from, bytes);
    return 0;
}
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
    memcpy(to, (void *)from, bytes);
    return 0;
}
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned dynamic_bytes, CUstream stream,
                        void **parameters, void **extra) {
    (void)function; (void)stream;
    launch_extra((unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, dynamic_bytes, parameters,
                 extra, CU_LAUNCH_PARAM_END);
    return 0;
}

const char *hipGetErrorName(hipError_t error) { (void)error; return "?"; }
hipError_t hipModuleLoad(hipModule_t *module, const char *file) {
    if (!strstr(file, ".co")) fail("not a code object");
    *module = (hipModule_t)memory;
    return 0;
}
hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
    if (memcmp(image, "\177ELF", 4)) fail("not a code object");
    *module = (hipModule_t)memory;
    return 0;
}
hipError_t hipModuleUnload(hipModule_t module) { (void)module; return 0; }
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *symbol) {
    (void)module; name(symbol); *function = (hipFunction_t)kernel; return 0;
}
hipError_t hipMalloc(void **address, size_t bytes) { *address = allocate(bytes); return 0; }
hipError_t hipFree(void *address) { free(address); return 0; }
hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind) {
    (void)kind; memcpy(to, from, bytes); return 0;
}
hipError_t hipDeviceSynchronize(void) { return 0; }
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz,
                                 unsigned bx, unsigned by, unsigned bz, unsigned dynamic_bytes,
                                 hipStream_t stream, void **parameters, void **extra) {
    (void)function; (void)stream;
    launch_extra((unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, dynamic_bytes, parameters,
                 extra, HIP_LAUNCH_PARAM_END);
    return 0;
}
