"""What docs/examples/cuda_bindings.py uses of cuda-bindings, on the driver of driver.c."""

import types
from ctypes import c_char_p, c_int, c_size_t, c_uint, c_void_p

from simulated import Status, function

CUresult = types.SimpleNamespace(CUDA_SUCCESS=Status.SUCCESS)
cuInit = function("cuInit", [c_uint])
cuDeviceGet = function("cuDeviceGet", [c_int], c_int)
cuDevicePrimaryCtxRetain = function("cuDevicePrimaryCtxRetain", [c_int], c_void_p)
cuCtxSetCurrent = function("cuCtxSetCurrent", [c_void_p])
cuCtxSynchronize = function("cuCtxSynchronize", [])
cuModuleLoadData = function("cuModuleLoadData", [c_char_p], c_void_p)
cuModuleGetFunction = function("cuModuleGetFunction", [c_void_p, c_char_p], c_void_p)
cuMemAlloc = function("cuMemAlloc_v2", [c_size_t], c_void_p)
cuMemcpyHtoD = function("cuMemcpyHtoD_v2", [c_void_p, c_void_p, c_size_t])
cuMemcpyDtoH = function("cuMemcpyDtoH_v2", [c_void_p, c_void_p, c_size_t])
cuLaunchKernel = function("cuLaunchKernel", [c_void_p] + 7 * [c_uint] + 3 * [c_void_p])
