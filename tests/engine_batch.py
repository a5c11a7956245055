"""Runs many jobs of one engine in one process, so that a test does not pay an import per job."""

from __future__ import annotations

import importlib
import io
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heuristics.simulator import run_policy
from instances import Instance
from kvopt.engines.exact import warm_start_policies
from kvopt.methods.engines import engines
from kvopt.methods.grammar import read_formulation
from kvopt.running.job import Job, Report
from schedules import Schedule, check_schedule, make_schedule

_SOLVERS = {each.solves: name for name, each in engines().items() if each.default}
_ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Answer:
    """What one formulation says of one instance: best TEL, integer bound, LP objective."""

    tel: int
    bound: int
    relaxation: float | None


def solve_batch(
    pairs: list[tuple[Instance, str]],
    seconds: float = 60.0,
    threads: int = 1,
    seed: int = 0,
    poor_start: bool = False,
) -> list[Answer]:
    """Solve (instance, formulation) pairs in one process per engine, in the pairs' order.

    A formulation may have options, as in ``cpsat-strong(groups=no)``.  The warm start is the best
    policy's schedule, which is often an optimum, or with ``poor_start`` one request at a time.
    """
    answers: dict[int, Answer] = {}
    for solver in _SOLVERS.values():
        chosen = [
            (position, instance, name)
            for position, (instance, name) in enumerate(pairs)
            if _SOLVERS[read_formulation(name)[0].kind] == solver
        ]
        jobs = [
            _job(instance, name, solver, seconds, threads, seed, poor_start)
            for _, instance, name in chosen
        ]
        for (position, instance, _), job, events in zip(chosen, jobs, _run(jobs), strict=True):
            answers[position] = _answer(instance, job, events)
    return [answers[position] for position in range(len(pairs))]


def _job(
    instance: Instance,
    name: str,
    solver: str,
    seconds: float,
    threads: int,
    seed: int,
    poor_start: bool,
) -> Job:
    if poor_start:
        known = one_at_a_time(instance)
    else:
        found = (run_policy(policy, instance) for policy in warm_start_policies())
        known = min(found, key=lambda schedule: schedule.tel)
    formulation, options = read_formulation(name)
    return Job(
        instance=instance,
        solver=solver,
        module=formulation.module,
        relaxation=formulation.relaxation,
        seconds=seconds,
        threads=threads,
        seed=seed,
        warm_start=list(known.starts),
        upper_bound=known.tel,
        options=options,
    )


def one_at_a_time(instance: Instance) -> Schedule:
    """Return the schedule in which the requests run alone, in the order of their arrivals."""
    starts = [0] * len(instance)
    free_from = 0
    for i in np.argsort(instance.arrivals, kind="stable").tolist():
        starts[i] = max(free_from, int(instance.requests[i].arrival))
        free_from = starts[i] + instance.requests[i].output
    return make_schedule(instance, starts, "one at a time")


def _answer(instance: Instance, job: Job, events: list[dict]) -> Answer:  # type: ignore[type-arg]
    tel, bound, relaxation = job.upper_bound, 0, None
    for event in events:
        data = event["data"]
        assert event["kind"] != "error", (job.module, instance, data)
        if event["kind"] == "schedule":
            schedule = make_schedule(instance, data["starts"], job.module)
            verdict = check_schedule(instance, schedule)
            assert verdict.valid, (job.module, verdict.reason)
            tel = min(tel, schedule.tel)
        elif event["kind"] == "bound":
            bound = max(bound, data["value"])
        elif event["kind"] == "relaxation":
            relaxation = data["value"]
    return Answer(tel, bound, relaxation)


def _run(jobs: list[Job]) -> list[list[dict]]:  # type: ignore[type-arg]
    if not jobs:
        return []
    result = subprocess.run(
        [sys.executable, "-m", "tests.engine_batch"],
        input="".join(job.to_line() for job in jobs),
        capture_output=True,
        text=True,
        cwd=_ROOT,
        check=True,
    )
    return [json.loads(line) for line in result.stdout.splitlines()]


def main() -> None:
    """Read jobs from standard input, one a line; write the events of each as one line."""
    for line in sys.stdin:
        job = Job.from_line(line)
        module = importlib.import_module(f"kvopt.engines.{job.solver}")
        stream = io.StringIO()
        module.solve(job, Report(stream, time.monotonic()))
        print(json.dumps([json.loads(each) for each in stream.getvalue().splitlines()]), flush=True)


if __name__ == "__main__":
    main()
