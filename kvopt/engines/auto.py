"""Bound, local search and exact engine side by side, chosen by size (the default)."""

from __future__ import annotations

import contextlib
import importlib
import time
from dataclasses import replace

from formulations.bounds.fluid import likely_horizon
from formulations.dp import backward, forward
from formulations.dp.network import too_many_patterns
from formulations.valid.parts import parts_of
from formulations.valid.states import States, searchable_states
from formulations.valid.volumes import volume_bound
from formulations.valid.windows import Windows, start_windows
from instances import Instance
from kvopt.engines.job import Job, tel_of
from kvopt.engines.parts import counting
from kvopt.engines.parts.size import too_large
from kvopt.engines.start import RELAXATION_ORDER, run_engine
from kvopt.methods.engines import engine_of
from kvopt.methods.grammar import read_method
from kvopt.methods.method import Method
from kvopt.runs.events import (
    BoundProved,
    Done,
    Ending,
    Event,
    Failure,
    Itself,
    ModelBuilt,
    Note,
    Relaxation,
    Report,
    ScheduleFound,
    ending_note,
)
from kvopt.runs.task import Task
from kvopt.runs.team import Order, Stop, Tell, run_team

#: Read by ``kvopt.methods.engines``.
ENGINE = {"solves": None, "named": True}
#: Requests up to which the bidirectional search works alone, since it often ends before other
#: processes would be of use; and up to which it does where patterns are many, for so many seconds.
BIDIRECTIONAL_UP_TO = 24
ALONE_UP_TO, ALONE_SECONDS = 12, 20.0
#: Tokens of memory up to which sweeps go on with multipliers on requests: where bases are compared,
#: the tokens held at a time take 8 bits up to here, and 16 beyond.
MULTIPLIERS_UP_TO = 127
#: Start columns up to which a relaxation with one row a round is solved.
RELAXATION_UP_TO = 400_000
#: Steps of one search for the best pattern, and of pricing all starts once, up to which there are
#: prices of patterns.
PATTERN_WORK_UP_TO, START_WORK_UP_TO = 40_000_000, 250_000_000
#: Share of the time after which an engine that is asked for begins, from the best schedule so far.
ENGINE_FROM = 0.1
#: Share of the time after which a better order found by a relaxation no longer restarts the
#: local search.
RESTART_UNTIL = 0.6

#: Whether ``kvopt.engines.start`` splits what it gets at idle gaps.  The methods set to work here
#: do that themselves, each in one process; a team for every part would take seconds to start.
SPLIT = False
#: The search forwards in time.
_BIDIRECTIONAL, _FORWARD = "search:bidirectional", "search:layers"
_BY_STATES = "search:bidirectional(states=yes)"
_RELAXATION = "highs:ilp-sparse(groups=yes,relaxed=yes)"
_SWEEPS = ("search:sweep", "search:sweep(multipliers=yes)")


def solve(job: Job, report: Report) -> None:
    """Solve an instance with what suits its size until bound and schedule meet.

    The search over counts solves a tiny one here and now, and the bidirectional search one of up to
    24 requests.  Otherwise a bound and local search are a process each.  The order of a relaxation
    restarts the local search where it is better; where the bound has ended, a second local search
    with another seed takes its core.

    Where another engine is asked for without a formulation (``Method.joined``), it begins a little
    later, on the one that the size decides, with the best schedule so far and so with narrower
    start windows.  Those rest on another's schedule, so what it then proves is no witness.
    """
    if counting.ends_at_once(job.instance):
        counting.solve(job, report)
    else:
        _Team(job, report).run()


