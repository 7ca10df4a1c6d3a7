"""Many compilations: a thread pool, a process pool, and a real cluster that loses a worker."""

import concurrent.futures
import json
import os
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import distributed
import pytest
import splitbar

TARGETS = ("gfx1201", "sm_90")


@pytest.fixture(scope="module")
def modules():
    """Modules of the corpus, which the test of the repository has unpacked, by name."""
    folder = Path(os.environ["SPLITBAR_MODULES"])
    found = sorted(folder.glob("*.spv"))
    assert len(found) > 10
    return {file.stem: file.read_bytes() for file in found}


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """The summary and outputs of `splitbar batch` over the same modules."""
    out = tmp_path_factory.mktemp("batch")
    command = [splitbar.program(), "batch", os.environ["SPLITBAR_MODULES"], "--keep-going"]
    command += ["--targets", ",".join(TARGETS), "-o", str(out)]
    subprocess.run(command, capture_output=True, check=False)
    jobs = json.loads((out / "summary.json").read_text())["jobs"]
    outputs = {
        (job["name"], job["target"]): (out / job["outputs"][0]).read_text() if job["outputs"] else None
        for job in jobs
    }
    assert any(outputs.values())
    return outputs


def keys(modules):
    return [(name, target) for name in modules for target in TARGETS]


def jobs_of(modules):
    return [splitbar.Job(modules[name], target) for name, target in keys(modules)]


def assert_same(modules, outcomes, batch):
    assert len(outcomes) == len(batch)
    for key, outcome in zip(keys(modules), outcomes):
        made = outcome.asm if isinstance(outcome, splitbar.Compiled) else None
        assert made == batch[key], key


def test_threads(modules, batch):
    assert_same(modules, splitbar.compile_many(jobs_of(modules)), batch)


def test_processes(modules, batch):
    some = dict(list(modules.items())[:4])
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        outcomes = splitbar.compile_many(jobs_of(some), executor=pool)
    assert_same(some, outcomes, {key: batch[key] for key in keys(some)})


def test_lost_jobs_are_submitted_again(modules):
    name, module = next(iter(modules.items()))

    class Loses(concurrent.futures.ThreadPoolExecutor):
        lost = 0

        def submit(self, *arguments):
            if self.lost == 0:
                self.lost += 1
                return super().submit(lambda: 1 / 0)
            return super().submit(*arguments)

    job = splitbar.Job(module, "gfx1201")
    with Loses(1) as pool:
        (outcome,) = splitbar.compile_many([job], executor=pool)
    assert isinstance(outcome, (splitbar.Compiled, splitbar.CompileError)), name
    with Loses(1) as pool, pytest.raises(ZeroDivisionError):
        splitbar.compile_many([job], executor=pool, retries=0)


def test_cluster_of_three(modules, batch):
    """Dask with three worker processes: the same bytes; one that is killed loses nothing."""
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        begin = time.perf_counter()
        outcomes = splitbar.compile_many(jobs_of(modules), executor=client.get_executor(pure=False))
        three = time.perf_counter() - begin
        assert_same(modules, outcomes, batch)

        before = set(client.run(os.getpid).values())
        killer = threading.Timer(three / 4, lambda: os.kill(min(before), 9))
        killer.start()
        outcomes = splitbar.compile_many(jobs_of(modules), executor=client.get_executor(pure=False))
        assert not killer.is_alive(), "the jobs ended before the worker was killed"
        assert_same(modules, outcomes, batch)
        client.wait_for_workers(3, timeout=180)
        assert min(before) not in set(client.run(os.getpid).values())

    if "SPLITBAR_SAMPLE" in os.environ:
        return  # what follows is a figure, not a test
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        begin = time.perf_counter()
        splitbar.compile_many(jobs_of(modules), executor=pool)
        one = time.perf_counter() - begin
    print(
        f"{len(batch)} jobs, three workers: {three:.1f} s, {one / three:.2f} times the throughput of one, "
        f"on {os.cpu_count()} processors"
    )


class OtherRay:
    """The calls of Ray that the page makes, on a pool of threads."""

    def __init__(self):
        self.pool = concurrent.futures.ThreadPoolExecutor(2)

    def init(self, **_):
        pass

    def shutdown(self):
        self.pool.shutdown()

    def remote(self, function):
        def submit(*arguments, **named):
            future = self.pool.submit(function, *arguments, **named)
            return types.SimpleNamespace(future=lambda: future)

        return types.SimpleNamespace(remote=submit)


def test_ray(modules, batch, monkeypatch):
    """The executor of docs/python.md, on a pool of Ray with two processes; where Ray is not
    installed, on threads."""
    try:
        import ray
    except ModuleNotFoundError:
        ray = OtherRay()
        monkeypatch.setitem(sys.modules, "ray", ray)
    page = (Path(os.environ["SPLITBAR_FIXTURES"]).parent / "docs/python.md").read_text()
    names = {}
    exec(page.split("```python ray\n")[1].split("```")[0], names)
    some = dict(list(modules.items())[:4])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with names["RayExecutor"]() as executor:
            outcomes = splitbar.compile_many(jobs_of(some), executor=executor)
    finally:
        ray.shutdown()
    assert_same(some, outcomes, {key: batch[key] for key in keys(some)})
