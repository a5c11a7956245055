"""What is computed beside a run in seconds: its bound, kept for whoever asks next, and policies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

from instances import Instance
from kvopt.methods.fingerprint import fingerprint, versions
from kvopt.methods.grammar import OF_ANSWER, read_method, read_methods
from kvopt.methods.method import Method
from kvopt.places import DEFAULT_STORE
from kvopt.runs.execute import InterruptedRunError, execute
from kvopt.runs.series import Series
from kvopt.runs.state import RunState
from kvopt.runs.supervise import Listener, Snapshot
from kvopt.runs.task import Finished, Task
from serving.best_bound import KnownBound, best_bound, of_run
from serving.choice import rounds_only
from support.machine import MachineError

T = TypeVar("T")
_BOUND = "bound"
#: Share of the time from which on a kept run had as long.
_AS_LONG = 0.9


@dataclass(frozen=True)
class Limits:
    """What the policies may take: seconds (``time.monotonic``), gigabytes each, processes.

    From two processes on the bound in seconds is computed beside the policies.
    """

    deadline: float
    memory_limit: float | None
    jobs: int

    def task(self, instance: Instance, method: Method, batch_time: str, seed: int) -> Task:
        """Return a run of a method, which may take as much memory."""
        return Task(
            instance=instance,
            name=instance.name,
            method=method,
            seed=seed,
            memory_limit=self.memory_limit,
            batch_time=batch_time,
        )


class _Beside(Generic[T]):
    """A thread for what is done beside a run, and is to stop when that has ended."""

    #: Of the time, where it does not go side by side.
    share = 0.25

    def __init__(self, work: Callable[[], T]) -> None:
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self._work = work
        self._future: Future[T] | None = None

    def begin(self) -> Future[T]:
        """Begin, unless that has been done; return what ends with it."""
        if self._future is None:
            self._future = self._pool.submit(self._work)
        return self._future

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._pool.shutdown()


class BoundBeside(_Beside[Finished | None]):
    """The bound in seconds, computed beside what happens meanwhile; of rounds there is none.

    It is kept in the default store, and one that is there, from a run that had as long, is not
    computed again.  ``tell`` is called with the seconds that it may take, if it is computed.
    """

    def __init__(
        self,
        instance: Instance,
        batch_time: str,
        seed: int,
        limits: Limits,
        tell: Callable[[float], object] = lambda _: None,
    ) -> None:
        super().__init__(self._computed)
        seconds = round(max(self.share * (limits.deadline - time.monotonic()), 0.1), 1)
        task = limits.task(instance, read_method(_BOUND), batch_time, seed)
        self._task = replace(task, time_limit=seconds, deadline=limits.deadline)
        self._instance, self._tell = instance, tell
        self._state: RunState | None = None

    def found(self, *, at_once: bool) -> Iterator[KnownBound]:
        """Yield the bound, if there is one: when it is finished, or what there is of it so far."""
        if at_once:
            self._stop.set()
        try:
            finished = self.begin().result()
            if finished is not None and finished.record.lower_bound is not None:
                yield from of_run(self._instance, finished.record)
                _keep(finished, self._instance)
        except (InterruptedRunError, KeyboardInterrupt, MachineError):
            state = self._state
            if state is not None and state.lower_bound is not None:
                yield KnownBound(state.lower_bound, state.bound_source, "computed here")

    def _computed(self) -> Finished | None:
        task = self._task
        if not task.batch_time or self._stop.is_set():
            return None
        if _is_kept(self._instance, task.batch_time, task.time_limit):
            return None
        self._tell(task.time_limit)
        return execute(_stamped(task), self._stop, self._take)

    def _take(self, snapshot: Snapshot) -> None:
        self._state = snapshot.state


class KeptBound(_Beside[Task]):
    """The bound of an engine in seconds, kept for whoever asks next as that of ``bound`` alone.

    An engine computes it as ``bound`` does, in the same seconds.  Beside it the sources are looked
    at that the row is to name, a second's work.
    """

    def __init__(self, task: Task) -> None:
        bound = replace(task, method=read_method(_BOUND))
        super().__init__(lambda: _stamped(bound))

    def keep(self, finished: Finished) -> None:
        """Put the bound into the default store, unless the run was cut short or proves nothing."""
        if finished.certificate is None or finished.record.ending == "interrupted":
            return
        task = self.begin().result()
        named = {name: getattr(task, name) for name in ("key", "code", "versions")}
        record = replace(finished.record, method=task.method.text, **named)
        assert task.instance is not None
        _keep(replace(finished, record=record), task.instance)


class AnswerBeside(_Beside[None]):
    """Policies one after the other in one process, which is killed when the method has been.

    They are begun when the method has a schedule, so that its first answer waits for nothing; where
    ``limits.jobs`` is 1 before it, for a share of the time.
    """

    def __init__(self, instance: Instance, batch_time: str, seed: int, limits: Limits) -> None:
        super().__init__(self._run)
        alone = limits.jobs == 1
        left = limits.deadline - time.monotonic()
        self._finished: list[Finished] = []
        methods = (each for each in read_methods((OF_ANSWER,)) if each.kind == "policy")
        self._series = Series(
            [
                limits.task(instance, method, batch_time, seed)
                for method in methods
                if not rounds_only(instance, method)
            ],
            limits.deadline - (1 - self.share) * left if alone else limits.deadline,
            self._listen,
            first_whole=True,
        )
        if alone:
            self.begin().result()

    def found(self, *, at_once: bool) -> tuple[Finished, ...]:
        """Return what has become of the policies when all have ended, or so far."""
        if at_once:
            self._stop.set()
        self.begin().result()
        return tuple(self._finished)

    @property
    def unrun(self) -> tuple[str, ...]:
        """The policies that have not been run to their end."""
        cut = [each.record.method for each in self._finished if each.record.tel is None]
        return (*cut, *(task.method.text for task in self._series.waiting))

    def _run(self) -> None:
        try:
            for finished in self._series.run():
                self._finished.append(finished)
        except InterruptedRunError:
            pass

    def _listen(self, task: Task, snapshot: Snapshot) -> None:
        del task, snapshot
        if self._stop.is_set():
            raise InterruptedRunError


def run_with_bound(
    task: Task, listen: Listener, *, quiet: bool
) -> tuple[Finished, tuple[KnownBound, ...]]:
    """Run a policy in seconds, and then compute the bound, in as long as for a table at most."""
    instance, limits = _limits_of(task)

    def tell(seconds: float) -> None:
        if not quiet:
            print(f"computing the bound, {seconds:.1f} s at most", flush=True)

    with BoundBeside(instance, task.batch_time, task.seed, limits, tell) as bound:
        finished = execute(task, listen=listen)
        ended = finished.record.ending == "interrupted" or finished.schedule is None
        return finished, tuple(bound.found(at_once=ended))


def run_with_answer(
    task: Task, listen: Listener
) -> tuple[Finished, tuple[Finished, ...], tuple[str, ...]]:
    """Run an engine in seconds and keep its bound; ``auto`` beside what it is compared with.

    The last item names the policies for which the time was too short.
    """
    instance, limits = _limits_of(task)
    with ExitStack() as stack:
        kept = stack.enter_context(KeptBound(task))
        others = None
        if task.method.kind == "auto":
            beside = AnswerBeside(instance, task.batch_time, task.seed, limits)
            others = stack.enter_context(beside)

        def watch(snapshot: Snapshot) -> None:
            listen(snapshot)
            if snapshot.state.schedule is not None:
                kept.begin()
                if others is not None:
                    others.begin()

        finished = execute(task, listen=watch)
        kept.keep(finished)
        if others is None:
            return finished, (), ()
        interrupted = finished.record.ending == "interrupted"
        found = others.found(at_once=interrupted)
        return finished, found, () if interrupted else others.unrun


def _limits_of(task: Task) -> tuple[Instance, Limits]:
    assert task.instance is not None
    assert task.deadline is not None
    return task.instance, Limits(task.deadline, task.memory_limit, task.threads)


def _stamped(task: Task) -> Task:
    """Return a task whose row is one like all others."""
    return replace(task, code=fingerprint(task.method), versions=versions(task.method))


def _is_kept(instance: Instance, batch_time: str, seconds: float) -> bool:
    """Tell whether the default store proves a bound that a run of as many seconds has found."""
    if not DEFAULT_STORE.is_file():
        return False
    from kvopt.store import Store  # a quarter of a second

    # Whatever is wrong with that file is no reason to withhold what was asked for.
    with suppress(Exception), closing(Store(DEFAULT_STORE, readonly=True)) as store:
        equal = {"instance_sha256": instance.sha256, "batch_time": batch_time, "method": _BOUND}
        rows = store.select("time_limit", "lower_bound", **equal)
        # A busy command begins a little later.
        long = [bound for limit, bound in rows if bound and limit >= _AS_LONG * seconds]
        known = best_bound(instance, batch_time, stores=(store,)) if long else None
        return known is not None and known.value >= max(long)
    return False


def _keep(finished: Finished, instance: Instance) -> None:
    """Put a run into the default store, where that can be written to and proves no more already."""
    from kvopt.store import Store  # a quarter of a second

    with suppress(Exception):
        DEFAULT_STORE.parent.mkdir(exist_ok=True)
        with closing(Store(DEFAULT_STORE)) as store:
            record = finished.record
            known = None
            if store.select("key", key=record.key):
                known = best_bound(instance, record.batch_time, stores=(store,))
            if known is None or known.value < (record.lower_bound or 0):
                store.put(finished)
