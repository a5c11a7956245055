"""Runs an engine on the parts of an instance that idle gaps set apart, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from formulations.valid.parts import Part, closed_up, parts_of
from formulations.valid.volumes import volume_bound
from instances import Instance
from kvopt.engines.job import tel_of
from kvopt.methods.engines import proofs
from kvopt.runs.events import (
    BoundProved,
    Done,
    Ending,
    Event,
    ModelBuilt,
    Relaxation,
    Report,
    ScheduleFound,
)
from kvopt.runs.task import Task
from schedules.evidence import VOLUMES

#: What solves a task, as ``kvopt.engines.start.run_engine`` does for one engine and method.
Run = Callable[[Task, Report], None]
#: Source of a bound that volumes prove of every part, which is more than they prove of the whole.
VOLUMES_OF_PARTS = "volumes of parts"
#: Seconds between two reports of the whole, which grow with all of its requests.
SECONDS_BETWEEN = 0.3
#: Share of its time from which on a part counts as one that it was too little for.
CUT_SHARE = 0.9
#: How a run has ended, the gravest last.
_GRAVITY: tuple[Ending, ...] = ("finished", "time_limit", "memory_limit", "crashed")


def run_parts(
    parts: list[Part], task: Task, report: Report, begin: Run, run: Run, *, prove: bool
) -> None:
    """Solve the parts of a task's instance, and report schedules and bounds of the whole.

    Why schedules are put together and bounds added up: ``formulations.valid.parts``.  Each part
    gets a share of the time left that is that of its requests among those still to come, small
    parts first.  ``begin`` reports schedules of the whole instance, ``run`` solves a part from the
    best one known of it.  With ``prove`` parts that volumes have closed are solved last, too.
    """
    assert task.instance is not None
    merged = _Merged(task.instance, parts, report)
    if task.warm_start is not None:
        merged.begin_with(task.warm_start)
    else:
        begin(task, report.through(merged.of_whole))
    end = task.end_from(time.monotonic())

    def solve(states: list[_State]) -> list[_State]:
        """Solve each part for its share of the time; return those that it was too little for."""
        still, short = sum(state.size for state in states), []
        for state in sorted(states, key=lambda each: each.size):
            if (now := time.monotonic()) >= end:
                break
            share = (end - now) * state.size / still
            still -= state.size
            own = replace(
                task, instance=state.part.instance, warm_start=state.starts,
                time_limit=share, deadline=now + share,
            )  # fmt: skip
            run(own, report.through(merged.sink_of(state)))
            if not state.closed and time.monotonic() - now > CUT_SHARE * share:
                short.append(state)
        return short

    closed = [state for state in merged.states if state.closed]
    left = [state for state in merged.states if not state.closed]
    while left and time.monotonic() < end:
        # What one pass leaves of the time is for those that had too little of it.
        left = solve(left)
    if prove:
        solve(closed)
    merged.end()


def report_volumes(instance: Instance, report: Report) -> int:
    """Report what volumes prove of an instance, or of its parts together; return the better."""
    bound = volume_bound(instance)
    report.bound(bound, VOLUMES)
    states = [_State(part) for part in parts_of(instance)]
    if (total := sum(state.bound for state in states)) <= bound:
        return bound
    report.bound(total, VOLUMES_OF_PARTS, _certificate(states))
    return total


def _certificate(states: list[_State]) -> dict[str, Any]:
    from formulations.certificates.certificate_file import parts_certificate  # few need it

    return parts_certificate(
        (state.part.positions, state.certificate, state.certified_starts) for state in states
    )


class _State:
    """The best schedule and bound of a part."""

    def __init__(self, part: Part) -> None:
        self.part, self.size = part, len(part.positions)
        self.starts: list[int] | None = None
        self.tel, self.found_by = -1, ""
        self.bound = volume_bound(part.instance)
        self.source = VOLUMES
        self.certificate: dict[str, Any] = {"kind": VOLUMES, "value": self.bound}
        self.certified_starts: list[int] = []
        self.relaxation: float | None = None

    @property
    def closed(self) -> bool:
        """Return whether the bound meets the schedule."""
        return self.tel == self.bound

    def offer(self, starts: list[int], found_by: str) -> bool:
        """Take a schedule if it is better; tell whether it was.

        A wrong one makes the whole wrong, which the checker then refuses.
        """
        moved = closed_up(self.part.instance, starts)
        tel = tel_of(self.part.instance, moved)
        if self.starts is not None and tel >= self.tel:
            return False
        self.starts, self.tel, self.found_by = moved, tel, found_by
        return True

    def prove(self, event: BoundProved) -> None:
        """Take a bound, and a certificate that says more than the one before.

        An engine's own proof takes the place of what volumes or prices have proved, as it does in
        ``kvopt.runs.state``: one more witness.
        """
        own = proofs().values()
        witness = event.value == self.bound and event.source in own and self.source not in own
        if event.value > self.bound or witness:
            self.bound, self.source = event.value, event.source
        offered = event.certificate
        if offered is not None and offered.get("value", -1) > self.certificate["value"]:
            # What it assumes of a schedule is shown by this one.
            self.certificate, self.certified_starts = offered, list(self.starts or [])


class _Merged:
    """Sum of the parts, reported when it has changed and now and then."""

    def __init__(self, instance: Instance, parts: list[Part], report: Report) -> None:
        self._instance, self._report = instance, report
        self.states = [_State(part) for part in parts]
        self._done = Done(nodes=None)
        self._built = (0, 0, 0)
        self._told = (-1, -1, "", -1)
        self._next = 0.0
        self.flush()

    def begin_with(self, starts: list[int]) -> None:
        """Take a schedule that the caller has already: only better ones are reported."""
        self._told = (tel_of(self._instance, starts), *self._told[1:])
        self.take_whole(starts, "")

    def take_whole(self, starts: list[int], found_by: str) -> None:
        """Take a schedule of the whole instance, each part for itself."""
        for state in self.states:
            part = state.part
            state.offer([starts[i] - part.offset for i in part.positions], found_by)
        self.flush()

    def of_whole(self, event: Event) -> None:
        """Take an event of what works on the whole instance."""
        if isinstance(event, ScheduleFound) and not event.kept:
            self.take_whole(event.starts, event.found_by)
        elif not isinstance(event, BoundProved):
            self._report.sink(event)

    def sink_of(self, state: _State) -> Callable[[Event], None]:
        """Return what takes the events of a part."""
        built = self._built

        def sink(event: Event) -> None:
            match event:
                case ScheduleFound():
                    if not event.kept and state.offer(event.starts, event.found_by):
                        self._flush_in_time()
                case BoundProved():
                    state.prove(event)
                    self._flush_in_time()
                case Relaxation():
                    state.relaxation = event.value
                case ModelBuilt():
                    new = (event.columns, event.rows, event.entries)
                    self._built = tuple(map(sum, zip(built, new, strict=True)))  # type: ignore[assignment]
                    self._report.built(*self._built)
                case Done():
                    self._take_end(event)
                case _:
                    self._report.sink(event)

        return sink

    def _take_end(self, event: Done) -> None:
        before = self._done
        outcomes = dict.fromkeys([*before.outcome.split("; "), event.outcome])
        self._done = Done(
            solver=event.solver or before.solver,
            nodes=_sum(before.nodes, event.nodes),
            outcome="; ".join(filter(None, outcomes)),
            solver_seconds=_sum(before.solver_seconds, event.solver_seconds),
            ending=max(before.ending, event.ending, key=_GRAVITY.index),
        )

    def _flush_in_time(self) -> None:
        if time.monotonic() >= self._next:
            self.flush()

    def flush(self) -> None:
        """Report schedule and bound of the whole as far as they are news."""
        tel = sum(state.tel for state in self.states)
        bound = sum(state.bound for state in self.states)
        certified = sum(state.certificate["value"] for state in self.states)
        complete = all(state.starts is not None for state in self.states)
        source = self._source()
        if complete and tel != self._told[0]:
            found_by = {state.found_by: None for state in self.states}
            named = " and ".join(filter(None, found_by)) or "warm start"
            self._report.schedule(self._whole(), named)
        if (bound, source, certified) != self._told[1:]:
            # Whoever reads it computes volumes anew.
            proof = None if source == VOLUMES else _certificate(self.states)
            self._report.bound(bound, source, proof)
        self._told = (tel if complete else -1, bound, source, certified)
        self._next = time.monotonic() + SECONDS_BETWEEN

    def _source(self) -> str:
        sources = dict.fromkeys(state.source for state in self.states)
        if list(sources) == [VOLUMES]:
            return VOLUMES_OF_PARTS if len(self.states) > 1 else VOLUMES
        return " and ".join(sources)

    def _whole(self) -> list[int]:
        starts = [0] * len(self._instance)
        for state in self.states:
            for i, start in zip(state.part.positions, state.starts or [], strict=True):
                starts[i] = start + state.part.offset
        return starts

    def end(self) -> None:
        """Report what is left to be told, and the end."""
        self.flush()
        values = [state.relaxation for state in self.states]
        if None not in values:
            self._report.relaxation(sum(value for value in values if value is not None))
        self._report.send(self._done)


def _sum(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else one + other