class _Team:
    """The methods at work, with the best schedule and bound that they have sent.

    Both are believed here.  The process above checks every schedule that is passed on, and a wrong
    one refuses the run.
    """

    def __init__(self, job: Job, report: Report) -> None:
        self._job, self._report = job, report
        self._started = time.monotonic()
        instance = job.instance
        self._starts, self._tel = job.warm_start, tel_of(instance, job.warm_start)
        self._bound = volume_bound(instance)
        # Its methods split it, too, so the largest part decides.
        largest = max(parts_of(instance), key=lambda part: len(part.positions)).instance
        windows = start_windows(largest, job.upper_bound)
        self._first = _read(chosen_method(largest, windows, job.memory_limit))
        #: Whether nothing is left of it, since it has been tried alone.
        self._given_up = False
        self._improve = _read("improve")
        self._done = Done()
        #: The engine that is asked for, until it begins.
        self._asked = job.asked
        #: Its task, once it has begun.
        self._engine: Task | None = None
        self._built = False

    @property
    def _closed(self) -> bool:
        """Return whether the bound meets the schedule."""
        return self._bound >= self._tel

    def run(self) -> None:
        if not self._closed:
            self._search_alone()
        if self._closed or self._share() >= 1:
            self._end("finished" if self._closed else "time_limit")
            return
        again = self._task(self._improve, more_seed=1)
        outcomes = run_team(
            [again if self._given_up else self._task(self._first), self._task(self._improve)],
            self._listen,
            deadline=self._job.deadline,
            finished=lambda: self._closed,
            on_tick=self._tick,
            on_end=self._follow,
        )
        for outcome in outcomes:
            if outcome.ending in ("memory_limit", "crashed"):
                self._report.note(ending_note(outcome.ending, outcome.detail))
        heaviest = max(outcomes, key=lambda outcome: outcome.peak_memory)
        # One that was stopped because nothing was left to be proved has finished.
        ending = heaviest.ending if heaviest.ending != "stopped" else "finished"
        assert ending != "interrupted"
        self._end(ending)

    def _end(self, ending: Ending) -> None:
        told = self._done
        # The engine's own seconds are those of one of several, so they are left out.
        solver = told.solver or (self._job.solver if self._job.asked else "")
        self._report.done(solver, told.nodes, outcome=told.outcome, ending=ending)

    def _search_alone(self) -> None:
        """Search in this process, where requests are few."""
        now, until, most = time.monotonic(), self._job.deadline, BIDIRECTIONAL_UP_TO
        if self._first.text != _BIDIRECTIONAL:
            until, most = min(until, now + ALONE_SECONDS), ALONE_UP_TO
        if len(self._job.instance) > most:
            return
        if self._asked:
            until = now + ENGINE_FROM * (until - now)
        task = replace(self._task(_read(_BIDIRECTIONAL)), deadline=until)
        engine = importlib.import_module(engine_of("search").module)
        told = self._report.through(lambda event: self._take(event, task))
        with contextlib.suppress(MemoryError):  # what follows takes less
            run_engine(engine, task.method, task, told)
        self._given_up = task.method == self._first and time.monotonic() < until

    def _task(self, method: Method, more_seed: int = 0) -> Task:
        job = self._job
        return Task(
            instance=job.instance,
            name=job.instance.name,
            method=method,
            seed=(job.seed + more_seed) % 2**31,
            time_limit=max(job.left(), 0.1),
            memory_limit=job.memory_limit,
            threads=job.threads,
            deadline=job.deadline,
            warm_start=self._starts,
        )

    def _share(self) -> float:
        """Return the share of the time that is over."""
        return (time.monotonic() - self._started) / max(self._job.deadline - self._started, 1e-9)

    def _tick(self) -> list[Order]:
        if self._asked is None or self._share() < ENGINE_FROM:
            return []
        self._engine = self._task(self._asked)
        self._report.send(Itself(formulation=self._asked.formulation))
        self._asked = None
        return [self._engine]

    def _listen(self, sender: Task, event: Event) -> list[Order]:
        before = self._starts
        self._take(event, sender)
        if self._starts is before:
            return []
        orders: list[Order] = [Tell(self._starts)]
        ordered = isinstance(event, ScheduleFound) and event.found_by == RELAXATION_ORDER
        if ordered and self._share() < RESTART_UNTIL:
            orders += [Stop(self._improve), self._task(self._improve)]
        return orders

    def _follow(self, ended: Task) -> list[Order]:
        """Return what takes the place of a bound that has ended, however it has."""
        searches = ended.method == self._improve
        if searches or self._closed or self._share() >= 1:
            return []
        return [self._task(self._improve, more_seed=1)]

    def _take(self, event: Event, sender: Task) -> None:
        """Take note of an event, and pass it on if it is news."""
        of_engine = sender is self._engine
        match event:
            case ScheduleFound():
                event = event.model_copy(update={"itself": of_engine and _is_own(event, sender)})
                news = self._improves(event) or event.itself
            case BoundProved():
                # One more proof of the optimum may be by another witness.
                news = event.value > self._bound or (self._closed and event.value == self._bound)
                news = news or of_engine or event.certificate is not None
                event = event.model_copy(update={"itself": of_engine})
                self._bound = max(event.value, self._bound)
            case ModelBuilt():
                # Of the engine that is asked for, where one is, the model is the row's.
                news = of_engine if self._job.asked else not self._built
                self._built = True
            case Done():
                news = False
                if of_engine or self._job.asked is None:
                    self._done = event
            case Note() | Failure():
                news = False
                self._report.note(f"{sender.method.text}: {event.text}")
            case _:
                news = isinstance(event, Relaxation)
        if news:
            self._report.send(event)

    def _improves(self, event: ScheduleFound) -> bool:
        """Take a better schedule; tell whether it is one, or none that could be counted."""
        if event.kept or event.engine_accounting or len(event.starts) != len(self._job.instance):
            return True
        tel = tel_of(self._job.instance, event.starts)
        if tel >= self._tel:
            return False
        self._starts, self._tel = event.starts, tel
        return True


