"""A batch, and a batch-time model: five integer coefficients in picoseconds.

The models that a text names are in ``serving.batch_time``.  Only :func:`parse_batch_time` knows it,
by name: all that runs in rounds loads none of it.
"""

import importlib
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from instances.time_unit import NANOSECONDS as NANOSECONDS

_MODELS = "serving.batch_time.batch_time_names"

PICOSECONDS = 10**12
#: Picoseconds of a millisecond, the unit in which coefficients are written.
PICOSECONDS_PER_MS = 10**9
#: Largest coefficient, picoseconds: about eleven days.
MOST_PICOSECONDS = 10**18


class BatchTimeError(ValueError):
    """A batch-time model cannot be read; the message is one line."""


@dataclass(frozen=True)
class Batch:
    """Work of one round.

    Each of ``prefills`` has the tokens computed before and those of this round, a prompt or a
    chunk. ``decoding`` requests make a token after their first, and held ``kv_read`` tokens,
    prompts included, when the round began.
    """

    prefills: tuple[tuple[int, int], ...]
    decoding: int
    kv_read: int

    @property
    def prefilled(self) -> int:
        """Tokens that are prefilled in this round."""
        return sum(tokens for _, tokens in self.prefills)

    @property
    def squares(self) -> int:
        """Sum of (c + p)² − c² over the chunks, which is for a whole prompt its square."""
        return sum(tokens * (2 * before + tokens) for before, tokens in self.prefills)


@dataclass(frozen=True)
class MeasuredRange:
    """The largest batches that a model was measured on (tokens, requests, tokens)."""

    prefill: int
    decoding: int
    read: int

    def __str__(self) -> str:
        return (
            f"up to {self.prefill:,} prompt tokens, {self.decoding:,} decoding requests and "
            f"{self.read:,} tokens read a round"
        )


@dataclass(frozen=True)
class EngineLimits:
    """vLLM's limits on a GPU, an A100 by default (0.32.0, vllm/engine/arg_utils.py).

    A round processes so many tokens at most (``max_num_batched_tokens``), as a server and offline,
    and so many requests run at a time (``max_num_seqs``).
    """

    server: int = 2048
    offline: int = 8192
    running: int = 256

    def __str__(self) -> str:
        return f"{self.server:,} tokens a round, {self.running:,} requests at a time"


@dataclass(frozen=True)
class BatchTime:
    """Length of a round, as a linear function of its work.

    With P prompt tokens, S the sum of squares (``Batch.squares``), D decoding requests and K tokens
    read by them, a round takes base + per_prefill · P + per_square · S + per_decode · D + per_read
    · K picoseconds, rounded up to nanoseconds, and one nanosecond at least.  The coefficients are
    whole picoseconds from 0 to 10^18.

    The ``name`` is canonical: ``parse_batch_time`` reads it back.  ``range`` says where the model
    was measured, ``origin`` where its numbers come from and their error, ``served`` what it is of
    (``serving.kv_memory.ServedModel``), ``gpu`` the name of the GPU and ``engine`` what vLLM's
    scheduler takes there.  ``running`` and ``budget`` are other limits than these, 0 for these.
    """

    name: str
    base: int = 0
    per_prefill: int = 0
    per_square: int = 0
    per_decode: int = 0
    per_read: int = 0
    range: MeasuredRange | None = None
    origin: str = field(default="", compare=False)
    served: Any = field(default=None, compare=False)
    gpu: str = field(default="", compare=False)
    engine: EngineLimits = field(default=EngineLimits(), compare=False)
    running: int = field(default=0, compare=False)
    budget: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        for value in self.coefficients:
            if not 0 <= value <= MOST_PICOSECONDS:
                raise BatchTimeError(
                    f"batch time {self.name}: expected coefficients of 0 to 10^9 ms, found one "
                    "outside"
                )

    def __str__(self) -> str:
        return self.name

    @property
    def coefficients(self) -> tuple[int, int, int, int, int]:
        """Base, per prefilled token, per square, per decoding request, per token read (ps)."""
        return (self.base, self.per_prefill, self.per_square, self.per_decode, self.per_read)

    @property
    def engine_limits(self) -> EngineLimits:
        """Return the limits of vLLM's scheduler."""
        own, most = self.engine, self.budget
        return EngineLimits(most or own.server, most or own.offline, self.running or own.running)

    def prefill_load(self, tokens: int) -> int:
        """Return what prefilling so many tokens adds to rounds (ps), in chunks or whole."""
        return self.per_prefill * tokens + self.per_square * tokens * tokens

    def decode_load(self, held: int, steps: int = 1) -> int:
        """Return what the next decode steps add to rounds (ps), for who holds so many tokens."""
        return self.per_decode * steps + self.per_read * (steps * held + steps * (steps - 1) // 2)

    def nanoseconds(self, batch: Batch) -> int:
        """Return how long a round takes that processes a batch (ns)."""
        return self.time_of(batch.prefilled, batch.squares, batch.decoding, batch.kv_read)

    def time_of(self, prefilled: int, squares: int, decoding: int, read: int) -> int:
        """Return how long a round with these sums takes (ns); see ``Batch``."""
        picoseconds = (
            self.base
            + self.per_prefill * prefilled
            + self.per_square * squares
            + self.per_decode * decoding
            + self.per_read * read
        )
        return max(1, -(-picoseconds // 1000))


def parse_batch_time(text: str) -> BatchTime:
    """Return the model that a text names; no file is read, a text that names one is refused.

    Raises a :class:`BatchTimeError` if there is none.
    """
    found: BatchTime = importlib.import_module(_MODELS).parse_batch_time(text)
    return found


def decimal(numerator: int, places: int) -> str:
    """Return numerator / 10^places as the shortest decimal number, without exponent."""
    text = f"{Decimal(numerator).scaleb(-places):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def milliseconds(picoseconds: int) -> str:
    """Return picoseconds as a decimal number of milliseconds."""
    return decimal(picoseconds, 9)
