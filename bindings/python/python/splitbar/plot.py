"""Pictures: windows of pairs, occupancy of strategies, and where waves are in a schedule.

Each function draws into `axes`, or into a new figure, and returns the axes. They need matplotlib
(`pip install splitbar[matplotlib]`).
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._compile import Compiled, program
from ._module import Module, bytes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._simulate import Simulated


def _axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


def windows(compiled: Mapping[str, Compiled] | Compiled, axes: Axes | None = None) -> Axes:
    """The window of each pair: instructions between arrive and wait in the module, and those of
    them that are left there in the final code. Several compilations stand side by side."""
    if isinstance(compiled, Compiled):
        compiled = {compiled.target: compiled}
    names, source, kept = [], [], []
    for label, one in compiled.items():
        for entry in one.reflection:
            for pair in entry["pairs"]:
                window = pair["window"] or {"source": 0, "kept": 0}
                names.append(f"{label}\n{entry['entry']} {pair['id']}\n{pair['strategy']}")
                source.append(window["source"])
                kept.append(window["kept"])
    axes = _axes(axes)
    places = range(len(names))
    axes.bar([place - 0.2 for place in places], source, 0.4, label="before: in the module")
    axes.bar([place + 0.2 for place in places], kept, 0.4, label="after: left in the code")
    axes.set_xticks(list(places), names)
    axes.set_ylabel("instructions between arrive and wait")
    axes.legend()
    return axes


def occupancy(module: Module, *, target: str, axes: Axes | None = None) -> Axes:
    """Plots the number of resident workgroups with each strategy, from `splitbar advise`.
    Where only bounds are known, the bar is the lower one."""
    with tempfile.TemporaryDirectory(prefix="splitbar-") as folder:
        file = Path(folder) / "kernel.spv"
        file.write_bytes(bytes_of(module))
        command = [program(), "advise", str(file), "--target", target, "--format", "json"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise ValueError(ran.stderr.strip())
    names, resident = [], []
    for advice in json.loads(ran.stdout):
        for candidate in advice["candidates"]:
            is_plain = advice.get("split_barriers") == "auto"
            suffix = "\nfull barriers split" if is_plain else ""
            names.append(f"{advice['entry']}\n{candidate['strategy']}{suffix}")
            resident.append(_workgroups(candidate))
    axes = _axes(axes)
    axes.bar(names, resident)
    axes.set_ylabel(f"resident workgroups on {target}")
    return axes


def _workgroups(candidate: Mapping[str, Any]) -> int:
    known = candidate.get("resident")
    if known:
        return int(known["workgroups"])
    between = candidate.get("resident_between")
    return int(between[0]) if between else 0


def timeline(
    simulated: Simulated, workgroup: tuple[int, int, int] = (0, 0, 0), axes: Axes | None = None
) -> Axes:
    """Where each wave of a workgroup is: in the window between arrive and wait, or waiting. For a
    simulation with `profile=True`; the unit is that of the profile, instructions of a wave."""
    axes = _axes(axes)
    waits = [wait for wait in simulated.waits if wait.workgroup == workgroup]
    parts = [
        ("window: from arrive to wait", "tab:green", "arrived", "waited"),
        ("waiting", "tab:red", "waited", "passed"),
    ]
    for label, colour, first, last in parts:
        bars: dict[int, list[tuple[int, int]]] = {}
        for wait in waits:
            begin, end = getattr(wait, first), getattr(wait, last)
            bars.setdefault(wait.wave, []).append((begin, max(end - begin, 0)))
        for number, (wave, spans) in enumerate(sorted(bars.items())):
            shown = label if number == 0 else None
            axes.broken_barh(spans, (wave - 0.4, 0.8), facecolors=colour, label=shown)
    axes.set_yticks(sorted({wait.wave for wait in waits}))
    axes.set_ylabel("wave")
    axes.set_xlabel("instructions")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return axes
