"""The program: flags for options, and the diagnostics of a failure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ._compile import CompileError, Diagnostic, Value, diagnostics, settings_of

_WRONG_USAGE = 2
"""The exit code of the program for wrong arguments."""

_ERROR = re.compile(r"^error\[(SB\d{4})\]: (.*)$", re.MULTILINE)
"""The first line of a problem in text."""


def flags_of(options: Mapping[str, Value]) -> list[str]:
    """Returns options of Python as arguments of the program."""
    flags = []
    for name, value in settings_of(options):
        flag = f"-{name}" if len(name) == 1 else f"--{name}"
        if value == "true":
            flags.append(flag)
        elif value != "false":
            flags += [flag, value]
    return flags


def error_of(exit_code: int, said: str) -> Exception:
    """Returns the exception for a failed run that printed `said` on standard error."""
    lines = said.splitlines()
    if lines and all(line.startswith("{") for line in lines):
        found = diagnostics(said)
    else:
        found = tuple(
            Diagnostic("error", code, message) for code, message in _ERROR.findall(said)
        )
    if exit_code == _WRONG_USAGE or not found:
        problems = [problem.message for problem in found] or [said.strip()]
        return ValueError("; ".join(problems))
    return CompileError(exit_code, found)
