"""Launches a kernel with NVIDIA's cuda-bindings (`pip install cuda-bindings`).

    splitbar lower exchange.spv --target sm_80 --emit ptx=exchange.ptx --emit reflect=exchange.json
    python cuda_bindings.py exchange.ptx exchange.json
"""

import array
import ctypes
import sys

from cuda.bindings import driver as cuda

import launch


def call(function, *arguments):
    """Calls the driver and gives what it returns behind the status."""
    status, *values = function(*arguments)
    if status != cuda.CUresult.CUDA_SUCCESS:
        raise SystemExit(f"{function.__name__}: {status.name}")
    return values[0] if values else None


def main(code, reflection):
    entry = launch.read(reflection)
    call(cuda.cuInit, 0)
    device = call(cuda.cuDeviceGet, 0)
    call(cuda.cuCtxSetCurrent, call(cuda.cuDevicePrimaryCtxRetain, device))
    with open(code, "rb") as file:
        module = call(cuda.cuModuleLoadData, file.read() + b"\0")
    kernel = call(cuda.cuModuleGetFunction, module, entry["symbol"].encode())

    source = array.array("I", launch.source(entry))
    destination = array.array("I", [0] * len(source))
    size = len(source) * source.itemsize
    inputs, outputs = call(cuda.cuMemAlloc, size), call(cuda.cuMemAlloc, size)
    call(cuda.cuMemcpyHtoD, inputs, source.buffer_info()[0], size)

    buffers = {(0, 0): (int(inputs), size), (0, 1): (int(outputs), size)}
    block = launch.block(entry, buffers, launch.FACTOR.to_bytes(4, "little"))
    bytes_ = ctypes.create_string_buffer(block, len(block))
    length = ctypes.c_size_t(len(block))
    # CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(bytes_), 2, ctypes.addressof(length), 0)
    x, y, z = entry["workgroup_size"]
    call(cuda.cuLaunchKernel, kernel, launch.GROUPS, 1, 1, x, y, z, 0, 0, 0, ctypes.addressof(extra))
    call(cuda.cuCtxSynchronize)
    call(cuda.cuMemcpyDtoH, destination.buffer_info()[0], outputs, size)
    launch.compare(entry, source, destination)


if __name__ == "__main__":
    main(*sys.argv[1:])
