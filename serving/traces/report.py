"""What became of a trace's rows: kept, or skipped for which reason, and where first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from instances.files import InstanceFileError
from serving.deployments import UNSTATED, EngineSettings
from serving.traces.measured import Measured
from support.text import counted


class TraceError(InstanceFileError):
    """A trace cannot be read; the message is one line with the file and the row."""


class Reason(IntEnum):
    """Why a row is no request; 0 where it is one.  The first that applies is counted."""

    NONE = 0
    FAILED = 1
    NO_ANSWER = 2
    NOT_A_NUMBER = 3
    NEGATIVE = 4
    EMPTY_PROMPT = 5
    NO_OUTPUT = 6
    OVER_MEMORY = 7
    NOT_COUNTED = 8
    NO_TIMES = 9
    WARM_UP = 10

    def __str__(self) -> str:
        """Return the reason in words."""
        return _WORDS[self]


_WORDS = {
    Reason.NONE: "kept",
    Reason.FAILED: "the request failed",
    Reason.NO_ANSWER: "no prompt with an answer",
    Reason.NOT_A_NUMBER: "a length is no whole number",
    Reason.NEGATIVE: "a length is negative",
    Reason.EMPTY_PROMPT: "the prompt is empty",
    Reason.NO_OUTPUT: "no output tokens",
    Reason.OVER_MEMORY: "prompt and output exceed the memory",
    Reason.NOT_COUNTED: "the tokenizer fails on a text",
    Reason.NO_TIMES: "its tokens have no times in order",
    Reason.WARM_UP: "it was sent to warm up",
}


@dataclass(frozen=True)
class Skipped:
    """Rows that are no requests, for one reason; ``first_row`` is the first of them."""

    reason: Reason
    rows: int
    first_row: int

    def __str__(self) -> str:
        return f"{counted(self.rows, 'row')} skipped: {self.reason} (first in row {self.first_row})"


@dataclass(frozen=True)
class TraceReport:
    """What was read of a trace.

    ``rows`` were looked at, since reading ends with the limit or the window.  ``notes`` say how
    units were converted and what was left out; ``warning`` what the file lacks that others of its
    format have.  ``settings`` and ``measured`` are of the engine that it was recorded with, as far
    as it says.
    """

    file: str
    format: str
    rows: int
    kept: int
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]
    settings: EngineSettings = UNSTATED
    measured: Measured | None = None
    warning: str = ""

    @property
    def lines(self) -> list[str]:
        """What a command prints on standard error, one line each."""
        counts = (
            f"{self.format}, {counted(self.rows, 'row')} read, {counted(self.kept, 'request')} kept"
        )
        told = [f"{self.file}: {each}" for each in (counts, *map(str, self.skipped), *self.notes)]
        return told + self.told(quiet=True)

    def told(self, *, quiet: bool) -> list[str]:
        """Return the lines, or of a command that is to be quiet the warning alone."""
        if not quiet:
            return self.lines
        return [f"{self.file}: {self.warning}"] if self.warning else []
