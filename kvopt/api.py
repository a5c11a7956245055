"""Functions of the library; each method runs in a separate process and is checked here."""

from __future__ import annotations

import operator
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from instances import Instance
from instances.instance_names import find_instance
from kvopt.checked_numbers import TIME_LIMIT, read_count, read_gigabytes, read_seconds, read_seed
from kvopt.methods.grammar import MethodError, read_method
from kvopt.methods.method import Kind, Method
from kvopt.registry_lookup import judge_by_registry
from kvopt.result import Result
from kvopt.run_progress import Progress, ProgressCalls, listener
from kvopt.runs.execute import InterruptedRunError, execute
from kvopt.runs.provenance import usable_cores
from kvopt.runs.task import Task
from schedules import Schedule, Verdict, check_schedule, make_schedule, read_schedule
from serving.batch_time_choice import batch_time_of, read_wish, refuse_rounds_only
from serving.traces import TraceOptions, TraceReport
from serving.traces.read_trace import read_input
from serving.traces.read_trace import read_trace as read_trace_file
from serving.traces.trace_options import TraceKeywords

if TYPE_CHECKING:
    import pandas as pd

#: An instance, or an argument of :func:`read`.
AnyInstance: TypeAlias = Instance | str | Path
#: Nothing, lines on standard output, or a function that is called at every improvement.
ProgressWish: TypeAlias = bool | Callable[[Progress], object]

#: Names of the kinds of methods in messages.
_KINDS: dict[Kind, str] = {
    "auto": "an engine that chooses others",
    "engine": "an engine",
    "policy": "a policy",
    "file": "a custom file",
}

#: Readers of the numbers; the command line has the same.
_READERS: dict[str, Callable[[str], float]] = {
    "time_limit": read_seconds,
    "memory_limit": read_gigabytes,
    "seed": read_seed,
    **dict.fromkeys(("threads", "seeds", "jobs"), read_count),
}


def read(name_or_path: str | Path, **options: Unpack[TraceKeywords]) -> Instance:
    """Read an instance of the library by its name, or an instance file or a trace by its path.

    A trace takes the options (:class:`serving.traces.TraceOptions`) and needs at least ``memory``
    (tokens).  Raises InstanceFileError if nothing has that name or the file is neither a valid
    ``kvopt.instance/1`` nor a trace; TraceOptionError if options are missing, out of range, or
    given with an instance; both are a ValueError whose message is one line.  Raises
    InfeasibleInstanceError if the prompt and output of a request exceed the memory.

    Examples
    --------
    >>> instance = kvopt.read("uniform_100")
    >>> len(instance), instance.memory
    (100, 100)
    """
    return read_input(find_instance(name_or_path), TraceOptions.of(options))[0]


def read_trace(path: str | Path, **options: Unpack[TraceKeywords]) -> tuple[Instance, TraceReport]:
    """Read a trace, of a format of ``kvopt convert --list``, and report the rows that were skipped.

    The report has ``rows``, ``kept``, ``skipped`` by reason with the first row, and ``notes`` on
    units; the commands print its ``lines``.  See :func:`read` for options and errors.
    """
    return read_trace_file(path, TraceOptions.of(options))


