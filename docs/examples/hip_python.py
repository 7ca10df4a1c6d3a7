"""Launches a kernel with AMD's hip-python.

    splitbar lower exchange.spv --target gfx1100 --emit hsaco=exchange.co --emit reflect=exchange.json
    python hip_python.py exchange.co exchange.json
"""

import array
import ctypes
import sys

from hip import hip

import launch


def call(function, *arguments, **named):
    """Calls HIP and gives what it returns behind the status."""
    status, *values = function(*arguments, **named)
    if status != hip.hipError_t.hipSuccess:
        raise SystemExit(f"{function.__name__}: {status.name}")
    return values[0] if values else None


def main(code, reflection):
    entry = launch.read(reflection)
    with open(code, "rb") as file:
        module = call(hip.hipModuleLoadData, file.read())
    kernel = call(hip.hipModuleGetFunction, module, entry["symbol"].encode())

    source = array.array("I", launch.source(entry))
    destination = array.array("I", [0] * len(source))
    size = len(source) * source.itemsize
    inputs, outputs = call(hip.hipMalloc, size), call(hip.hipMalloc, size)
    call(hip.hipMemcpy, inputs, source, size, hip.hipMemcpyKind.hipMemcpyHostToDevice)

    buffers = {(0, 0): (int(inputs), size), (0, 1): (int(outputs), size)}
    block = launch.block(entry, buffers, launch.FACTOR.to_bytes(4, "little"))
    bytes_ = ctypes.create_string_buffer(block, len(block))
    length = ctypes.c_size_t(len(block))
    # HIP_LAUNCH_PARAM_BUFFER_POINTER, HIP_LAUNCH_PARAM_BUFFER_SIZE, HIP_LAUNCH_PARAM_END
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(bytes_), 2, ctypes.addressof(length), 3)
    x, y, z = entry["workgroup_size"]
    call(
        hip.hipModuleLaunchKernel,
        kernel,
        launch.GROUPS, 1, 1,
        x, y, z,
        sharedMemBytes=0,
        stream=None,
        kernelParams=None,
        extra=ctypes.addressof(extra),
    )
    call(hip.hipDeviceSynchronize)
    call(hip.hipMemcpy, destination, outputs, size, hip.hipMemcpyKind.hipMemcpyDeviceToHost)
    launch.compare(entry, source, destination)


if __name__ == "__main__":
    main(*sys.argv[1:])
