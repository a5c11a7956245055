"""Simulated annealing and a bound method in parallel, chosen by size (the default)."""

import contextlib
import importlib
import time
from dataclasses import replace

from formulations.bounds.fluid_limit import likely_horizon
from formulations.dp import backward, forward
from formulations.dp.priced_network import too_many_patterns
from formulations.valid.idle_gaps import parts_of
from formulations.valid.running_states import States, searchable_states
from formulations.valid.volume_bounds import volume_bound
from formulations.valid.windows import Windows, start_windows
from instances import Instance
from kvopt.engines.job import EngineJob, tel_of
from kvopt.engines.parts import node_counting
from kvopt.engines.parts.model_size import too_large
from kvopt.engines.start import RELAXATION_ORDER, run_engine
from kvopt.methods.engine_table import engine_of
from kvopt.methods.grammar import read_method
from kvopt.methods.method import Method
from kvopt.runs.events import (
    BoundProved,
    Ending,
    Event,
    EventReport,
    FormulationChosen,
    MethodDone,
    MethodFailed,
    ModelBuilt,
    Note,
    RelaxationSolved,
    ScheduleFound,
    ending_note,
)
from kvopt.runs.task import Task
from kvopt.runs.team import Order, SendSchedule, StopWorkers, run_team

ENGINE = {"solves": None, "named": True}
#: Requests up to which the bidirectional search works alone, since it often ends before other
#: processes start.  Where patterns are many it does up to fewer requests, for so many seconds.
BIDIRECTIONAL_UP_TO, ALONE_UP_TO, ALONE_SECONDS = 24, 12, 20.0
#: Tokens of memory up to which sweeps have multipliers on requests: lanes of 8 bits hold them.
MULTIPLIERS_UP_TO = 127
#: Start columns up to which a relaxation with one row a round is solved.
RELAXATION_UP_TO = 400_000
#: Steps up to which patterns are priced: of one search for the best pattern, of pricing all starts.
PATTERN_WORK_UP_TO, START_WORK_UP_TO = 40_000_000, 250_000_000
#: Shares of the time after which an engine that the user names starts, and after which a better
#: order of a relaxation no longer restarts the local search.
ENGINE_FROM, RESTART_UNTIL = 0.1, 0.6

#: The methods that a team runs split the instance themselves, each in one process.
SPLIT = False
_BIDIRECTIONAL, _FORWARD = "search:bidirectional", "search:layers"
_BY_STATES = "search:bidirectional(states=yes)"
_RELAXATION = "highs:ilp-sparse(groups=yes,relaxed=yes)"
_SWEEPS = ("search:sweep", "search:sweep(multipliers=yes)")


def solve(job: EngineJob, report: EventReport) -> None:
    """Solve an instance with what suits its size until bound and schedule meet.

    The search over counts solves a tiny one in this process, the bidirectional search one of up to
    24 requests.  Otherwise a bound and local search are a process each.  A better order of the
    relaxation restarts the local search.  A second local search follows a bound that has ended.

    An engine that the user names without a formulation (``Method.joined``) starts a little later,
    with lower priority, from the best schedule so far.  Its start windows rest on another
    method's schedule, so its proof is no witness.
    """
    if node_counting.ends_at_once(job.instance):
        node_counting.solve(job, report)
    else:
        _Team(job, report).run()


