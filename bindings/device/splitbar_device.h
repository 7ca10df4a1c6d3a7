/* Split barriers for kernels in OpenCL C, C or C++ with clang, HIP, CUDA (clang) and SYCL.
 *
 * `splitbar_arrive` signals that this invocation has reached the barrier, `splitbar_wait` waits
 * until all have. `splitbar lower-ir` replaces both with the target's instructions
 * (docs/llvm_ir.md). Scope and semantics have SPIR-V's values and must be constants; an arrive
 * releases, a wait acquires. Both must be in uniform control flow.
 *
 *     tile[t] = value;
 *     splitbar_arrive(SPLITBAR_WORKGROUP, SPLITBAR_RELEASE | SPLITBAR_WORKGROUP_MEMORY);
 *     ... work that does not depend on the other invocations ...
 *     splitbar_wait(SPLITBAR_WORKGROUP, SPLITBAR_ACQUIRE | SPLITBAR_WORKGROUP_MEMORY);
 *     other = tile[63 - t];
 */
#ifndef SPLITBAR_DEVICE_H
#define SPLITBAR_DEVICE_H

/* Scopes: the invocations that take part, and those that see the memory. SPIR-V, "Scope <id>". */
#define SPLITBAR_DEVICE 1
#define SPLITBAR_WORKGROUP 2
#define SPLITBAR_SUBGROUP 3

/* Semantics: a memory order, and the memory that it applies to. SPIR-V, "Memory Semantics <id>". */
#define SPLITBAR_RELAXED 0x0
#define SPLITBAR_ACQUIRE 0x2
#define SPLITBAR_RELEASE 0x4
#define SPLITBAR_ACQUIRE_RELEASE 0x8
#define SPLITBAR_SEQUENTIALLY_CONSISTENT 0x10
#define SPLITBAR_SUBGROUP_MEMORY 0x80
#define SPLITBAR_WORKGROUP_MEMORY 0x100 /* __local, __shared__ */
#define SPLITBAR_GLOBAL_MEMORY 0x200    /* __global, buffers */
#define SPLITBAR_IMAGE_MEMORY 0x800

#if defined(__HIP__) || defined(__CUDA__)
#define SPLITBAR_FUNCTION __attribute__((device, convergent, nothrow))
#elif defined(SYCL_EXTERNAL)
#define SPLITBAR_FUNCTION SYCL_EXTERNAL __attribute__((convergent, nothrow))
#else
#define SPLITBAR_FUNCTION __attribute__((convergent, nothrow))
#endif

#ifdef __cplusplus
extern "C" {
#endif
SPLITBAR_FUNCTION void __spirv_ControlBarrierArriveINTEL(int execution, int memory, int semantics);
SPLITBAR_FUNCTION void __spirv_ControlBarrierWaitINTEL(int execution, int memory, int semantics);
SPLITBAR_FUNCTION void __spirv_ControlBarrier(int execution, int memory, int semantics);
SPLITBAR_FUNCTION void __spirv_MemoryBarrier(int memory, int semantics);
#ifdef __cplusplus
}
#endif

/* Macros, so that the numbers are constants without an optimiser too. */
#define splitbar_arrive(scope, semantics) \
    __spirv_ControlBarrierArriveINTEL((scope), (scope), (semantics))
#define splitbar_wait(scope, semantics) \
    __spirv_ControlBarrierWaitINTEL((scope), (scope), (semantics))
/* A barrier in one piece, and a fence without one. */
#define splitbar_barrier(scope, semantics) \
    __spirv_ControlBarrier((scope), (scope), (semantics))
#define splitbar_fence(scope, semantics) __spirv_MemoryBarrier((scope), (semantics))

#endif
