"""Compiles SPIR-V compute modules with split barriers, checks, transforms and simulates them."""

from ._compile import (
    CompileError,
    Compiled,
    Diagnostic,
    Pair,
    Pass,
    Target,
    check,
    compile,
    pairs,
    passes,
    program,
    run_passes,
    targets,
)
from ._many import Job, compile_many
from ._module import Module
from ._report import Report, report
from ._simulate import Simulated, Wait, sim
from ._splitbar import __version__

__all__ = [
    "CompileError",
    "Compiled",
    "Diagnostic",
    "Job",
    "Module",
    "Pair",
    "Pass",
    "Report",
    "Simulated",
    "Target",
    "Wait",
    "__version__",
    "check",
    "compile",
    "compile_many",
    "pairs",
    "passes",
    "program",
    "report",
    "run_passes",
    "sim",
    "targets",
]
