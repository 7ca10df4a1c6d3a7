"""What docs/examples/hip_python.py uses of hip-python, on the driver of driver.c."""

import types
from ctypes import c_char_p, c_int, c_size_t, c_uint, c_void_p

from simulated import Status, function

hipError_t = types.SimpleNamespace(hipSuccess=Status.SUCCESS)
hipMemcpyKind = types.SimpleNamespace(hipMemcpyHostToDevice=1, hipMemcpyDeviceToHost=2)
hipModuleGetFunction = function("hipModuleGetFunction", [c_void_p, c_char_p], c_void_p)
hipMalloc = function("hipMalloc", [c_size_t], c_void_p)
hipDeviceSynchronize = function("hipDeviceSynchronize", [])
_load = function("hipModuleLoadData", [c_char_p], c_void_p)
_copy = function("hipMemcpy", [c_void_p, c_void_p, c_size_t, c_int])
_launch = function("hipModuleLaunchKernel", [c_void_p] + 7 * [c_uint] + 3 * [c_void_p])


def hipModuleLoadData(image):
    return _load(bytes(image))


def hipMemcpy(to, source, size, kind):
    """Takes addresses, and on the host's side whatever has a buffer."""
    address = lambda one: one if isinstance(one, int) else one.buffer_info()[0]
    return _copy(address(to), address(source), size, kind)


def hipModuleLaunchKernel(kernel, *sizes, sharedMemBytes, stream, kernelParams, extra):
    return _launch(kernel, *sizes, sharedMemBytes, stream, kernelParams, extra)
