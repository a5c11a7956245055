"""The best schedule and bound of a run: only this module checks schedules, each of them once."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from formulations.valid.volume_bounds import volume_bound
from instances import Instance
from kvopt.methods.engine_table import proofs
from kvopt.runs import events
from kvopt.runs.events import (
    BoundProved,
    Event,
    FailureStatus,
    MethodDone,
    ScheduleFound,
    ending_note,
)
from kvopt.runs.process import Ending, ProcessOutcome
from kvopt.runs.run_evidence import evaluate_document, find_misstatement
from kvopt.runs.serving_imports import bounds_kept_tokens
from schedules import Schedule, Status, check_schedule, make_schedule
from schedules.evidence import (
    AT_ONCE,
    CERTIFICATE,
    CONTRADICTED,
    METHOD_FAILED,
    VOLUMES,
    own_contradiction,
)
from schedules.gap import gap
from schedules.schedule import KEEPS_TOKENS, KEEPS_TOKENS_COVERED, OUTSIDE, is_better_schedule
from support.message_text import one_line

#: Lines of each kind that are kept of a run, and entries of each trace; methods send any number.
_MOST_LINES, _MOST_TRACED = 20, 10_000
#: Relative error of a relaxation's value in floating point.
_ROUNDING = 1e-6
#: Largest integer that a store holds.
_LARGEST = 2**63 - 1
#: Characters of the name of a source: the registry holds no more.
_LONGEST_NAME = 400
#: The source of a custom method's bound without a certificate.
_CLAIMED = "claimed without a certificate"
#: Ends of a failure that excludes known schedules (``kvopt.engines``).
_EXCLUDES_KNOWN = ("of a feasible instance", "found no schedule as good as one that is known")


@dataclass
class RunState:
    """The best schedule and bound that passed the checks so far, and their origin.

    ``own``: the method is a custom one, whose bound counts as far as integers prove it here;
    ``proved`` is the value to which ``kvopt.runs.certify`` evaluated its certificate, ``dropped``
    the reason why it did not.  ``certificate`` is of the strongest bound that has one (JSON), which
    may be below ``lower_bound``.  ``incumbents`` and ``bounds`` are pairs (seconds since the end of
    the imports, value), without schedules of an easier problem.  ``beyond`` has a line for every
    bound in seconds of more than 64 bits, which may be true while there is no schedule.
    ``misstated``: the run has proved the optimum that the file states wrong.  ``Record`` explains
    the others.
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
    expected_starts: list[float] | None = None
    root_bound: int | None = None
    solver: str = ""
    solver_seconds: float | None = None
    nodes: int | None = None
    ending: Ending = "finished"
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
    misstated: str = ""
    notes: list[str] = field(default_factory=list)
    failure: str = ""
    failure_status: FailureStatus = "no_solution"
    incumbents: list[tuple[float, int]] = field(default_factory=list)
    bounds: list[tuple[float, int]] = field(default_factory=list)
    done: bool = False

    def take(self, event: Event) -> bool:
        """Take one event of the run; return whether schedule or bound improved."""
        match event:
            case ScheduleFound():
                return self._take_schedule(event)
            case BoundProved():
                return self._take_bound(event)
            case events.RelaxationSolved():
                if event.value is not None and not self.own:
                    self.relaxation = event.value
                if len(event.expected_starts) == len(self.instance):
                    self.expected_starts = event.expected_starts
            case events.FormulationChosen(itself=True):
                self.engine_formulation = one_line(event.text)
            case events.FormulationChosen():
                self.chosen = one_line(event.text)
            case events.ModelBuilt():
                of_model = event.model_dump(exclude={"kind", "seconds"})
                self.model = of_model | {"seconds": round(event.seconds, 4)}
            case events.MethodFailed() if event.text.endswith(_EXCLUDES_KNOWN) and not self.own:
                _add(self.contradictions, event.text)
            case events.MethodFailed() if not self.failure:
                self.failure, self.failure_status = one_line(event.text), event.status
            case events.Note() | events.MethodFailed():
                # A second failure may follow from the first.
                self.add_note(event.text)
            case MethodDone():
                self.solver, self.nodes = _name(event.solver), event.nodes
                self.solver_seconds, self.ending = event.solver_seconds, event.ending
                self.engine_outcome = one_line(event.outcome)
            case events.PeakMemory():
                self.peak_memory, self.done = event.bytes, True
        return False

    def add_note(self, text: str) -> None:
        """Add a note for a reader of the result, once."""
        if one_line(text) not in self.notes:
            _add(self.notes, text)

    def end(self, outcome: ProcessOutcome) -> None:
        """Take the end of the process, and compare the bound with known values."""
        if outcome.ending != "finished":
            self.ending = outcome.ending
        note = ending_note(outcome.ending, outcome.detail)
        if note and outcome.ending == "crashed":
            self.failure = self.failure or note
        elif note:
            self.add_note(note)
        self.close()

    def close(self) -> None:
        """Compare the bound with known values; withdraw a bound that cannot be true."""
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
        if upper is not None and (self.relaxation or 0) > upper * (1 + _ROUNDING):
            line = f"LP relaxation {self.relaxation:.6g} exceeds the run's own checked TEL, {upper}"
            self.contradictions.append(line)
        proved = self.proved or 0 if self.own else None
        self.misstated = find_misstatement(self.instance, upper, bound, self.certificate, proved)
        if self.contradictions or self.refused:
            # The weaker bounds before it are not trusted either.
            self.lower_bound, self.bound_source, self.bounds = None, "", []
            self.root_bound = self.claimed_bound = None
        if self.claimed_bound is not None:
            self.add_note(self._note_on_claim(self.claimed_bound))
        elif self.dropped:
            self.add_note(f"the method's certificate {self.dropped}: it is not used")

    def _fail_beyond(self, text: str) -> None:
        """Fail with a true number of nanoseconds that is too large for a store."""
        reason = f"{text} (292 years in nanoseconds): nothing can be kept of it"
        self.failure, self.failure_status = self.failure or reason, "error"

    @property
    def awaits_proof(self) -> bool:
        """Return whether a custom method has sent a certificate that could prove something yet."""
        if not self.own or self.certificate is None or self.closed:
            return False
        return self.certificate.get("kind") not in AT_ONCE

    def _take_proof(self) -> None:
        """Take the part of a claim that integers prove, and drop the claim if that is all."""
        if self.awaits_proof and self.proved is None:
            self.drop_certificate("was not evaluated")
        if self.certificate is not None and (self.proved or 0) > (self.lower_bound or 0):
            self.bounds = [each for each in self.bounds if each[0] < self.certified_after]
            source = f"{CERTIFICATE}{self.certificate.get('kind')}"
            self.raise_bound(self.proved or 0, source, self.certified_after)
        if (self.claimed_bound or 0) <= (self.lower_bound or 0):
            self.claimed_bound = None

    def drop_certificate(self, reason: str) -> None:
        """Drop the certificate of a custom method."""
        self.certificate, self.dropped = None, reason

    def _note_on_claim(self, claimed: int) -> str:
        note = f"the method claims that no TEL is below {self.instance.unit.text(claimed)}"
        if self.dropped:
            return f"{note}; its certificate {self.dropped}: it is not used"
        if self.certificate is None or self.certificate.get("kind") in AT_ONCE:
            return f"{note}; without a certificate it is not used"
        return f"{note}; its certificate proves less, and only that is used"

    @property
    def upper_bound(self) -> int | None:
        """The TEL that OPT is at most (rounds); None without a schedule that keeps no tokens."""
        return None if self.schedule is None or self.schedule.easier else self.schedule.tel

    @property
    def gap(self) -> float | None:
        """(UB − LB) / UB, None where either is missing."""
        upper, lower = self.upper_bound, self.lower_bound
        return None if upper is None or lower is None else gap(upper, lower)

    @property
    def closed(self) -> bool:
        """Return whether the bound meets the schedule, in integers, or exceeds it by a bug."""
        upper, lower = self.upper_bound, self.lower_bound
        return upper is not None and lower is not None and lower >= upper

    def status(self) -> Status:
        """Return the status of the closed list; an error where the instance's file is wrong."""
        status = self.standing()
        return "error" if self.misstated and status != "refused" else status

    def standing(self) -> Status:
        """Return the status of the run without the optimum that the instance's file states."""
        if self.refused or self.contradictions:
            return "refused" if self.refused else "error"
        if self.schedule is not None:
            closed = self.upper_bound is not None and self.lower_bound == self.upper_bound
            return "optimal" if closed else "feasible"
        if self.ending in ("time_limit", "memory_limit", "crashed"):
            return self.ending
        return self.failure_status

    def detail(self) -> list[str]:
        """Return lines on faults and notes, the gravest first."""
        contradicted = [CONTRADICTED + "; ".join(self.contradictions)] * bool(self.contradictions)
        failed = METHOD_FAILED + self.failure if self.failure and self.schedule else self.failure
        faults = [*contradicted, *self.refused, *filter(None, [self.misstated, failed])]
        # The meaning of the row's TEL is never cut off.
        return [*self._on_kept_tokens(), *faults, *self.notes]

    def reader_notes(self) -> list[str]:
        """Return the lines that a reader of a valid result needs."""
        return [*self._on_kept_tokens(), *filter(None, [self.failure]), *self.notes]

    def _on_kept_tokens(self) -> list[str]:
        easier = "" if self.schedule is None else self.schedule.easier
        if easier == KEEPS_TOKENS and bounds_kept_tokens(self.instance, self.batch_time):
            return [KEEPS_TOKENS_COVERED]
        return [easier + OUTSIDE] if easier else []

    def offer(
        self, schedule: Schedule, found_by: str, seconds: float = 0.0, *, itself: bool = False
    ) -> bool:
        """Take a schedule if it is better and the checker accepts it; return whether it was."""
        if schedule.tel > _LARGEST:
            text = f"{found_by}: a TEL of more than 64 bits"
            if self.own or not self.batch_time:
                _add(self.refused, text)
            else:
                self._fail_beyond(text)
            return False
        improves = self.schedule is None or is_better_schedule(schedule, self.schedule)
        of_engine = itself and (self.engine_tel is None or schedule.tel < self.engine_tel)
        if not improves and not of_engine:
            return False
        if reason := self._refusal(schedule):
            _add(self.refused, f"{found_by}: {reason}")
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
        if schedule.clock is not None and schedule.clock.batch_time != self.batch_time:
            return f"its batch time is not {self.batch_time}"
        verdict = check_schedule(self.instance, schedule)
        return "" if verdict.valid else verdict.reason

    def raise_bound(self, value: int, source: str, seconds: float = 0.0) -> bool:
        """Take a lower bound if it is better, or a further witness; return whether it was taken."""
        # Compared as it is kept: blanks around it would hide another's name.
        source = _name(source)
        if value > _LARGEST:
            text = f"a lower bound ({source}) of more than 64 bits"
            beyond = not self.own and bool(self.batch_time)
            _add(self.beyond if beyond else self.contradictions, text)
            return False
        if source == VOLUMES and value > self._volumes:
            # Any method's bound of volumes is believed, so none may take their name.
            _add(self.contradictions, f"a lower bound of {value} that volumes do not prove")
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
            more = {name: getattr(event, name) for name in names}
            schedule = make_schedule(self.instance, event.starts, self.method, **more)
        except ValueError as error:
            _add(self.refused, f"{found_by}: {one_line(error, 200)}")
            return False
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
        """Take the part of a custom method's bound that the sizes prove, and note the rest."""
        if event.value > _LARGEST:
            return self.raise_bound(event.value, event.source)
        raised = self.raise_bound(min(event.value, self._volumes), VOLUMES, event.seconds)
        if event.certificate and (kind := event.certificate.get("kind")) in AT_ONCE:
            proved = evaluate_document(self.instance, self.batch_time, None, event.certificate)
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


def _add(lines: list[str], text: str) -> None:
    """Add a line, unless there are enough of them already."""
    if len(lines) <= _MOST_LINES:
        lines.append(one_line(text) if len(lines) < _MOST_LINES else "and more")


def _trace(trace: list[tuple[float, int]], seconds: float, value: int) -> None:
    """Add an improvement; of too many the last takes the place of the one before."""
    if len(trace) >= _MOST_TRACED:
        trace.pop()
    trace.append((round(seconds, 4), value))
