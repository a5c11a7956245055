"""The best schedule and bound of a run: each schedule is checked here, once, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.valid.volumes import volume_bound
from instances import Instance
from kvopt.methods.engines import proofs
from kvopt.runs.events import (
    BoundProved,
    Chosen,
    Done,
    Event,
    Failure,
    FailureStatus,
    Itself,
    ModelBuilt,
    Note,
    Peak,
    Relaxation,
    ScheduleFound,
    ending_note,
)
from kvopt.runs.in_seconds import bounds_kept_tokens
from kvopt.runs.process import Outcome
from kvopt.runs.stated_optimum import dispute, evaluated
from schedules import Schedule, Status, check_schedule, make_schedule
from schedules.evidence import AT_ONCE, CERTIFICATE, CONTRADICTED, VOLUMES, own_contradiction
from schedules.gap import gap
from schedules.model import KEEPS_TOKENS, KEEPS_TOKENS_COVERED, OUTSIDE, better
from support.text import one_line

#: Notes and refusals that are kept of a run, and entries of each trace; methods send any number.
_MOST_TOLD, _MOST_TRACED = 20, 10_000
#: Largest integer that a store holds, and what it is in nanoseconds.
_LARGEST = 2**63 - 1
_IN_NANOSECONDS = "292 years in nanoseconds"
#: Characters of the name of what found a schedule or proved a bound: the registry holds no more.
_LONGEST_NAME = 400
#: What the bound of a method of one's own rests on without a certificate, whatever it says itself.
_CLAIMED = "claimed without a certificate"
#: The status of a run without a schedule whose process ended so.
_STATUS_OF_ENDING: dict[str, Status] = {
    "time_limit": "time_limit",
    "memory_limit": "memory_limit",
    "crashed": "crashed",
}


@dataclass
class RunState:
    """The best schedule and bound so far, as far as they stood the checks, and how they came about.

    ``own``: the method is a custom one, whose bound counts as far as integers prove it here;
    ``proved`` is the value to which ``kvopt.runs.certify`` evaluated its certificate, ``dropped``
    why it did not.  ``certificate`` is of the strongest bound that has one (JSON), which may be
    below ``lower_bound``.  ``incumbents`` and ``bounds`` are pairs (seconds since the end of the
    imports, value); a schedule of an easier problem is no incumbent.  ``beyond`` has a line for
    every bound in seconds of more than 64 bits, which may be true while there is no schedule.
    ``disputed``: the bound exceeds the optimum that the file states, and nothing shows which is
    wrong; ``misstated``: the run has proved that statement wrong.  Others are as in
    ``kvopt.runs.record.Record`` and ``kvopt.runs.task.Finished``.
    """

    instance: Instance
    method: str
    own: bool = False
    batch_time: str = ""
    schedule: Schedule | None = None
    found_by: str = ""
    lower_bound: int | None = None
    bound_source: str = ""
    claimed_bound: int | None = None
    relaxation: float | None = None
    expected_starts: NDArray[np.float64] | None = None
    root_bound: int | None = None
    solver: str = ""
    solver_seconds: float | None = None
    nodes: int | None = None
    ending: str = "finished"
    engine_outcome: str = ""
    chosen: str = ""
    engine_formulation: str = ""
    engine_tel: int | None = None
    engine_bound: int | None = None
    model: dict[str, Any] = field(default_factory=dict)
    certificate: dict[str, Any] | None = None
    certified_after: float = 0.0
    proved: int | None = None
    dropped: str = ""
    peak_memory: int = 0
    refused: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    disputed: str = ""
    misstated: str = ""
    notes: list[str] = field(default_factory=list)
    failure: str = ""
    failure_status: FailureStatus = "no_solution"
    incumbents: list[tuple[float, int]] = field(default_factory=list)
    bounds: list[tuple[float, int]] = field(default_factory=list)
    done: bool = False

    def take(self, event: Event) -> bool:
        """Take one event of the run; tell whether schedule or bound improved."""
        match event:
            case ScheduleFound():
                return self._take_schedule(event)
            case BoundProved():
                return self._take_bound(event)
            case Relaxation():
                if event.value is not None and not self.own:
                    self.relaxation = event.value
                if len(event.expected_starts) == len(self.instance):
                    self.expected_starts = np.array(event.expected_starts)
            case Chosen():
                self.chosen = one_line(event.text)
            case Itself():
                self.engine_formulation = one_line(event.formulation)
            case ModelBuilt():
                of_model = event.model_dump(exclude={"kind", "seconds"})
                self.model = of_model | {"seconds": round(event.seconds, 4)}
            case Note():
                self.tell(event.text)
            case Failure() if self.failure:
                # What comes after a failure may well follow from it.
                self.tell(event.text)
            case Failure():
                self.failure = one_line(event.text)
                self.failure_status = event.status
            case Done():
                self.solver = _name(event.solver)
                self.nodes = event.nodes
                self.solver_seconds = event.solver_seconds
                self.engine_outcome = one_line(event.outcome)
                self.ending = event.ending
            case Peak():
                self.peak_memory = event.bytes
                self.done = True
        return False

    def tell(self, text: str) -> None:
        """Add a note that a reader of the result should have, once."""
        if one_line(text) not in self.notes:
            _tell(self.notes, text)

    def end(self, outcome: Outcome) -> None:
        """Take note of how the process has ended, and hold the bound against what is known."""
        if outcome.ending != "finished":
            self.ending = outcome.ending
        if note := ending_note(outcome.ending, outcome.detail):
            self.tell(note)
        self.close()

    def close(self) -> None:
        """Hold the bound against what is known; a bound that cannot be true is withdrawn."""
        if self.own:
            self._take_proof()
        upper, bound, source = self.upper_bound, self.lower_bound, self.bound_source
        if self.claimed_bound is not None:
            bound, source = self.claimed_bound, _CLAIMED
        if self.beyond and upper is None:
            self._fail_beyond(self.beyond[0])
        elif self.beyond:
            self.contradictions += self.beyond
            self.beyond = []
        if line := own_contradiction(upper, bound, source):
            self.contradictions.append(line)
        proved = self.proved or 0 if self.own else None
        found = dispute(self.instance, upper, bound, source, self.certificate, proved)
        if found is not None and found.settled:
            self.misstated = found.text
        elif found is not None:
            self.disputed = found.text
        if self.contradictions or self.disputed:
            # Nor is any of the weaker ones before it to be trusted.
            self.lower_bound, self.bound_source, self.bounds = None, "", []
            self.root_bound = self.claimed_bound = None
        if self.disputed and not self.contradictions:
            # Integers prove this one, whoever is right.
            self.lower_bound, self.bound_source = self._volumes, VOLUMES
        if self.claimed_bound is not None:
            self.tell(self._of_its_claim(self.claimed_bound))
        elif self.dropped:
            self.tell(f"the method's certificate {self.dropped}: it is not used")

    def _fail_beyond(self, text: str) -> None:
        """Fail with a true number of nanoseconds that is too large to be kept."""
        self.failure = self.failure or f"{text} ({_IN_NANOSECONDS}): nothing can be kept of it"
        self.failure_status = "error"

    @property
    def awaits_proof(self) -> bool:
        """Return whether a custom method has sent a certificate that could prove something yet."""
        if not self.own or self.certificate is None or self.closed:
            return False
        return self.certificate.get("kind") not in AT_ONCE

    def _take_proof(self) -> None:
        """Take what integers prove of a claim, and drop the claim where that is all of it."""
        if self.awaits_proof and self.proved is None:
            self.drop_certificate("was not evaluated")
        if self.certificate is not None and (self.proved or 0) > (self.lower_bound or 0):
            self.bounds = [each for each in self.bounds if each[0] < self.certified_after]
            source = f"{CERTIFICATE}{self.certificate.get('kind')}"
            self.raise_bound(self.proved or 0, source, self.certified_after)
        if (self.claimed_bound or 0) <= (self.lower_bound or 0):
            self.claimed_bound = None

    def drop_certificate(self, reason: str) -> None:
        """Forget the certificate of a custom method."""
        self.certificate, self.dropped = None, reason

    def _of_its_claim(self, claimed: int) -> str:
        told = f"the method claims that no TEL is below {self.instance.unit.text(claimed)}"
        if self.dropped:
            return f"{told}; its certificate {self.dropped}: it is not used"
        if self.certificate is None or self.certificate.get("kind") in AT_ONCE:
            return f"{told}; without a certificate it is not used"
        return f"{told}; its certificate proves less, and only that is used"

    @property
    def upper_bound(self) -> int | None:
        """The TEL that OPT is at most (rounds); None without a schedule that keeps no tokens."""
        if self.schedule is None or self.schedule.easier:
            return None
        return self.schedule.tel

    @property
    def gap(self) -> float | None:
        """(UB − LB) / UB, None where either is missing."""
        if self.upper_bound is None or self.lower_bound is None:
            return None
        return gap(self.upper_bound, self.lower_bound)

    @property
    def closed(self) -> bool:
        """Return whether the bound meets the schedule, in integers, or by a bug exceeds it."""
        upper, lower = self.upper_bound, self.lower_bound
        return upper is not None and lower is not None and lower >= upper

    def status(self) -> Status:
        """Return the status of the closed list; an error where the instance's file is wrong."""
        status = self.standing()
        wrong = self.misstated or self.disputed
        return "error" if wrong and status != "refused" else status

    def standing(self) -> Status:
        """Return the status of the run by itself, whatever the instance's file states."""
        if self.refused:
            return "refused"
        if self.contradictions:
            return "error"
        if self.schedule is not None:
            closed = self.upper_bound is not None and self.lower_bound == self.upper_bound
            return "optimal" if closed else "feasible"
        return _STATUS_OF_ENDING.get(self.ending, self.failure_status)

    def detail(self) -> list[str]:
        """Return lines on what went wrong or should be known, the gravest first."""
        lines = [*self.refused, *filter(None, [self.misstated, self.failure]), *self.notes]
        if wrong := [*self.contradictions, *filter(None, [self.disputed])]:
            lines.insert(0, CONTRADICTED + "; ".join(wrong))
        # What the row's TEL means is never cut off.
        return [*self._on_kept_tokens(), *lines]

    def told(self) -> list[str]:
        """Return the lines that a reader of a result that stands should have."""
        return [*self._on_kept_tokens(), *filter(None, [self.failure]), *self.notes]

    def _on_kept_tokens(self) -> list[str]:
        if self.schedule is None or not self.schedule.easier:
            return []
        easier = self.schedule.easier
        if easier == KEEPS_TOKENS and bounds_kept_tokens(self.instance, self.batch_time):
            return [KEEPS_TOKENS_COVERED]
        return [easier + OUTSIDE]

    def offer(
        self, schedule: Schedule, found_by: str, seconds: float = 0.0, *, itself: bool = False
    ) -> bool:
        """Take a schedule if it is better and the checker accepts it; tell whether it was taken."""
        if schedule.tel > _LARGEST:
            text = f"{found_by}: a TEL of more than 64 bits"
            if self.own or not self.batch_time:
                _tell(self.refused, text)
            else:
                self._fail_beyond(text)
            return False
        improves = self.schedule is None or better(schedule, self.schedule)
        of_engine = itself and (self.engine_tel is None or schedule.tel < self.engine_tel)
        if not improves and not of_engine:
            return False
        if reason := self._refusal(schedule):
            _tell(self.refused, f"{found_by}: {reason}")
            return False
        if of_engine:
            self.engine_tel = schedule.tel
        if not improves:
            return False
        self.schedule, self.found_by = schedule, found_by
        if not schedule.easier:
            _trace(self.incumbents, seconds, schedule.tel)
        return True

    def _refusal(self, schedule: Schedule) -> str:
        """Return why a schedule is refused, empty if it is not."""
        if schedule.clock is not None and schedule.clock.batch_time != self.batch_time:
            return f"its batch time is not {self.batch_time}"
        verdict = check_schedule(self.instance, schedule)
        return "" if verdict.valid else verdict.reason

    def raise_bound(self, value: int, source: str, seconds: float = 0.0) -> bool:
        """Take a lower bound if it is better, or a further witness; tell whether it was taken."""
        # As it is kept: with a blank more it would be no name of another's, and become one.
        source = _name(source)
        if value > _LARGEST:
            text = f"a lower bound ({source}) of more than 64 bits"
            beyond = not self.own and bool(self.batch_time)
            _tell(self.beyond if beyond else self.contradictions, text)
            return False
        if source == VOLUMES and value > self._volumes:
            # What volumes prove is believed of any method, so none may lend their name.
            _tell(self.contradictions, f"a lower bound of {value} that volumes do not prove")
            return False
        known = self.lower_bound or 0
        own = proofs().values()
        witness = value == known and self.closed and source in own and self.bound_source not in own
        if value <= known and not witness:
            return False
        if self.root_bound is None and source.startswith("prices"):
            self.root_bound = value
        if value > known:
            _trace(self.bounds, seconds, value)
        self.lower_bound, self.bound_source = value, source
        return True

    def _take_schedule(self, event: ScheduleFound) -> bool:
        found_by = _name(event.found_by)
        try:
            names = ("attempts", "kept", "clock", "tel", "engine_accounting")
            told = {name: getattr(event, name) for name in names}
            schedule = make_schedule(self.instance, event.starts, self.method, **told)
        except ValueError as error:
            _tell(self.refused, f"{found_by}: {' '.join(str(error).split())[:200]}")
            return False
        schedule = replace(schedule, engine_accounting=event.engine_accounting)
        return self.offer(schedule, found_by, event.seconds, itself=event.itself)

    def _take_bound(self, event: BoundProved) -> bool:
        if event.itself and not self.own:
            self.engine_bound = max(event.value, self.engine_bound or 0)
        offered, known = event.certificate, self.certificate
        valued = offered is not None and isinstance(offered.get("value"), int)
        if offered and valued and (known is None or offered["value"] > known["value"]):
            self.certificate, self.certified_after = offered, event.seconds
        if self.own:
            return self._take_claim(event)
        return self.raise_bound(event.value, event.source, event.seconds)

    def _take_claim(self, event: BoundProved) -> bool:
        """Take of a custom method's bound what the sizes alone prove, and note the rest."""
        if event.value > _LARGEST:
            return self.raise_bound(event.value, event.source)
        raised = self.raise_bound(min(event.value, self._volumes), VOLUMES, event.seconds)
        if event.certificate and (kind := event.certificate.get("kind")) in AT_ONCE:
            proved = evaluated(self.instance, self.batch_time, None, event.certificate)
            raised = self.raise_bound(proved, f"{CERTIFICATE}{kind}", event.seconds) or raised
        if event.value > max(self.lower_bound or 0, self.claimed_bound or 0):
            self.claimed_bound = event.value
        return raised

    @cached_property
    def _volumes(self) -> int:
        """Return the bound of volumes; none in seconds."""
        return 0 if self.batch_time else volume_bound(self.instance)


def _name(text: str) -> str:
    return one_line(text, _LONGEST_NAME)


def _tell(lines: list[str], text: str) -> None:
    """Add a line, unless there are enough of them already."""
    if len(lines) < _MOST_TOLD:
        lines.append(one_line(text))
    elif len(lines) == _MOST_TOLD:
        lines.append("and more")


def _trace(trace: list[tuple[float, int]], seconds: float, value: int) -> None:
    """Add an improvement; of too many the last takes the place of the one before."""
    if len(trace) >= _MOST_TRACED:
        trace.pop()
    trace.append((round(seconds, 4), value))
