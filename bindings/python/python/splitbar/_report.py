"""Reports on whether to split the barriers of a module on each GPU, and why."""

from __future__ import annotations

import html
import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ._compile import Spec, Value, program, spec_of
from ._module import Module, bytes_of
from ._program import error_of, flags_of

_HEIGHT = "800px"


@dataclass
class Report:
    """A report, in the formats of `splitbar report`; notebooks show the HTML page."""

    _module: bytes = field(repr=False)
    _arguments: tuple[str, ...] = field(repr=False)

    @cached_property
    def html(self) -> str:
        """The page, which needs no other file."""
        return self._made("html")

    @cached_property
    def text(self) -> str:
        """The report for terminals and logs."""
        return self._made("text")

    @cached_property
    def data(self) -> dict[str, Any]:
        """The report as `docs/schemas/report.json` describes it."""
        made: dict[str, Any] = json.loads(self._made("json"))
        return made

    def _made(self, form: str) -> str:
        command = [program(), "report", "-", "--format", form, *self._arguments]
        ran = subprocess.run(command, input=self._module, capture_output=True, check=False)
        if not ran.stdout:
            raise error_of(ran.returncode, ran.stderr.decode())
        return ran.stdout.decode()

    def _repr_html_(self) -> str:
        # A frame keeps the page's style and code apart from the notebook's.
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: {_HEIGHT}; border: 0"></iframe>'


def report(
    module: Module, *, targets: str | Iterable[str], spec: Spec | None = None, **options: Value
) -> Report:
    """Reports on `module` for one GPU or several.

    The report is made when one of its forms is first read, which raises `CompileError` for a
    module that has no report, and `ValueError` for wrong arguments. `options` are the long flags
    of `splitbar report` with underscores.
    """
    names = targets if isinstance(targets, str) else ",".join(targets)
    arguments = ["--targets", names]
    for setting in spec_of(spec):
        arguments += ["--spec", setting]
    return Report(bytes_of(module), (*arguments, *flags_of(options)))