def solve(
    instance: AnyInstance,
    method: str = "auto",
    *,
    time_limit: float = TIME_LIMIT,
    memory_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    batch_time: str | None = None,
    progress: ProgressWish = False,
) -> Result:
    """Solve an instance by any method: a solver, a policy, or a custom file.

    Without a schedule the ``status`` of the result has the reason.  Ctrl-C, or the interruption of
    a notebook's cell, ends the method and returns its best schedule so far.  Raises the errors of
    :func:`read`; MethodError for an unknown method; ValueError if a number is out of range, or
    method, batch time and the unit of the arrivals do not go together: each one line.

    Parameters
    ----------
    instance
        An instance, or an argument of :func:`read`.
    method
        ``NAME[:FORMULATION][(option=value, ...)][ with PREDICTION(...)]``, where NAME may be
        ``file:PATH``; ``python solve.py --list`` has the names.  ``highs`` runs with the methods of
        ``auto``; ``highs:ilp`` is HiGHS alone on that model.
    time_limit
        Seconds of wall clock for the method, from the end of its imports.  A run ends at most 10 %
        plus two seconds late.
    memory_limit
        Gigabytes of resident memory of the method's processes together; None for no limit.
    threads
        Threads of the method; by default all cores that this process may use.
    seed
        Seed of the method and the prediction, 0 to 2³¹ − 1.
    batch_time
        Duration of a round, for an instance with arrivals in seconds alone: a batch time of
        ``python solve.py --list``, by default ``llama2-70b-2xa100``.
    progress
        True prints improvements, in a pipe once a second at most, and every five seconds; a
        function is called with a :class:`kvopt.run_progress.Progress` at every improvement.

    Examples
    --------
    >>> result = kvopt.solve("tiny_handover", "cpsat", time_limit=20)
    >>> result.status, result.tel
    ('optimal', 9)
    """
    limits = (seed, time_limit, memory_limit, threads, batch_time)
    return _solve(instance, read_method(method), *limits, progress=progress)


def run(
    instance: AnyInstance,
    policy: str,
    *,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
    memory_limit: float | None = None,
    batch_time: str | None = None,
) -> Result:
    """Run a policy, as in ``mc-sf`` or ``a-min with interval(1,1000)``.

    ``with`` names the predictions of a policy that is not clairvoyant, by default the instance's
    intervals.  See :func:`solve` for limits and errors.

    Examples
    --------
    >>> kvopt.run("uniform_100", "mc-sf").tel
    60695
    """
    wanted = _of_kind(policy, "policy", "file")
    return _solve(instance, wanted, seed, time_limit, memory_limit, None, batch_time)


def bound(
    instance: AnyInstance,
    method: str = "bound",
    *,
    time_limit: float = TIME_LIMIT,
    memory_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    batch_time: str | None = None,
) -> Result:
    """Compute a lower bound, at any size; the result has ``bound`` and ``certificate``.

    The method is ``bound``, or one of its formulations, as in ``bound:bound-dual``; or another
    engine's relaxation, as in ``highs:ilp-sparse(groups=yes,relaxed=yes)``.  See :func:`solve` for
    limits and errors.

    Examples
    --------
    >>> kvopt.bound("tiny_handover", time_limit=10).bound
    9
    """
    wanted = _of_kind(method, "engine")
    return _solve(instance, wanted, seed, time_limit, memory_limit, threads, batch_time)


def check(
    instance: AnyInstance, schedule: Schedule | Result | Sequence[int] | str | Path
) -> Verdict:
    """Check a schedule in integer arithmetic, by code that shares nothing with its makers.

    The schedule is one, a result that has one, the path of a schedule file, or a start round for
    each request in the instance's order.  ``kind`` and ``reason`` of the verdict name the fault.
    Raises ScheduleFileError if the file cannot be read, ValueError if the result has no schedule,
    and the errors of :func:`read`.

    Examples
    --------
    >>> print(kvopt.check("tiny_handover", [0, 0]))
    infeasible: request id 1 starts at round 0, before its arrival at round 6
    """
    found = _instance(instance)
    if isinstance(schedule, Result):
        if schedule.schedule is None:
            raise ValueError(f"{schedule!r}: expected a schedule, found none")
        schedule = schedule.schedule
    elif isinstance(schedule, str | Path):
        schedule = read_schedule(schedule)
    elif not isinstance(schedule, Schedule):
        try:
            starts = [operator.index(start) for start in schedule]
            schedule = make_schedule(found, starts, "check")
        except (TypeError, ValueError) as error:
            return Verdict("malformed", str(error))
    return check_schedule(found, schedule)


