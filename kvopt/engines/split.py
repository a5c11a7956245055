"""Runs an engine on the parts of an instance that idle gaps set apart, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from formulations.valid.idle_gaps import InstancePart, closed_up, parts_of
from formulations.valid.volume_bounds import volume_bound
from instances import Instance
from kvopt.engines.job import tel_of
from kvopt.methods.engine_table import proofs
from kvopt.runs.events import (
    BoundProved,
    Ending,
    Event,
    EventReport,
    MethodDone,
    ModelBuilt,
    RelaxationSolved,
    ScheduleFound,
)
from kvopt.runs.task import Task
from schedules.evidence import VOLUMES

#: What solves a task, as ``kvopt.engines.start.run_engine`` does for one engine and method.
Run = Callable[[Task, EventReport], None]
#: Source of a bound that volumes prove of every part, which exceeds their bound of the whole.
VOLUMES_OF_PARTS = "volumes of parts"
#: Seconds between two reports of the whole, and share of its time from which on a part gets more.
SECONDS_BETWEEN, CUT_SHARE = 0.3, 0.9
#: Endings of a run, the gravest last.
_GRAVITY: tuple[Ending, ...] = ("finished", "time_limit", "memory_limit", "crashed")


def run_parts(
    parts: list[InstancePart], task: Task, report: EventReport, begin: Run, run: Run, *, prove: bool
) -> None:
    """Solve the parts of a task's instance, and report schedules and bounds of the whole.

    Bounds of parts add up (``formulations.valid.idle_gaps``).  Small parts come first; each gets
    the share of the time left that its requests have among those to come.  ``begin`` reports
    schedules of the whole, ``run`` solves a part from its best one.  ``prove`` solves closed parts
    last, too.
    """
    assert task.instance is not None
    merged = _Merged(task.instance, parts, report, task.warm_start)
    if task.warm_start is None:
        begin(task, report.through(merged.of_whole))
    end = task.end_from(time.monotonic())

    def solve(states: list[_State]) -> list[_State]:
        """Solve each part for its share of the time; return the parts that need more."""
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
        # The time that one pass leaves is for parts that had too little.
        left = solve(left)
    if prove:
        solve(closed)
    merged.end()


def report_volumes(instance: Instance, report: EventReport) -> int:
    """Report the bound from volumes of an instance, and of its parts if better; return the best."""
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

    def __init__(self, part: InstancePart) -> None:
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
        """Take a schedule if it is better; return whether it is.  The checker sees the whole."""
        moved = closed_up(self.part.instance, starts)
        tel = tel_of(self.part.instance, moved)
        if self.starts is not None and tel >= self.tel:
            return False
        self.starts, self.tel, self.found_by = moved, tel, found_by
        return True

    def prove(self, event: BoundProved) -> None:
        """Take a better bound, a better certificate, or an engine's proof: one more witness."""
        own = proofs().values()
        witness = event.value == self.bound and event.source in own and self.source not in own
        if event.value > self.bound or witness:
            self.bound, self.source = event.value, event.source
        offered = event.certificate
        if offered is not None and offered.get("value", -1) > self.certificate["value"]:
            # The certificate may assume a schedule, which this one is.
            self.certificate, self.certified_starts = offered, list(self.starts or [])


class _Merged:
    """Sum of the parts, reported when it has changed and now and then.

    The caller has the schedule ``known``, so only better ones are reported.
    """

    def __init__(
        self,
        instance: Instance,
        parts: list[InstancePart],
        report: EventReport,
        known: list[int] | None,
    ) -> None:
        self._instance, self._report = instance, report
        self.states = [_State(part) for part in parts]
        self._done = MethodDone(nodes=None)
        self._built = (0, 0, 0)
        self._sent = (tel_of(instance, known) if known else -1, -1, "", -1)
        if known:
            self._take_whole(known, "")
        self.flush()

    def _take_whole(self, starts: list[int], found_by: str) -> None:
        for state in self.states:
            part = state.part
            state.offer([starts[i] - part.offset for i in part.positions], found_by)

    def of_whole(self, event: Event) -> None:
        """Take an event of the whole instance."""
        if isinstance(event, ScheduleFound) and not event.kept:
            self._take_whole(event.starts, event.found_by)
            self.flush()
        elif not isinstance(event, BoundProved):
            self._report.sink(event)

    def sink_of(self, state: _State) -> Callable[[Event], None]:
        """Return the receiver of a part's events."""
        built = self._built

        def sink(event: Event) -> None:
            match event:
                case ScheduleFound():
                    if not event.kept and state.offer(event.starts, event.found_by):
                        self._flush_in_time()
                case BoundProved():
                    state.prove(event)
                    self._flush_in_time()
                case RelaxationSolved():
                    state.relaxation = event.value
                case ModelBuilt():
                    new = (event.columns, event.rows, event.entries)
                    self._built = tuple(map(sum, zip(built, new, strict=True)))  # type: ignore[assignment]
                    self._report.built(*self._built)
                case MethodDone():
                    self._take_end(event)
                case _:
                    self._report.sink(event)

        return sink

    def _take_end(self, event: MethodDone) -> None:
        before = self._done
        outcomes = dict.fromkeys([*before.outcome.split("; "), event.outcome])
        self._done = MethodDone(
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
        if complete and tel != self._sent[0]:
            found_by = {state.found_by: None for state in self.states}
            named = " and ".join(filter(None, found_by)) or "warm start"
            self._report.schedule(self._whole(), named)
        if (bound, source, certified) != self._sent[1:]:
            # A reader computes volumes anew.
            proof = None if source == VOLUMES else _certificate(self.states)
            self._report.bound(bound, source, proof)
        self._sent = (tel if complete else -1, bound, source, certified)
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
        """Report the rest, and the end."""
        self.flush()
        values = [state.relaxation for state in self.states if state.relaxation is not None]
        if len(values) == len(self.states):
            self._report.relaxation(sum(values))
        self._report.send(self._done)


def _sum(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else one + other
