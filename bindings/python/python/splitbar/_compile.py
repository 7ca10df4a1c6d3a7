"""Compiling, checking and transforming."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

from . import _splitbar
from ._module import Module, bytes_of

Value = Union[str, int, bool, "os.PathLike[str]", Iterable[int]]
Spec = Mapping[int, Union[int, float, bool, str]]


@dataclass(frozen=True)
class Diagnostic:
    """A diagnostic: the message, its place, the reasons, and the help. Unknown parts are `None`."""

    severity: str
    code: str
    message: str
    word: int | None = None
    operand: int | None = None
    function: str | None = None
    block: str | None = None
    instruction: str | None = None
    vuid: str | None = None
    reasons: tuple[str, ...] = ()
    help: str | None = None

    def __str__(self) -> str:
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        if self.instruction is not None:
            lines.append(f"  at word {self.word}: {self.instruction}")
        lines += [f"  because {reason}" for reason in self.reasons]
        if self.help is not None:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)


def diagnostics(text: str) -> tuple[Diagnostic, ...]:
    """The diagnostics in the JSON lines `text`."""
    names = Diagnostic.__dataclass_fields__
    found = []
    for line in text.splitlines():
        fields = {key: value for key, value in json.loads(line).items() if key in names}
        fields["reasons"] = tuple(fields["reasons"])
        found.append(Diagnostic(**fields))
    return tuple(found)


class CompileError(Exception):
    """A module, a target or this build for which there is no result.

    `diagnostics` has every problem; `exit_code` is the exit code of the program: 1 invalid, 2 wrong usage,
    3 unsupported or over a limit, 4 a bug in splitbar.
    """

    def __init__(self, exit_code: int, found: tuple[Diagnostic, ...]) -> None:
        super().__init__(exit_code, found)
        self.exit_code = exit_code
        self.diagnostics = found

    def __str__(self) -> str:
        return "\n".join(str(one) for one in self.diagnostics)


def refused(error: _splitbar.Refused) -> CompileError:
    exit_code, text = error.args
    return CompileError(exit_code, diagnostics(text))


def program() -> str:
    """The path of `splitbar`: from SPLITBAR_PROGRAM, from this package, or from PATH."""
    named = os.environ.get("SPLITBAR_PROGRAM")
    if named:
        return named
    own = Path(__file__).with_name("bin") / "splitbar"
    found = str(own) if own.is_file() else shutil.which("splitbar")
    if found is None:
        raise FileNotFoundError("there is no program splitbar; name one in SPLITBAR_PROGRAM")
    return found


def settings_of(options: Mapping[str, Value]) -> list[tuple[str, str]]:
    """Options of Python as names and values of the command line."""
    return [(name.replace("_", "-"), text_of(value)) for name, value in options.items()]


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    return ",".join(str(part) for part in value)


def spec_of(spec: Spec | None) -> list[str]:
    return [f"{number}={text_of_spec(value)}" for number, value in (spec or {}).items()]


def text_of_spec(value: int | float | bool | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass
class Compiled:
    """A compiled module. Products that `emit` did not name are compiled when they are first read."""

    target: str
    diagnostics: tuple[Diagnostic, ...]
    _module: bytes = field(repr=False)
    _arguments: dict[str, Any] = field(repr=False)
    _products: dict[str, bytes] = field(repr=False)

    def product(self, kind: str) -> bytes:
        """The bytes of a product, by the names of `splitbar lower --emit`."""
        if kind not in self._products:
            made = _compile(self._module, self.target, [kind], **self._arguments)
            self._products.update(made._products)
        return self._products[kind]

    @property
    def asm(self) -> str:
        """Assembly, or PTX."""
        return self.product("asm").decode()

    @property
    def object(self) -> bytes:
        """A relocatable object (AMD)."""
        return self.product("obj")

    @property
    def code_object(self) -> bytes:
        """Machine code that a driver loads: a code object of AMD, or a cubin of NVIDIA."""
        return self.product("cubin" if self.target.startswith("sm_") else "hsaco")

    @property
    def llvm_ir(self) -> str:
        """LLVM IR as text."""
        return self.product("llvm-ir").decode()

    @property
    def bitcode(self) -> bytes:
        """LLVM bitcode."""
        return self.product("bitcode")

    @property
    def plan(self) -> str:
        """The lowering of each barrier, with the reasons."""
        return self.product("plan").decode()

    @property
    def reflection(self) -> list[dict[str, Any]]:
        """Arguments, memory, pairs and windows of each entry point."""
        if "reflect" not in self._products:
            arguments = {**self._arguments, "options": {**self._arguments["options"]}}
            arguments["options"].setdefault("measure", True)
            made = _compile(self._module, self.target, ["reflect"], **arguments)
            self._products.update(made._products)
        found: list[dict[str, Any]] = json.loads(self._products["reflect"])
        return found

    def _repr_html_(self) -> str:
        """The report on the module for this target, for notebooks."""
        from ._report import report

        return report(self._module, targets=self.target, spec=self._arguments["spec"])._repr_html_()


def _compile(
    module: bytes,
    target: str,
    emit: list[str],
    *,
    spec: Spec | None,
    time_limit: float | None,
    memory_limit: int | None,
    options: Mapping[str, Value],
) -> Compiled:
    try:
        products, found = _splitbar.compile(
            module,
            target,
            emit,
            settings_of(options),
            spec_of(spec),
            program(),
            time_limit,
            memory_limit,
        )
    except _splitbar.Refused as error:
        raise refused(error) from None
    arguments = {
        "spec": spec,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "options": dict(options),
    }
    made = dict(zip(emit, products))
    return Compiled(target, diagnostics(found), module, arguments, made)


def compile(
    module: Module,
    *,
    target: str,
    emit: Iterable[str] = ("asm",),
    spec: Spec | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    **options: Value,
) -> Compiled:
    """Compiles `module`, bytes or the path of a file, for `target` in a worker process of this thread.

    `emit` names the products to compile now, as `splitbar lower --emit`. `spec` has values of specialization
    constants by SpecId. `time_limit` is in seconds, `memory_limit` in bytes. `options` are the
    long flags of `splitbar lower` with underscores: `strategy="fused"`, `O=3`,
    `workgroup_size=(64, 1, 1)`, `no_validate=True`.

    Raises `CompileError` with every problem, and `ValueError` for options that are wrong.
    """
    return _compile(
        bytes_of(module),
        target,
        list(emit),
        spec=spec,
        time_limit=time_limit,
        memory_limit=memory_limit,
        options=options,
    )


def check(
    module: Module, *, target: str | None = None, spec: Spec | None = None, **options: Value
) -> tuple[Diagnostic, ...]:
    """Checks `module` and returns its diagnostics; an invalid module raises nothing.

    The options are those of `splitbar check`: `target_env`, `strict` and `assume_default_spec`."""
    try:
        text = _splitbar.check(bytes_of(module), target, settings_of(options), spec_of(spec))
    except _splitbar.Refused as error:
        raise refused(error) from None
    return diagnostics(text)


@dataclass(frozen=True)
class Pair:
    """Arrives and waits that belong together, by their word offsets in the module."""

    entry: str
    id: int
    scope: str
    arrives: tuple[int, ...]
    waits: tuple[int, ...]
    operations: int


def pairs(module: Module, *, spec: Spec | None = None) -> tuple[Pair, ...]:
    """Returns the pairs of arrives and waits."""
    try:
        found = _splitbar.pairs(bytes_of(module), spec_of(spec))
    except _splitbar.Refused as error:
        raise refused(error) from None
    return tuple(
        Pair(entry, number, scope, tuple(arrives), tuple(waits), operations)
        for entry, number, scope, arrives, waits, operations in found
    )


@dataclass(frozen=True)
class Pass:
    """A pass over SPIR-V: its name, its description, and the notation of its value."""

    name: str
    about: str
    value: str | None


def passes() -> tuple[Pass, ...]:
    """All passes."""
    return tuple(Pass(*row) for row in _splitbar.list_passes())


def run_passes(module: Module, *names: str) -> bytes:
    """Runs passes, each `name` or `name=value`, and returns the transformed module."""
    try:
        changed, _ = _splitbar.run_passes(bytes_of(module), list(names))
    except _splitbar.Refused as error:
        raise refused(error) from None
    return changed


@dataclass(frozen=True)
class Target:
    """A GPU."""

    name: str
    wave_sizes: tuple[int, ...]
    strategy: str
    strategies: tuple[str, ...]
    async_copies: str | None
    minimum_ptx: str | None
    lds_bytes: int
    max_workgroup_size: int
    products: tuple[str, ...]


def targets() -> tuple[Target, ...]:
    """All GPUs."""
    rows = json.loads(_splitbar.targets())
    for row in rows:
        row["wave_sizes"] = tuple(row["wave_sizes"])
        row["strategies"] = tuple(row["strategies"])
        row["products"] = tuple(row["products"])
    return tuple(Target(**row) for row in rows)
