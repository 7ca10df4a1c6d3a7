"""The package as a stranger uses it."""

import concurrent.futures
import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import splitbar


def lower(module, target, *more):
    """What the program makes of a module."""
    command = [splitbar.program(), "lower", "-", "--target", target, *more]
    return subprocess.run(command, input=module, capture_output=True, check=True).stdout


def test_three_lines(kernel):
    module = kernel("reduction")
    compiled = splitbar.compile(module, target="gfx1201")
    assert compiled.asm.encode() == lower(module, "gfx1201")
    assert compiled.diagnostics == ()


def test_products(kernel):
    module = kernel("reduction")
    compiled = splitbar.compile(module, target="sm_90", emit=("asm", "plan"), strategy="fused", O=1)
    more = ["--strategy", "fused", "-O1"]
    assert compiled.asm.encode() == lower(module, "sm_90", *more)
    assert compiled.plan.encode() == lower(module, "sm_90", *more, "--emit", "plan")
    assert compiled.reflection == json.loads(lower(module, "sm_90", *more, "--emit", "reflect"))
    amd = splitbar.compile(module, target="gfx1100", emit=())
    assert amd.object[:4] == b"\x7fELF"
    assert "define" in amd.llvm_ir and amd.bitcode[:2] == b"BC"


@pytest.mark.parametrize("target", ["gfx1201", "sm_90"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"strategy": "auto"},
        {"strategy": "auto=balanced"},
        {"strategy": "auto=fast"},
        {"strategy": "auto=always-split"},
        {"split_barriers": "auto"},
    ],
)
def test_options_mean_the_same(kernel, target, settings):
    module = kernel("plain_matmul")
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    assert splitbar.compile(module, target=target, **settings).asm.encode() == lower(module, target, *flags)


def test_the_tag_is_true():
    """No file of the wheel needs a newer glibc than the tag of the wheel names."""
    files = importlib.metadata.files("splitbar")
    (wheel,) = (file for file in files if file.match("*.dist-info/WHEEL"))
    tags = re.findall(r"^Tag: .*manylinux_2_(\d+)_", wheel.read_text(), re.MULTILINE)
    programs = [file for file in files if file.name == "splitbar" or file.suffix == ".so"]
    assert len(programs) == 2
    for file in programs:
        needed = re.findall(rb"GLIBC_2\.(\d+)", file.locate().read_bytes())
        assert needed and all(int(minor) <= int(tag) for minor in needed for tag in tags)


class Kernel:
    """A kernel with the forms that Triton's `CompiledKernel` has."""

    def __init__(self, **asm):
        self.asm = asm


def test_kernels_of_triton_are_modules(kernel):
    module = kernel("opencl_exchange")
    given = Kernel(ttir="module {}", llir="define", spv=module)
    assert splitbar.check(given) == splitbar.check(module)
    assert splitbar.pairs(given) == splitbar.pairs(module) != ()
    expected = splitbar.compile(module, target="gfx1201").asm
    assert splitbar.compile(given, target="gfx1201").asm == expected
    (made,) = splitbar.compile_many([splitbar.Job(given, "gfx1201")])
    assert made.asm == expected
    with pytest.raises(TypeError, match="only cubin, ptx: Triton's Intel backend"):
        splitbar.check(Kernel(ptx=".version 8.6", cubin=b""))
    with pytest.raises(TypeError, match="not int"):
        splitbar.check(3)