def compare(
    instances: AnyInstance | Iterable[AnyInstance],
    methods: str | Iterable[str],
    *,
    time_limit: float = TIME_LIMIT,
    memory_limit: float | None = None,
    threads: int = 1,
    seeds: int = 1,
    jobs: int = 1,
    batch_time: str | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Run every method on every instance and return a table, as ``evaluate.py`` does.

    Each run has a row (:func:`kvopt.sweeps.comparison.comparison` has the columns); Ctrl-C leaves
    the runs that had finished.  Raises InputError, MethodError, StoreError, ValueError with one
    line; warns of a run that proves its method wrong, of a bound above the TEL of another run, and
    of Ctrl-C.

    Parameters
    ----------
    instances, methods
        Arguments of ``evaluate.py`` (``policies``, too); a suite gives its instances.
    time_limit, memory_limit, threads, batch_time
        Limits and batch time of each run, as in :func:`solve`.
    seeds
        Seeds 0 to ``seeds`` − 1, for methods that draw.
    jobs
        Runs side by side; more of them share cores, so times get longer.
    store
        The file of a store that keeps the runs: stored ones do not run again.
    progress
        Show how many runs are done.

    Examples
    --------
    >>> kvopt.compare("tiny_two_bursts", ["svf", "highs"])["bound"].tolist()
    [15, 22]
    """
    from kvopt.sweeps.comparison import comparison  # loads pandas: a second

    given = {"memory_limit": memory_limit, "threads": threads, "seeds": seeds}
    limits = _numbers(time_limit=time_limit, **given)
    wanted = [instances] if isinstance(instances, Instance | str | Path) else list(instances)
    texts = [methods] if isinstance(methods, str) else list(methods)
    more: dict[str, Any] = {"batch_time": read_wish(batch_time), "store": store}
    more |= {"progress": progress} | _numbers(jobs=jobs)
    return comparison(wanted, texts, limits=limits, **more)


def _solve(
    instance: AnyInstance,
    method: Method,
    seed: int,
    time_limit: float,
    memory_limit: float | None,
    threads: int | None,
    batch_time: str | None,
    *,
    progress: ProgressWish = False,
) -> Result:
    found = _instance(instance)
    numbers = _numbers(seed=seed, time_limit=time_limit, memory_limit=memory_limit)
    task = Task(
        instance=found,
        name=found.name,
        method=method,
        **numbers,
        threads=usable_cores() if threads is None else _numbers(threads=threads)["threads"],
        batch_time=batch_time_of(found, read_wish(batch_time)),
    )
    refuse_rounds_only(found, method)
    started = time.monotonic()
    stop = threading.Event()
    listen = listener(progress, stop)
    try:
        finished = execute(task, stop, listen)
    except InterruptedRunError:
        assert isinstance(listen, ProgressCalls)
        assert listen.error is not None
        raise listen.error from None
    judged = judge_by_registry(finished)
    for line in judged.contradictions:
        warnings.warn(f"A BOUND IS WRONG: {line}", stacklevel=4)
    return Result(**vars(judged), elapsed=time.monotonic() - started)


def _instance(instance: AnyInstance) -> Instance:
    return instance if isinstance(instance, Instance) else read(instance)


def _of_kind(text: str, *kinds: Kind) -> Method:
    method = read_method(text)
    if method.kind not in kinds:
        expected = " or ".join(_KINDS[kind] for kind in kinds)
        raise MethodError(f"{text}: expected {expected}, found {_KINDS[method.kind]}")
    return method


def _numbers(**given: float | None) -> dict[str, Any]:
    """Return numbers as the command line reads them; a ``memory_limit`` of None stays."""
    numbers: dict[str, Any] = {}
    for name, value in given.items():
        try:
            no_limit = (name, value) == ("memory_limit", None)
            numbers[name] = None if no_limit else _READERS[name](str(value))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return numbers
