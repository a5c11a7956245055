"""Runs next to a run in seconds: the bound, and the policies of the answer."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from instances import Instance
from kvopt.methods.grammar import OF_ANSWER, read_method, read_methods
from kvopt.methods.method import Method
from kvopt.runs.execute import InterruptedRunError, execute
from kvopt.runs.methods_in_turn import MethodSeries
from kvopt.runs.state import RunState
from kvopt.runs.supervise import Listener, RunSnapshot
from kvopt.runs.task import FinishedRun, Task
from serving.batch_time_choice import rounds_only
from serving.best_bound import KnownBound, bound_of_run
from support.machine_errors import MachineError

#: Receives the state of a run.
Take = Callable[[Task, RunSnapshot], None]


@dataclass(frozen=True)
class PolicyLimits:
    """Limits of the policies: deadline (``time.monotonic``), gigabytes each, processes."""

    deadline: float
    memory_limit: float | None
    jobs: int

    def task(self, instance: Instance, method: Method, batch_time: str, seed: int) -> Task:
        """Return a run of a method, which may take as much memory."""
        task = Task(instance, instance.name, method, seed, memory_limit=self.memory_limit)
        return replace(task, batch_time=batch_time)


class CompanionRuns:
    """Runs in a thread next to another run; they are stopped when that has ended."""

    #: Share of the time, where they cannot go side by side.
    share = 0.25

    def __init__(self, runs: Callable[[Take], Iterator[FinishedRun]]) -> None:
        self._stop, self._pool = threading.Event(), ThreadPoolExecutor(1)
        self._runs = runs
        self._future: Future[None] | None = None
        self._ended: list[FinishedRun] = []
        self._state: RunState | None = None

    def start(self) -> Future[None]:
        """Start once; return the future of the last run."""
        if self._future is None:
            self._future = self._pool.submit(self._run)
        return self._future

    def finish(self, *, at_once: bool) -> tuple[FinishedRun, ...]:
        """Return the runs that have ended: all of them, or those so far ``at_once``."""
        if at_once:
            self._stop.set()
        self.start().result()
        return tuple(self._ended)

    def bounds(self, instance: Instance, *, at_once: bool) -> Iterator[KnownBound]:
        """Yield the bound: the finished one, or the best so far."""
        with suppress(KeyboardInterrupt, MachineError):
            self.finish(at_once=at_once)
        for finished in self._ended:
            yield from bound_of_run(instance, finished.record)
        state = self._state
        if not self._ended and state is not None and state.lower_bound is not None:
            yield KnownBound(state.lower_bound, state.bound_source, "computed here")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._pool.shutdown()

    def _run(self) -> None:
        with suppress(InterruptedRunError):
            for finished in () if self._stop.is_set() else self._runs(self._take):
                self._ended.append(finished)

    def _take(self, _: Task, snapshot: RunSnapshot) -> None:
        self._state = snapshot.state
        if self._stop.is_set():
            raise InterruptedRunError


def companion_bound(
    instance: Instance, batch_time: str, seed: int, limits: PolicyLimits, *, quiet: bool = True
) -> CompanionRuns:
    """Return the run of the bound in seconds, nothing in rounds; print its limit unless quiet."""
    seconds = round(max(CompanionRuns.share * (limits.deadline - time.monotonic()), 0.1), 1)
    task = limits.task(instance, read_method("bound"), batch_time, seed)
    task = replace(task, time_limit=seconds, deadline=limits.deadline)

    def runs(take: Take) -> Iterator[FinishedRun]:
        if batch_time:
            if not quiet:
                print(f"computing the bound, {seconds:.1f} s at most", flush=True)
            yield execute(task, listen=partial(take, task))

    return CompanionRuns(runs)


def run_with_bound(
    task: Task, listen: Listener, *, quiet: bool
) -> tuple[FinishedRun, tuple[KnownBound, ...]]:
    """Run a policy in seconds, and then compute the bound, in as long as for a table at most."""
    instance, limits = _limits_of(task)
    with companion_bound(instance, task.batch_time, task.seed, limits, quiet=quiet) as bound:
        finished = execute(task, listen=listen)
        ended = finished.record.ending == "interrupted" or finished.schedule is None
        return finished, tuple(bound.bounds(instance, at_once=ended))


def run_with_answer(
    task: Task, listen: Listener
) -> tuple[FinishedRun, tuple[FinishedRun, ...], tuple[str, ...]]:
    """Run ``auto`` in seconds with the policies that its answer compares.

    They start when it has a schedule, so that its first schedule waits for nothing; on one core
    before it, for a share of the time.  The last item names the policies that did not end, but for
    one that failed and one whose schedule is ``auto``'s.
    """
    instance, limits = _limits_of(task)
    alone = limits.jobs == 1
    left = limits.deadline - time.monotonic()
    deadline = limits.deadline - (1 - CompanionRuns.share) * left if alone else limits.deadline
    tasks = [
        limits.task(instance, method, task.batch_time, task.seed)
        for method in read_methods((OF_ANSWER,))
        if method.kind == "policy" and not rounds_only(instance, method)
    ]
    waiting: list[Task] = tasks

    def runs(take: Take) -> Iterator[FinishedRun]:
        nonlocal waiting
        series = MethodSeries(tasks, deadline, take, first_whole=True)
        try:
            yield from series.run()
        finally:
            waiting = series.waiting

    with CompanionRuns(runs) as others:
        if alone:
            others.start().result()

        def watch(snapshot: RunSnapshot) -> None:
            listen(snapshot)
            if snapshot.state.schedule is not None:
                others.start()

        finished = execute(task, listen=watch)
        interrupted = finished.record.ending == "interrupted"
        found = others.finish(at_once=interrupted)
    cut = [each.record.method for each in found if each.record.tel is None and not each.failure]
    waited = () if interrupted else (*cut, *(each.method.text for each in waiting))
    best = finished.record.found_by.removeprefix("policy ")
    return finished, found, tuple(each for each in waited if each != best)


def _limits_of(task: Task) -> tuple[Instance, PolicyLimits]:
    assert task.instance is not None
    assert task.deadline is not None
    return task.instance, PolicyLimits(task.deadline, task.memory_limit, task.threads)