def test_paths_are_modules(kernel, tmp_path):
    module = kernel("reduction")
    file = tmp_path / "kernel.spv"
    file.write_bytes(module)
    expected = splitbar.compile(module, target="gfx1201").asm
    for given in (file, str(file), bytearray(module), memoryview(module)):
        assert splitbar.compile(given, target="gfx1201").asm == expected
        assert splitbar.check(given) == splitbar.check(module) == ()
        assert splitbar.pairs(given) == splitbar.pairs(module)
        assert splitbar.run_passes(given) == module
    (made,) = splitbar.compile_many([splitbar.Job(file, "gfx1201")])
    assert made.asm == expected
    source = np.arange(128, dtype=np.uint32)
    buffers = {(0, 0): source, (0, 1): np.zeros(1, np.uint32), (0, 2): np.zeros(128, np.uint32)}
    left = splitbar.sim(file, target="gfx1201", groups=(1, 1, 1), buffers=buffers, schedules=1)
    assert left.buffers[0, 1][0] == source.sum()
    assert left._repr_html_() == "<p>no findings in 1 schedules</p>"
    with pytest.raises(FileNotFoundError):
        splitbar.compile(tmp_path / "missing.spv", target="gfx1201")


def test_findings_are_a_table(kernel):
    finding = {"kind": "race<", "message": "a & b"}
    table = splitbar.Simulated({}, [{}], [finding])._repr_html_()
    assert "<td>race&lt;</td><td>a &amp; b</td>" in table


def test_reports_are_pages(kernel):
    made = splitbar.report(kernel("reduction"), targets=["gfx1201"])
    command = [splitbar.program(), "report", "-", "--targets", "gfx1201", "--format", "html"]
    alone = subprocess.run(command, input=kernel("reduction"), capture_output=True, check=True)
    assert made.html.startswith("<!DOCTYPE html>") and made.html.encode() == alone.stdout
    assert made.data["results"] and "gfx1201" in made.text
    shown = splitbar.compile(kernel("reduction"), target="gfx1201")._repr_html_()
    assert shown == made._repr_html_() and shown.startswith("<iframe srcdoc=") and "<script" not in shown
    with pytest.raises(splitbar.CompileError) as caught:
        splitbar.report(b"no module", targets="gfx1201").html
    assert caught.value.exit_code == 1 and caught.value.diagnostics[0].code == "SB0001"
    with pytest.raises(ValueError):
        splitbar.report(kernel("reduction"), targets="gfx9999").html


def test_command(kernel):
    command = [sys.executable, "-m", "splitbar", "lower", "-", "--target"]
    run = lambda target: subprocess.run([*command, target], input=kernel("reduction"), capture_output=True)
    assert run("gfx1201").stdout == lower(kernel("reduction"), "gfx1201")
    assert run("gfx9999").returncode == 2


def test_other_releases_are_refused(kernel, tmp_path, monkeypatch):
    program = tmp_path / "splitbar"
    program.write_text("#!/bin/sh\necho splitbar worker 0.0.1\ncat > /dev/null\n")
    program.chmod(0o755)
    monkeypatch.setenv("SPLITBAR_PROGRAM", str(program))

    def refused():
        with pytest.raises(splitbar.CompileError, match="is of splitbar 0.0.1"):
            splitbar.compile(kernel("reduction"), target="gfx1201")

    # A thread of its own has a worker of its own.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(refused).result()


def test_specialization(kernel):
    compiled = splitbar.compile(kernel("spec_size"), target="sm_80", emit=(), spec={0: 96})
    assert compiled.reflection[0]["workgroup_size"] == [96, 1, 1]


def test_errors_carry_diagnostics(kernel):
    with pytest.raises(splitbar.CompileError) as caught:
        splitbar.compile(b"no module", target="gfx1201")
    assert caught.value.exit_code == 1
    found = caught.value.diagnostics[0]
    assert found.severity == "error" and found.code.startswith("SB") and found.code in str(found)
    module = kernel("reduction")
    for wrong in ({"strategy": "none"}, {"poem": 1}, {"emit": ["poem"]}, {"target": "gfx9999"}):
        with pytest.raises(ValueError):
            splitbar.compile(module, **{"target": "gfx1201", **wrong})
    with pytest.raises(splitbar.CompileError, match="did not end within"):
        splitbar.compile(module, target="gfx1201", time_limit=1e-6)