class _Team:
    """The methods at work, with the best schedule and bound that they have sent.

    Both are believed here.  The process above checks every schedule and refuses a wrong one.
    """

    def __init__(self, job: EngineJob, report: EventReport) -> None:
        self._job, self._report = job, report
        self._started = time.monotonic()
        self._starts, self._tel = job.warm_start, tel_of(job.instance, job.warm_start)
        self._bound = volume_bound(job.instance)
        # Its methods split it, too, so the largest part decides.
        largest = max(parts_of(job.instance), key=lambda part: len(part.positions)).instance
        windows = start_windows(largest, job.upper_bound)
        self._first = _read(chosen_method(largest, windows, job.memory_limit))
        self._improve = _read("improve")
        #: Whether the first method has given up when it was tried alone; whether a model was sent.
        self._given_up = self._built = False
        self._done = MethodDone()
        #: The engine that the user names, until it starts; then its task.
        self._asked = job.asked
        self._engine: Task | None = None

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
        first = self._task(self._improve, 1) if self._given_up else self._task(self._first)
        outcomes = run_team(
            [first, self._task(self._improve)],
            self._listen,
            deadline=self._job.deadline,
            finished=lambda: self._closed,
            on_tick=self._tick,
            on_end=self._follow,
            yields=lambda task: task is self._engine,
        )
        for outcome in outcomes:
            if outcome.ending in ("memory_limit", "crashed"):
                self._report.note(ending_note(outcome.ending, outcome.detail))
        ending = max(outcomes, key=lambda outcome: outcome.peak_memory).ending
        assert ending != "interrupted"
        # A process that was stopped after the proof has finished.
        self._end("finished" if ending == "stopped" else ending)

    def _end(self, ending: Ending) -> None:
        solver = self._done.solver or (self._job.solver if self._job.asked else "")
        # The seconds of one engine of several say nothing.
        own = {"solver": solver, "solver_seconds": None, "ending": ending}
        self._report.send(self._done.model_copy(update=own))

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
        report = self._report.through(lambda event: self._take(event, task))
        with contextlib.suppress(MemoryError):  # what follows takes less
            run_engine(engine, task.method, task, report)
        self._given_up = task.method == self._first and time.monotonic() < until

    def _task(self, method: Method, more_seed: int = 0) -> Task:
        job, seed = self._job, (self._job.seed + more_seed) % 2**31
        limits = max(job.left(), 0.1), job.memory_limit, job.threads
        task = Task(job.instance, job.instance.name, method, seed, *limits)
        return replace(task, deadline=job.deadline, warm_start=self._starts)

    def _share(self) -> float:
        """Return the share of the time that is over."""
        return (time.monotonic() - self._started) / max(self._job.deadline - self._started, 1e-9)

    def _tick(self) -> list[Order]:
        if self._asked is None or self._share() < ENGINE_FROM:
            return []
        self._engine = self._task(self._asked)
        self._report.send(FormulationChosen(text=self._asked.formulation, itself=True))
        self._asked = None
        return [self._engine]

    def _listen(self, sender: Task, event: Event) -> list[Order]:
        before = self._starts
        self._take(event, sender)
        if self._starts is before:
            return []
        orders: list[Order] = [SendSchedule(self._starts)]
        ordered = isinstance(event, ScheduleFound) and event.found_by == RELAXATION_ORDER
        if ordered and self._share() < RESTART_UNTIL:
            orders += [StopWorkers(self._improve), self._task(self._improve)]
        return orders

    def _follow(self, ended: Task) -> list[Order]:
        """Return a second local search after a bound, whatever ended it."""
        done = ended.method == self._improve or self._closed or self._share() >= 1
        return [] if done else [self._task(self._improve, more_seed=1)]

    def _take(self, event: Event, sender: Task) -> None:
        """Take note of an event, and pass it on if it is news."""
        of_engine = sender is self._engine
        match event:
            case ScheduleFound():
                # An engine's warm start and the order of its relaxation are not its own.
                own = event.starts != sender.warm_start and event.found_by != RELAXATION_ORDER
                event = event.model_copy(update={"itself": of_engine and own})
                news = self._improves(event) or event.itself
            case BoundProved():
                # One more proof of the optimum may be by another witness.
                again = self._closed and event.value == self._bound
                news = event.value > self._bound or again or of_engine or bool(event.certificate)
                event = event.model_copy(update={"itself": of_engine})
                self._bound = max(event.value, self._bound)
            case ModelBuilt():
                # The row has the model of the engine that the user names.
                news = of_engine if self._job.asked else not self._built
                self._built = True
            case MethodDone():
                news = False
                if of_engine or self._job.asked is None:
                    self._done = event
            case Note() | MethodFailed():
                news = False
                self._report.note(f"{sender.method.text}: {event.text}")
            case _:
                news = isinstance(event, RelaxationSolved)
        if news:
            self._report.send(event)

    def _improves(self, event: ScheduleFound) -> bool:
        """Take a better schedule; return whether it is one, or has no TEL."""
        if event.kept or event.engine_accounting or len(event.starts) != len(self._job.instance):
            return True
        tel = tel_of(self._job.instance, event.starts)
        if tel >= self._tel:
            return False
        self._starts, self._tel = event.starts, tel
        return True


def kernels_of(instance: Instance, formulation: str) -> set[str]:
    """Return the units of kernels that methods of this size run."""
    del formulation
    if node_counting.ends_at_once(instance):
        return set()
    units = {"annealing"}
    for part in (each.instance for each in parts_of(instance) if len(each.positions) > 1):
        if _few_states(part) is not None:
            units |= {"sweep", "layers"} if len(part) <= forward.REQUESTS_UP_TO else {"sweep"}
        else:
            units.add("layers" if len(part) <= BIDIRECTIONAL_UP_TO else "look-ahead")
    return units


def _read(text: str) -> Method:
    return read_method(text, planned=True)


def chosen_method(instance: Instance, windows: Windows, memory_limit: float | None) -> str:
    """Return the method that bounds an instance of this size."""
    small = len(instance) <= BIDIRECTIONAL_UP_TO
    states = _few_states(instance)
    if states is None:
        if small:
            return _FORWARD
        return "bound:bound-dual" if windows.starts > RELAXATION_UP_TO else _RELAXATION
    if small:
        return _BIDIRECTIONAL
    # Prices of patterns are better than the relaxation's, and there are some of them sooner.
    compared = instance.memory <= MULTIPLIERS_UP_TO
    if compared and len(instance) <= forward.REQUESTS_UP_TO:
        return _BY_STATES
    refused = too_large(backward.model_size(instance, windows), memory_limit, backward.ENTRY_BYTES)
    if refused or too_many_patterns(states, likely_horizon(instance)):
        return "bound:bound-patterns"
    return _SWEEPS[compared]


def _few_states(instance: Instance) -> States | None:
    """Return the states of the requests; None where their patterns are many."""
    if len(instance) > backward.REQUESTS_UP_TO:
        return None
    tokens = {(each.arrival, each.prompt, each.output) for each in instance.requests}
    starts = likely_horizon(instance) * sum(output for *_, output in tokens)
    if starts > START_WORK_UP_TO:
        return None
    return searchable_states(instance, PATTERN_WORK_UP_TO)