def _is_own(event: ScheduleFound, sender: Task) -> bool:
    """Tell whether an engine found a schedule by itself, and did not begin with it."""
    return event.starts != sender.warm_start and event.found_by != RELAXATION_ORDER


def kernels_of(instance: Instance, formulation: str) -> set[str]:
    """Return the units that what is set to work at this size runs (``kvopt.runs.compiled``)."""
    del formulation
    if counting.ends_at_once(instance):
        return set()
    parts = [part.instance for part in parts_of(instance) if len(part.positions) > 1]
    return {"annealing"}.union(*(_kernels_of(each) for each in parts))


def _kernels_of(instance: Instance) -> set[str]:
    if _few_states(instance) is not None:
        return {"sweep", "layers"} if len(instance) <= forward.REQUESTS_UP_TO else {"sweep"}
    return {"layers"} if len(instance) <= BIDIRECTIONAL_UP_TO else {"look-ahead"}


def _read(text: str) -> Method:
    return read_method(text, planned=True)


def chosen_method(instance: Instance, windows: Windows, memory_limit: float | None) -> str:
    """Return the method that bounds an instance of this size."""
    small = len(instance) <= BIDIRECTIONAL_UP_TO
    states = _few_states(instance)
    if states is not None and small:
        return _BIDIRECTIONAL
    if states is not None:
        # Prices of patterns are better than the relaxation's, and there are some of them sooner.
        compared = instance.memory <= MULTIPLIERS_UP_TO
        if compared and len(instance) <= forward.REQUESTS_UP_TO:
            return _BY_STATES
        size = backward.model_size(instance, windows)
        refused = too_large(size, memory_limit, backward.ENTRY_BYTES)
        if refused or too_many_patterns(states, likely_horizon(instance)):
            return "bound:bound-patterns"
        return _SWEEPS[compared]
    if small:
        return _FORWARD
    return "bound:bound-dual" if windows.starts > RELAXATION_UP_TO else _RELAXATION


def _few_states(instance: Instance) -> States | None:
    """Return the states of the requests; None where their patterns are many."""
    if len(instance) > backward.REQUESTS_UP_TO:
        return None
    tokens = {(each.arrival, each.prompt, each.output) for each in instance.requests}
    starts = likely_horizon(instance) * sum(output for *_, output in tokens)
    if starts > START_WORK_UP_TO:
        return None
    return searchable_states(instance, PATTERN_WORK_UP_TO)