def test_check_pairs_and_passes(kernel):
    module = kernel("dangling_arrive")
    codes = [found.code for found in splitbar.check(module, target="gfx1201")]
    assert "SB2010" in codes
    assert splitbar.check(kernel("reduction")) == ()
    assert splitbar.check(b"x")[0].severity == "error"
    (pair,) = splitbar.pairs(kernel("reduction"))
    assert pair.scope == "workgroup" and pair.entry == "main" and pair.operations > 0
    fused = splitbar.run_passes(kernel("reduction"), "fuse-split-barriers=wait")
    assert splitbar.pairs(fused) == ()
    assert "fuse-split-barriers" in {one.name for one in splitbar.passes()}
    with pytest.raises(ValueError):
        splitbar.run_passes(module, "poem")
    products = {target.name: target.products for target in splitbar.targets()}
    assert "H100" in products["sm_90"] and "gfx1201" in products


def test_simulation(kernel):
    source = np.arange(256, dtype=np.uint32)
    left = splitbar.sim(
        kernel("reduction"),
        target="gfx1201",
        groups=(2, 1, 1),
        buffers={(0, 0): source, (0, 1): np.zeros(2, np.uint32), (0, 2): np.zeros(256, np.uint32)},
        schedules=4,
        profile=True,
    )
    assert left.findings == [] and len(left.runs) == 4
    assert list(left.buffers[0, 1]) == [source[:128].sum(), source[128:].sum()]
    assert (left.buffers[0, 0] == source).all()
    assert {wait.workgroup for wait in left.waits} == {(0, 0, 0), (1, 0, 0)}
    assert all(wait.arrived <= wait.waited <= wait.passed for wait in left.waits)
    with pytest.raises(ValueError, match="0:1"):
        splitbar.sim(
            kernel("reduction"), target="gfx1201", groups=(1, 1, 1), buffers={(0, 0): source}
        )


def test_other_threads_go_on(kernel):
    """The interpreter lock is free while a worker compiles."""
    module, ticks, done = kernel("cooperative_matmul"), [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    splitbar.compile(module, target="gfx1201")
    end = time.perf_counter()
    done.set()
    thread.join()
    inside = [at for at in ticks if begin <= at <= end]
    assert len(inside) > 20 * (end - begin), f"{len(inside)} ticks in {end - begin} s"


def test_killed_workers_and_forks(kernel):
    module = kernel("reduction")
    expected = splitbar.compile(module, target="gfx1201").asm
    for children in Path("/proc/self/task").glob("*/children"):
        for child in children.read_text().split():
            os.kill(int(child), signal.SIGKILL)
    with pytest.raises(splitbar.CompileError):
        splitbar.compile(module, target="gfx1201")
    assert splitbar.compile(module, target="gfx1201").asm == expected
    # A child that was forked off has a worker of its own.
    child = os.fork()
    if child == 0:
        same = splitbar.compile(module, target="gfx1201").asm == expected
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert splitbar.compile(module, target="gfx1201").asm == expected


def test_plots(kernel, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    from splitbar import plot

    module = kernel("tiled_matmul")
    axes = plot.windows({name: splitbar.compile(module, target=name) for name in ("gfx1201", "sm_90")})
    heights = [bar.get_height() for bar in axes.patches]
    assert len(heights) == 4 and max(heights) > 0
    axes.figure.savefig(tmp_path / "windows.png")
    axes = plot.occupancy(kernel("reduction"), target="gfx1201")
    assert max(bar.get_height() for bar in axes.patches) > 0
    source = np.arange(256, dtype=np.uint32)
    left = splitbar.sim(
        kernel("reduction"),
        target="gfx1201",
        groups=(2, 1, 1),
        buffers={(0, 0): source, (0, 1): np.zeros(2, np.uint32), (0, 2): np.zeros(256, np.uint32)},
        schedules=1,
        profile=True,
    )
    axes = plot.timeline(left)
    assert len(axes.get_yticks()) == 4, "four waves of 32"
    axes.figure.savefig(tmp_path / "timeline.png")
    assert (tmp_path / "timeline.png").stat().st_size > 1000
