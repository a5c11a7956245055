"""Events that the process of a run sends: one class a kind, one JSON object a line.

The process may run any code, so every field is checked before the parent looks at it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, TypeAdapter, ValidationError

from schedules import Clock, Schedule

Whole = Annotated[int, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=0)]
#: Statuses of a run without a result; the parent decides about results.
FailureStatus = Literal["no_solution", "time_limit", "memory_limit", "error"]
#: Ends of the processes below a run.
Ending = Literal["finished", "time_limit", "memory_limit", "crashed"]

#: Notes on processes that did not end by themselves.
_ENDINGS = {
    "time_limit": "stopped at the time limit",
    "memory_limit": "stopped at the memory limit",
    "crashed": "the method's process died ({detail})",
    "interrupted": "interrupted by the user",
}


class _Event(BaseModel):
    """``seconds`` counts from the end of the imports, before that from the start of the process."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)
    seconds: float = 0.0


class Compiling(_Event):
    """Compiling of kernels starts or ends; before ``Ready`` no deadline counts it."""

    kind: Literal["compiling"] = "compiling"
    goes_on: StrictBool
    #: Compiled kernels, and all that the run needs.
    done: Count = 0
    of: Count = 0


class CustomFileLoading(_Event):
    """The project is loaded; until Ready the custom file is imported."""

    kind: Literal["own_file"] = "own_file"


class Ready(_Event):
    """Imports and compiling are done: the clock of the run starts."""

    kind: Literal["ready"] = "ready"


class DocumentSent(_Event):
    """The answer of a process that runs no method."""

    kind: Literal["answer"] = "answer"
    document: dict[str, Any]


class FormulationChosen(_Event):
    """The formulation with its options, where the method has left it to the size.

    ``itself``: the engine that a method names starts on it, next to others.
    """

    kind: Literal["chosen"] = "chosen"
    text: str
    itself: StrictBool = False


class ModelBuilt(_Event):
    """The model stands."""

    kind: Literal["built"] = "built"
    columns: Count
    rows: Count
    entries: Count


class ScheduleFound(_Event):
    """A schedule to be checked; in real time with its clock and the TEL that it claims.

    ``itself``: the engine that a method names has found it, next to others.
    """

    kind: Literal["schedule"] = "schedule"
    starts: list[Whole]
    found_by: str = ""
    attempts: list[list[tuple[Whole, Whole]]] | None = None
    kept: list[list[Whole]] | None = None
    clock: Clock | None = None
    tel: Count | None = None
    engine_accounting: StrictBool = False
    itself: StrictBool = False


class BoundProved(_Event):
    """A lower bound on every TEL (rounds); its certificate may prove less."""

    kind: Literal["bound"] = "bound"
    value: Whole
    source: str
    certificate: dict[str, Any] | None = None
    itself: StrictBool = False


class RelaxationSolved(_Event):
    """A relaxation was solved: its objective, and Σ t·x of each request, as far as known."""

    kind: Literal["relaxation"] = "relaxation"
    value: float | None = None
    expected_starts: list[float] = []


class Note(_Event):
    """One line that a reader of the result should know."""

    kind: Literal["note"] = "note"
    text: str


class MethodFailed(_Event):
    """The reason in one line why a method failed."""

    kind: Literal["error"] = "error"
    text: str
    status: FailureStatus = "error"


class MethodDone(_Event):
    """The method has ended; its engine, and the engine's numbers."""

    kind: Literal["done"] = "done"
    solver: str = ""
    nodes: Count | None = None
    outcome: str = ""
    solver_seconds: float | None = None
    ending: Ending = "finished"


class PeakMemory(_Event):
    """The last event: the largest resident memory of the process, in bytes."""

    kind: Literal["peak"] = "peak"
    bytes: Count


_OfRun = (
    Compiling | CustomFileLoading | Ready | DocumentSent | MethodFailed | MethodDone | PeakMemory
)
_OfMethod = FormulationChosen | ModelBuilt | ScheduleFound | BoundProved | RelaxationSolved | Note
Event = _OfRun | _OfMethod
_ADAPTER: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])


def read_event(line: bytes | bytearray) -> Event | None:
    """Return the event of a line, None where it is not one."""
    try:
        return _ADAPTER.validate_json(line)
    except (ValidationError, ValueError, RecursionError):
        return None


def event_line(event: Event) -> str:
    """Return an event as one line of JSON."""
    return event.model_dump_json(exclude_none=True) + "\n"


def ending_note(ending: str, detail: str) -> str:
    """Return a note on a process that did not end by itself; else an empty text."""
    return _ENDINGS.get(ending, "").format(detail=detail)


def _in_range(
    kind: type[MethodDone | RelaxationSolved], **values: Any
) -> MethodDone | RelaxationSolved:
    """Return an event without values out of range: after an error HiGHS counts −1 nodes."""
    try:
        return kind(**values)
    except ValidationError as error:
        wrong = {each["loc"][0] for each in error.errors()}
        return kind(**{name: value for name, value in values.items() if name not in wrong})


class EventReport:
    """Makes events and hands each to ``sink``; their seconds count from ``started``, else now."""

    def __init__(self, sink: Callable[[Event], None], started: float | None = None) -> None:
        self.sink = sink
        self._started = time.monotonic() if started is None else started

    def through(self, sink: Callable[[Event], None]) -> EventReport:
        """Return a report of the same clock that hands its events to another sink."""
        return EventReport(sink, self._started)

    def send(self, event: Event) -> None:
        """Send an event, of this process or one below, at the time of this one."""
        self.sink(event.model_copy(update={"seconds": time.monotonic() - self._started}))

    def ready(self) -> None:
        """Send that imports and compiling are done, and count from here."""
        self._started = time.monotonic()
        self.sink(Ready())

    def built(self, columns: int, rows: int, entries: int) -> None:
        """Send the size of the model that stands."""
        self.send(ModelBuilt(columns=columns, rows=rows, entries=entries))

    def found(self, schedule: Schedule, found_by: str = "") -> None:
        """Send a schedule, with its clock if it is in real time."""
        names = ("attempts", "kept", "clock", "engine_accounting")
        more = {name: getattr(schedule, name) for name in names}
        tel = None if schedule.clock is None else schedule.tel
        self.schedule(schedule.starts, found_by, tel=tel, **more)

    def schedule(self, starts: Sequence[int], found_by: str = "", **more: Any) -> None:
        """Send a schedule by its starts; ``more`` are fields of :class:`ScheduleFound`."""
        self.send(ScheduleFound(starts=list(starts), found_by=found_by, **more))

    def bound(self, value: int, source: str, certificate: dict[str, Any] | None = None) -> None:
        """Send a bound."""
        self.send(BoundProved(value=value, source=source, certificate=certificate))

    def relaxation(self, value: float | None, expected_starts: Sequence[float] = ()) -> None:
        """Send the objective of a relaxation and the expected starts."""
        self.send(_in_range(RelaxationSolved, value=value, expected_starts=list(expected_starts)))

    def note(self, text: str) -> None:
        """Send a line that a reader of the result should know."""
        self.send(Note(text=text))

    def failure(self, text: str, status: FailureStatus = "error") -> None:
        """Send why the method failed."""
        self.send(MethodFailed(text=text, status=status))

    def done(self, solver: str = "", nodes: int | None = None, **more: Any) -> None:
        """Send that the method has ended; ``more`` are fields of :class:`MethodDone`."""
        self.send(_in_range(MethodDone, solver=solver, nodes=nodes, **more))
