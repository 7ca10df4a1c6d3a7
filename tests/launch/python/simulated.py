"""The driver of driver.c, for modules that stand in for cuda-bindings and hip-python."""

import ctypes
import enum
import os

library = ctypes.CDLL(os.environ["SPLITBAR_DRIVER"])


class Status(enum.IntEnum):
    """Both call their success so, with a prefix."""

    SUCCESS = 0


def function(name, types, result=None):
    """Calls the C function `name` with arguments of `types`; a result is written through a pointer,
    which comes first."""

    def call(*arguments):
        out = result() if result else None
        first = [ctypes.byref(out)] if result else []
        pointers = [ctypes.c_void_p] if result else []
        function = getattr(library, name)
        function.argtypes = pointers + types
        status = Status(function(*first, *arguments))
        return (status, out.value) if result else (status,)

    call.__name__ = name
    return call
