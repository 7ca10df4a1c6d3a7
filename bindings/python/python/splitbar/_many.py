"""Many compilations, on any executor."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Union

from ._compile import CompileError, Compiled, compile
from ._module import Module


@dataclass(frozen=True)
class Job:
    """One module for one target; `arguments` are those of `compile`."""

    module: Module
    target: str
    arguments: dict[str, Any] = field(default_factory=dict)


Outcome = Union[Compiled, CompileError]


def run(job: Job) -> Outcome:
    """Compiles a job on the executor: in another thread, process or machine."""
    try:
        return compile(job.module, target=job.target, **job.arguments)
    except CompileError as error:
        return error


def compile_many(
    jobs: Iterable[Job], *, executor: Executor | None = None, retries: int = 1
) -> list[Outcome]:
    """Compiles `jobs` on `executor`, by default a pool with a thread for each processor.

    The result has one item for each job, in order: a `Compiled`, or the `CompileError` of a
    module that cannot be compiled. A job that an executor loses (it raises anything else) is
    submitted again, `retries` times.
    """
    jobs = list(jobs)
    if executor is None:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return compile_many(jobs, executor=pool, retries=retries)
    futures: list[Future[Outcome]] = [executor.submit(run, job) for job in jobs]
    outcomes: list[Outcome] = []
    for job, future in zip(jobs, futures):
        for left in reversed(range(retries + 1)):
            try:
                outcomes.append(future.result())
                break
            except Exception:
                if left == 0:
                    raise
                future = executor.submit(run, job)
    return outcomes
