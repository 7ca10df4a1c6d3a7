"""Kernels of the repository for the tests."""

import os
from pathlib import Path

import pytest

FIXTURES = Path(os.environ["SPLITBAR_FIXTURES"])


@pytest.fixture
def kernel():
    """The module of a kernel by its name."""
    return lambda name: (FIXTURES / "kernels" / name / f"{name}.spv").read_bytes()
