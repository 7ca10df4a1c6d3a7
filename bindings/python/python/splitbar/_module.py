"""Input modules: bytes, or the path of a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

Module = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]"]
"""A SPIR-V module: its bytes, or the path of its file."""


def bytes_of(module: Module) -> bytes:
    """Returns the bytes of `module`; raises `OSError` for a file that cannot be read."""
    if isinstance(module, (bytes, bytearray, memoryview)):
        return bytes(module)
    return Path(module).read_bytes()
