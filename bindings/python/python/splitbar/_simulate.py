"""The simulator: from arrays to arrays, findings and the times of barriers."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from ._compile import Spec, Value, program, spec_of
from ._module import Module, bytes_of
from ._program import error_of, flags_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Place = Union[int, "tuple[int, int]"]

# The form of a profile: docs/profile.md.
_HEADER, _RECORD = 8, 16


@dataclass(frozen=True)
class Wait:
    """One wave at one barrier: the clock before the arrive, before the wait, and after the wait."""

    workgroup: tuple[int, int, int]
    wave: int
    phase: int
    arrive: int
    wait: int
    arrived: int
    waited: int
    passed: int


@dataclass
class Simulated:
    """The result of a launch."""

    buffers: dict[Place, npt.NDArray[Any]]
    """The buffers after the last schedule, with the shapes and types of the input."""
    runs: list[dict[str, Any]]
    """The schedules, as `splitbar sim --format json` prints them."""
    findings: list[dict[str, Any]]
    """Races, missing waits, deadlocks and other misuse, each once; `schedules` has the indices of
    the runs that showed it."""
    waits: tuple[Wait, ...] = ()
    """With `profile=True`: every wave at every barrier."""

    def _repr_html_(self) -> str:
        """The findings as a table, for notebooks."""
        if not self.findings:
            return f"<p>no findings in {len(self.runs)} schedules</p>"
        rows = "".join(
            f"<tr><td>{escape(str(one['kind']))}</td><td>{escape(str(one['message']))}</td></tr>"
            for one in self.findings
        )
        return f"<table><tr><th>finding</th><th>what happened</th></tr>{rows}</table>"


def sim(
    module: Module,
    *,
    target: str,
    groups: tuple[int, int, int],
    buffers: Mapping[Place, npt.NDArray[Any]],
    push: bytes = b"",
    schedules: int = 16,
    seed: int = 1,
    profile: bool = False,
    spec: Spec | None = None,
    time_limit: float | None = None,
    **options: Value,
) -> Simulated:
    """Runs a kernel on a simulated GPU under hostile schedules.

    `module` is a SPIR-V module or the path of one. `buffers` are numpy arrays by (set, binding), or by index for
    kernels without bindings. With `profile` the waves' times at each barrier are measured, in
    instructions. `options` are the long flags of `splitbar sim` with underscores.
    """
    import numpy as np

    with tempfile.TemporaryDirectory(prefix="splitbar-") as name:
        folder = Path(name)
        (folder / "kernel.spv").write_bytes(bytes_of(module))
        arguments = ["sim", str(folder / "kernel.spv"), "--target", target, "--format", "json"]
        arguments += ["--groups", ",".join(map(str, groups))]
        arguments += ["--schedules", str(schedules), "--seed", str(seed)]
        for number, (place, array) in enumerate(buffers.items()):
            file = folder / f"{number}.bin"
            file.write_bytes(np.ascontiguousarray(array).tobytes())
            text = _text(place)
            arguments += ["--buffer", f"{text}={file}", "--dump", f"{text}={file}.out"]
        if push:
            arguments += ["--push", push.hex()]
        if profile:
            arguments += ["--profile", str(folder / "profile.bin")]
        if time_limit is not None:
            arguments += ["--time-limit", str(time_limit)]
        for setting in spec_of(spec):
            arguments += ["--spec", setting]
        arguments += flags_of(options)
        ran = subprocess.run([program(), *arguments], capture_output=True, text=True, check=False)
        if not ran.stdout:
            raise error_of(ran.returncode, ran.stderr)
        left: dict[Place, Any] = {}
        for number, (place, array) in enumerate(buffers.items()):
            bytes_left = (folder / f"{number}.bin.out").read_bytes()
            left[place] = np.frombuffer(bytes_left, array.dtype).reshape(array.shape).copy()
        waits = _waits((folder / "profile.bin").read_bytes()) if profile else ()
        said = json.loads(ran.stdout)
        return Simulated(left, said["schedules"], said["findings"], waits)


def _text(place: Place) -> str:
    return str(place) if isinstance(place, int) else ":".join(map(str, place))


def _waits(dump: bytes) -> tuple[Wait, ...]:
    """The records of a profile, in the order in which they were made."""
    import numpy as np

    words: npt.NDArray[np.uint32] = np.frombuffer(dump, "<u4")
    count = min(int(words[5]), int(words[4]))
    ring = words[_HEADER : _HEADER + count * _RECORD].reshape(count, _RECORD)
    records = ring[np.argsort(ring[:, 0])]

    def clock(record: npt.NDArray[np.uint32], at: int) -> int:
        return int(record[at]) | int(record[at + 1]) << 32

    return tuple(
        Wait(
            workgroup=(int(record[4]), int(record[5]), int(record[6])),
            wave=int(record[7]),
            phase=int(record[3]),
            arrive=int(record[1]),
            wait=int(record[2]),
            arrived=clock(record, 9),
            waited=clock(record, 11),
            passed=clock(record, 13),
        )
        for record in records
    )
