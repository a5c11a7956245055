"""Policies: their kinds, their knowledge, and their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heuristics.guarantee import Guarantee
from instances.batch_time import BatchTime

Ints = NDArray[np.int64]
#: Length of a unit round: one tick, which is a round then.
UNIT_ROUND = BatchTime("unit round", base=1000)
#: Values of the parameters by name.
Values = dict[str, Any]


class NotApplicableError(ValueError):
    """A policy cannot serve this instance; the message says why in one line."""


class RankError(TypeError):
    """A policy's ``rank`` returns no keys; the message says in one line what was expected."""


#: Equally likely outputs that stand for a predicted law.
ATOMS = 100


@dataclass(frozen=True)
class Forecast:
    """Predictions of all outputs, in tokens.

    ``lower`` and ``upper`` hold the output, shape (n,); an estimate need not be in between.
    """

    lower: Ints
    upper: Ints
    points: Ints | None = None
    """Estimates, shape (n,); None for the means of the laws, or the middles of the intervals."""
    laws: NDArray[np.float64] | None = None
    """:data:`ATOMS` outputs each, in order, shape (n, ATOMS); None for uniform laws."""
    later: Sequence[Sequence[int]] | None = None
    """Estimates of each request after 0, ``step``, 2·``step`` ... tokens, if they are refreshed."""
    step: int = 1

    @cached_property
    def estimates(self) -> Ints:
        """One number for each output, rounded up, shape (n,)."""
        if self.points is not None:
            return self.points
        if self.laws is not None:
            return np.asarray(np.ceil(self.laws.mean(axis=1) - 1e-9), dtype=np.int64)
        return (self.lower + self.upper + 1) // 2

    def estimate(self, request: int, made: int) -> int:
        """Return the estimate of an output (tokens) after some of its tokens."""
        if self.later is None:
            return int(self.estimates[request])
        return self.later[request][made // self.step]

    def take(self, chosen: Ints) -> Forecast:
        """Return the predictions of some requests before their first token."""
        points = None if self.points is None else self.points[chosen]
        laws = None if self.laws is None else self.laws[chosen]
        return Forecast(self.lower[chosen], self.upper[chosen], points, laws)


@dataclass(frozen=True)
class Known:
    """Knowledge of a policy about the requests to be ranked, as arrays of shape (n,).

    A clairvoyant policy finds the true outputs in ``lower`` and ``upper`` alike; every other
    finds its prediction interval there, and nothing here leads to the true length.
    """

    memory: int
    """M, tokens."""
    arrivals: NDArray[Any]
    """Rounds, or nanoseconds in real time."""
    prompts: Ints
    """Tokens."""
    forecast: Forecast
    values: Values
    """The policy's parameters by name."""
    rng: np.random.Generator
    """The policy's draws; they depend on the seed only."""
    ticks: int = 1
    """Units of ``arrivals`` in a round of rules that count rounds: 1; in real time 10⁹."""
    batch_time: BatchTime = UNIT_ROUND
    """Length of a round."""

    @property
    def lower(self) -> Ints:
        """Lower ends of the predictions (tokens)."""
        return self.forecast.lower

    @property
    def upper(self) -> Ints:
        """Upper ends of the predictions (tokens)."""
        return self.forecast.upper

    @property
    def estimates(self) -> Ints:
        """One predicted number for each output (tokens), which may be outside its interval."""
        return self.forecast.estimates

    @property
    def laws(self) -> NDArray[np.float64]:
        """Predicted laws: :data:`ATOMS` equally likely outputs each, shape (n, ATOMS), tokens."""
        if self.forecast.laws is not None:
            return self.forecast.laws
        share = (np.arange(ATOMS) + 0.5) / ATOMS
        spread = np.multiply.outer(self.upper - self.lower, share)
        return np.asarray(self.lower[:, None] + spread, dtype=np.float64)

    @property
    def outputs(self) -> Ints:
        """True outputs (tokens); raises AttributeError if they are only predicted."""
        if not np.array_equal(self.lower, self.upper):
            raise AttributeError("the outputs are not known, only their prediction intervals")
        return self.lower

    @property
    def volumes(self) -> Ints:
        """Volumes s·o + o(o+1)/2 (token-rounds), for a clairvoyant policy."""
        return self.outputs * self.prompts + self.outputs * (self.outputs + 1) // 2

    @property
    def peaks(self) -> Ints:
        """Peaks s + o (tokens), for a clairvoyant policy."""
        return self.prompts + self.outputs

    def sorted_by(self, *keys: NDArray[Any]) -> Ints:
        """Return all positions by keys, ties by arrival, then by position."""
        return np.lexsort((*keys, self.arrivals, np.arange(len(self)))[::-1]).astype(np.int64)

    def __len__(self) -> int:
        return len(self.prompts)

    def take(self, positions: Sequence[int] | Ints) -> Known:
        """Return the knowledge about some of the requests."""
        chosen = np.asarray(positions, dtype=np.int64)
        return replace(
            self,
            arrivals=self.arrivals[chosen],
            prompts=self.prompts[chosen],
            forecast=self.forecast.take(chosen),
        )


@dataclass(frozen=True)
class Parameter:
    """A number that a policy takes on the command line, with its range (ends included)."""

    name: str
    default: float
    low: float
    high: float
    meaning: str
    integer: bool = False


@dataclass(frozen=True)
class Choice:
    """A word that a policy takes on the command line; the first option is the default."""

    name: str
    options: tuple[str, ...]
    meaning: str

    @property
    def default(self) -> str:
        """The first option."""
        return self.options[0]


#: Sort keys of the requests, smallest first; each array has shape (n,), the first counts most.
Keys = tuple[NDArray[Any], ...]


class State(Protocol):
    """State of the worker for a round-by-round policy; the simulator owns it."""

    now: int
    """The round that is being decided."""
    time: int
    """When it begins: rounds, or nanoseconds in real time."""
    memory: int
    """M, tokens."""
    starts: dict[int, int]
    """Start round of each active request, in the order of admission."""
    tokens_next: int
    """Tokens that the active requests will hold at time now + 1."""
    prompts: Sequence[int]
    """Prompt of each request (tokens), by position."""
    prefilling: dict[int, int]
    """Tokens computed so far of each prompt that is prefilled in chunks, in order of admission."""

    def made(self, request: int) -> int:
        """Return the output tokens that an active request has made so far, kept ones included."""

    def kept(self, request: int) -> int:
        """Return the output tokens that a waiting request kept when it was preempted."""

    def estimate(self, request: int) -> int:
        """Return the output (tokens) predicted for a request, given the tokens that it has made."""


class Rules(Protocol):
    """The decisions of a round-by-round policy; requests are named by position.

    Rules that inherit from it write ``arrive`` and ``admit``, and what else differs from here.
    In every round the simulator calls, in this order: ``finish`` for each request that has just
    completed, ``arrive`` for each that has become visible, ``evict`` if the active requests would
    hold more than M tokens at the next time or ``next_eviction`` is due, and ``admit``.
    """

    #: True where ``chunks`` names the prefills of each round; real time only.
    cuts_prompts: bool = False
    #: True where memory may stay exceeded after ``evict``; real time only.  Then the time of an
    #: empty batch passes as a gap between two rounds, with the tokens of the round before, which
    #: are at most M, and ``evict`` is called again.
    stalls: bool = False
    #: True where requests hold s + j − 1 tokens at the end of their j-th round, as in vLLM.
    engine_accounting: bool = False
    #: Tokens that a request admitted in this round, with chunks, need not compute again.
    cached: Mapping[int, int] = MappingProxyType({})

    def arrive(self, request: int) -> None:
        """Take note that a request has arrived."""

    def finish(self, request: int, output: int) -> None:
        """Take note that a request has completed, which reveals its output (tokens)."""
        del request, output

    def evict(self, state: State) -> list[int]:
        """Return the active requests to cancel now; called again while memory is exceeded."""
        del state
        raise AssertionError("rules without evictions never exceed the memory")

    def next_eviction(self, state: State) -> int | None:
        """Return the round from which on ``evict`` is called, which may return nothing; or None.

        It is asked in every round before evictions and again after admissions.
        """
        del state
        return None

    def admit(self, state: State) -> list[int]:
        """Return the waiting requests to start now, in order; the simulator starts them."""

    def chunks(self, state: State) -> list[tuple[int, int]]:
        """Return (request, tokens) of this round, after ``admit``: all that is on its way, once."""
        del state
        raise AssertionError("rules without chunks cut no prompts")

    def quiet(self) -> bool:
        """Return whether ``admit`` returns nothing until a completion, arrival or eviction."""
        return False

    def fingerprint(self) -> object:
        """Return all that later decisions depend on, or None if random or if they cannot loop.

        A state that repeats after the last arrival proves an endless loop.
        """
        return None


@dataclass(frozen=True)
class Policy:
    """Declaration of every policy."""

    name: str
    """Name on the command line."""
    clairvoyant: bool = field(default=True, kw_only=True)
    """True where it may use the true outputs; else it sees prediction intervals only."""
    offline: bool = field(default=False, kw_only=True)
    """True where it knows all requests from the start, also those that have not arrived."""
    randomised: bool = field(default=False, kw_only=True)
    """True where the seed changes its schedule."""
    blind: bool = field(default=False, kw_only=True)
    """True where it knows nothing of the outputs: its intervals are [1, M − s]."""
    warm_up: Callable[[], None] | None = field(default=None, kw_only=True)
    """Compiles kernels, beyond those of the simulator, before its clock starts."""
    parameters: tuple[Parameter | Choice, ...] = field(default=(), kw_only=True)
    """Options on the command line."""
    guarantees: tuple[Guarantee, ...] = field(default=(), kw_only=True)
    """Proved worst cases, with assumptions and source; empty if nothing is proved."""
    summary: str = field(default="", kw_only=True)
    """One line for ``--list``, with the source (filled from the module's docstring)."""

    def __post_init__(self) -> None:
        # What is blind is not clairvoyant.
        object.__setattr__(self, "clairvoyant", self.clairvoyant and not self.blind)

    @property
    def guarantee(self) -> str:
        """All guarantees in one line for ``--list``; empty if none is claimed."""
        return "; ".join(map(str, self.guarantees))


@dataclass(frozen=True)
class ListPolicy(Policy):
    """A policy that ranks requests, and admits them with look-ahead by upper ends of outputs."""

    rank: Callable[[Known], Keys] = field(kw_only=True)
    """Returns the sort keys; ties go by arrival, then by position.  Unless the policy is offline,
    a request's keys depend on this request and the seed only, and reveal no future."""
    first_fit: bool = field(default=False, kw_only=True)
    """True where admission goes on after a request that does not fit; else it stops there."""


@dataclass(frozen=True)
class PlanPolicy(Policy):
    """A policy that orders the waiting requests as a set, anew whenever one arrives.

    An offline one orders all requests once, those that have not arrived too; in every round the
    common admission takes those that have arrived in that order.
    """

    plan: Callable[[Known], Ints | Iterator[Ints]] = field(kw_only=True)
    """Returns the positions in order of admission, or yields them in pieces if it draws nothing."""


@dataclass(frozen=True)
class RoundPolicy(Policy):
    """A policy that decides round by round and may evict."""

    rules: Callable[[Known], Rules] = field(kw_only=True)
    """Returns the rules for one run; ``Known`` holds intervals, or outputs if clairvoyant."""
    keeps_tokens: bool = field(default=False, kw_only=True)
    """True where an evicted request keeps its tokens, and prefills them with its prompt again."""


@dataclass(frozen=True)
class AdvisedPolicy(Policy):
    """A policy that orders requests by the solution of a relaxation, which someone must solve."""

    order: Callable[[Known, NDArray[np.float64]], Ints] = field(kw_only=True)
    """Returns the positions in order, given the expected starts in the LP relaxation (rounds)."""
