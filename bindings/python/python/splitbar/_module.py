"""Input modules: bytes, the path of a file, or a Triton kernel."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, Union


class TritonKernel(Protocol):
    """A kernel that Triton has compiled (`triton.compiler.CompiledKernel`): what a launch
    `kernel[grid](...)` returns, and `kernel.warmup(...)`."""

    @property
    def asm(self) -> Mapping[str, Any]:
        """The forms of the kernel by the extension of their files; Triton's Intel backend has
        SPIR-V as `spv`."""


Module = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]", TritonKernel]
"""A SPIR-V module: its bytes, the path of its file, or a kernel of Triton's Intel backend."""


def bytes_of(module: Module) -> bytes:
    """Returns the bytes of `module`; raises `OSError` for a file that cannot be read, and
    `TypeError` for a kernel of Triton that has no SPIR-V."""
    if isinstance(module, (bytes, bytearray, memoryview)):
        return bytes(module)
    if isinstance(module, (str, os.PathLike)):
        return Path(module).read_bytes()
    forms = getattr(module, "asm", None)
    if not isinstance(forms, Mapping):
        kind = type(module).__name__
        raise TypeError(f"a module is bytes, a path or a kernel of Triton, not {kind}")
    if not isinstance(forms.get("spv"), bytes):
        names = ", ".join(sorted(forms))
        raise TypeError(
            f"the kernel of Triton has no SPIR-V, only {names}: Triton's Intel backend makes it"
        )
    return bytes(forms["spv"])
