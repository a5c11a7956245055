"""Report on a trace: rows kept, or skipped with the reason and the first row; latencies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from instances.instance_files import InstanceFileError
from serving.deployments import UNSTATED, RecordedSettings
from support.message_text import plural

Ints = NDArray[np.int64]


class TraceError(InstanceFileError):
    """A trace cannot be read; the message is one line with the file and the row."""


class SkipReason(IntEnum):
    """Reason for skipping a row; 0 for a request.  The first that applies is counted."""

    words: str

    def __new__(cls, value: int, words: str) -> SkipReason:
        """Return a reason with its words."""
        member = int.__new__(cls, value)
        member._value_, member.words = value, words
        return member

    def __str__(self) -> str:
        return self.words

    NONE = 0, "kept"
    FAILED = 1, "the request failed"
    NO_ANSWER = 2, "no prompt with an answer"
    NOT_A_NUMBER = 3, "a length is no whole number"
    NEGATIVE = 4, "a length is negative"
    EMPTY_PROMPT = 5, "the prompt is empty"
    NO_OUTPUT = 6, "no output tokens"
    OVER_MEMORY = 7, "prompt and output exceed the memory"
    NOT_COUNTED = 8, "the tokenizer fails on a text"
    NO_TIMES = 9, "its tokens have no times in order"
    WARM_UP = 10, "it was sent to warm up"
    NO_LENGTH = 11, "output_tokens is missing"


@dataclass(frozen=True)
class SkippedRows:
    """Rows that are no requests, for one reason, and the first of them."""

    reason: SkipReason
    rows: int
    first_row: int

    def __str__(self) -> str:
        return f"{plural(self.rows, 'row')} skipped: {self.reason} (first in row {self.first_row})"


@dataclass(frozen=True, eq=False)
class MeasuredLatencies:
    """Nanoseconds to the first (TTFT) and last token (E2EL), and output tokens, one a request."""

    first_tokens: Ints
    latencies: Ints
    outputs: Ints

    def __len__(self) -> int:
        return len(self.outputs)

    def take(self, positions: Ints) -> MeasuredLatencies:
        """Return the latencies of some of the requests."""
        return MeasuredLatencies(*(column[positions] for column in vars(self).values()))


@dataclass(frozen=True)
class TraceReport:
    """Report on a trace.

    ``rows`` were read, up to the limit or the window's end.  ``warning`` says what the file lacks
    that others of its format have.  ``settings`` and ``measured`` are of the recorded engine.
    """

    file: str
    format: str
    rows: int
    kept: int
    skipped: tuple[SkippedRows, ...]
    notes: tuple[str, ...]
    settings: RecordedSettings = UNSTATED
    measured: MeasuredLatencies | None = None
    warning: str = ""

    def shown_lines(self, *, quiet: bool = False) -> list[str]:
        """Return the lines for standard error; a quiet command warns, and says what never fits."""
        counts = f"{plural(self.rows, 'row')} read, {plural(self.kept, 'request')} kept"
        lines = [f"{self.format}, {counts}", *map(str, self.skipped), *self.notes]
        if quiet:
            lines = [str(x) for x in self.skipped if x.reason is SkipReason.OVER_MEMORY]
        return [f"{self.file}: {each}" for each in (*lines, self.warning) if each]
