"""The schedule: a start round for every request, with its provenance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from instances.instance import Instance, Line
from support.json_files import describe_first_fault

#: The closed list of outcomes of a run (docs/glossary.md).
Status = Literal[
    "optimal",
    "feasible",
    "infeasible",
    "no_solution",
    "time_limit",
    "memory_limit",
    "crashed",
    "refused",
    "error",
]
STATUSES: tuple[str, ...] = get_args(Status)
#: Requests up to which a schedule is written out by ``repr``.
_WRITTEN_OUT = 10
Whole = Annotated[int, Field(strict=True, ge=0)]
Round = Whole
#: Reasons why a schedule is easier than the problem; then notes: bounds do not hold for it, or
#: they do, as most bounds in seconds.
KEEPS_TOKENS = "keeps tokens over evictions"
ENGINE_ACCOUNTING = "counts memory as vLLM's engine"
CACHED = "goes on from tokens without prefilling them again"
EASIER = (KEEPS_TOKENS, ENGINE_ACCOUNTING, CACHED)
OUTSIDE = ": outside the problem, its TEL may be below OPT"
COVERED = ": bounds in seconds hold for that, too"
KEEPS_TOKENS_NOTE = KEEPS_TOKENS + OUTSIDE
KEEPS_TOKENS_COVERED = KEEPS_TOKENS + COVERED
#: A cancelled attempt: the round in which it started and the tokens it made, kept ones included.
#: With none it was cancelled while its prompt was prefilled in chunks, which needs a clock.
Attempt = tuple[Round, Whole]
#: Nanoseconds since time 0.
Time = Whole
#: For each run of a request (attempts, then the run that counts) the lengths of its chunks.
Chunks = tuple[tuple[Whole, ...], ...]
#: A long list is read up to its first fault.
FIRST_FAULT = Field(fail_fast=True)


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Clock:
    """When the rounds of a schedule in real time begin, and how prompts were cut.

    Rounds 0, 1, 2, ... each process a batch that is not empty, take the time that ``batch_time``
    gives it, and begin when the one before has ended, unless ``begins`` says later.

    Raises pydantic.ValidationError if a field is missing, of a wrong type or out of range.

    Attributes
    ----------
    batch_time
        Text of the batch-time model (``instances.batch_time``).
    begins
        (round, nanoseconds) of each round that begins later than the one before ends, ascending;
        round 0 if it does not begin at time 0.
    prefills
        Set only where a prompt was cut into chunks: for each request, for each of its attempts
        and for the run that counts, the lengths of its chunks (tokens).  With chunks c_1..c_k a
        run whose last chunk is in round b ran chunk i in round b − k + i and held c_1 + .. + c_i
        tokens at its end.
    cached
        Set only where a run found tokens of an earlier one still in memory: for each request, for
        each of its attempts and for the run that counts, how many.  They are not prefilled again,
        and were held since the run before.
    """

    batch_time: Annotated[Line, Field(min_length=1)]
    begins: Annotated[tuple[tuple[Round, Time], ...], FIRST_FAULT] = ()
    prefills: Annotated[tuple[Chunks, ...], FIRST_FAULT] | None = None
    cached: Annotated[tuple[tuple[Whole, ...], ...], FIRST_FAULT] | None = None


@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Schedule:
    """Start rounds of all requests, in the instance's order, and claims about them.

    ``tel`` and ``lower_bound`` are in rounds, or in nanoseconds where ``clock`` is set, which it is
    for instances in seconds and for no others; starts are rounds in either case.  ``attempts``
    lists, per request, the cancelled attempts (start, tokens) that came before the one that counts.

    ``kept``, where set, lists per request for each attempt and then for the run that counts how
    many output tokens it kept from the attempt before (they are prefilled again with the prompt).
    A run (start p, kept k, tokens g) holds s + j tokens at p + j for j = k + 1..g only, so its
    start is the round in which it would have started without kept tokens, and p + o is still the
    completion.  Without ``kept`` every k is 0.

    ``engine_accounting`` says that memory is counted as in vLLM, where a token takes its slot in
    the round after: a run holds s + j - 1 tokens at p + j, and an empty prompt counts as one token.

    A schedule that is :attr:`easier` than the problem has another optimum.  So it is never
    ``optimal``, its TEL is no upper bound on OPT, and kvopt writes no ``lower_bound`` next to it.

    Raises pydantic.ValidationError if a field is missing, of a wrong type or out of range.
    """

    instance: Line
    instance_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    method: Line
    starts: Annotated[tuple[Round, ...], Field(min_length=1, fail_fast=True)]
    tel: Whole
    lower_bound: Whole | None
    status: Status
    attempts: Annotated[tuple[tuple[Attempt, ...], ...], FIRST_FAULT] | None = None
    kept: Annotated[tuple[tuple[Round, ...], ...], FIRST_FAULT] | None = None
    clock: Clock | None = None
    engine_accounting: Annotated[bool, Field(strict=True)] = False
    provenance: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _attempts_make_tokens(self) -> Schedule:
        cut = self.clock is not None and self.clock.prefills is not None
        if not cut and any(
            not tokens for of_request in self.attempts or () for _, tokens in of_request
        ):
            raise ValueError(
                "expected cancelled attempts of at least 1 token where no prompt is cut, found 0"
            )
        return self

    def __repr__(self) -> str:
        if len(self.starts) > _WRITTEN_OUT:
            summary = f"n = {len(self.starts)}, TEL {self.tel}, {self.status}"
            return f"<Schedule of {self.instance!r} by {self.method}: {summary}>"
        return f"Schedule({', '.join(f'{e.name}={getattr(self, e.name)!r}' for e in fields(self))})"

    @property
    def easier(self) -> str:
        """Return why the schedule solves an easier problem, or nothing."""
        return reason_easier(vars(self))

    def held_prompt(self, prompt: int) -> int:
        """Return the prompt as memory counts it: a run holds that and j tokens at p + j."""
        return max(prompt - 1, 0) if self.engine_accounting else prompt


def keeps_any_tokens(kept: Iterable[Iterable[int]] | None) -> bool:
    """Return from the field ``kept`` of a schedule whether any run kept a token."""
    return any(map(any, kept or ()))


def reason_easier(fields: Mapping[str, Any]) -> str:
    """Return what makes a schedule, by its fields or its JSON object, easier than the problem.

    Tokens are kept over evictions, or still there in free blocks, or in rounds counted as in the
    engine; bounds in seconds hold for either way to count.
    """
    clock = fields.get("clock")
    if clock is None and fields.get("engine_accounting"):
        return ENGINE_ACCOUNTING
    if clock.get("cached") if isinstance(clock, dict) else getattr(clock, "cached", None):
        return CACHED
    return KEEPS_TOKENS if keeps_any_tokens(fields.get("kept")) else ""


def is_better_schedule(schedule: Schedule, than: Schedule) -> bool:
    """Return whether a schedule is to replace another as the best one of its instance.

    In rounds one that is no :attr:`Schedule.easier` than the problem is better than any that is;
    on a clock prefilling what was kept takes its time, and the TEL decides.
    """
    easier, easier_than = (bool(each.easier) and each.clock is None for each in (schedule, than))
    return (easier, schedule.tel) < (easier_than, than.tel)


def make_schedule(
    instance: Instance,
    starts: Sequence[int],
    method: str,
    *,
    lower_bound: int | None = None,
    status: Status = "feasible",
    attempts: Sequence[Sequence[tuple[int, int]]] | None = None,
    kept: Sequence[Sequence[int]] | None = None,
    clock: Clock | None = None,
    tel: int | None = None,
    engine_accounting: bool = False,
    provenance: dict[str, Any] | None = None,
) -> Schedule:
    """Build the schedule of an instance from its start rounds and compute its TEL.

    Raises ValueError if there is not one start of at least 0 for each request, or something else is
    out of range; the message is one plain sentence.

    Parameters
    ----------
    attempts, kept
        As in :class:`Schedule`; left out where there are none.
    clock, tel
        In real time only, and both then: when rounds begin, and the total latency (nanoseconds).
    """
    plain = _plain_starts(instance, starts)
    if (clock is None) != (instance.time_unit == "round") or (clock is None) != (tel is None):
        raise ValueError("expected clock and TEL for an instance in seconds, and for no other")
    if tel is None:
        tel = sum(
            start + request.output - int(request.arrival)
            for start, request in zip(plain, instance.requests, strict=True)
        )
    try:
        return Schedule(
            instance=instance.name,
            instance_sha256=instance.sha256,
            method=method,
            starts=plain,
            tel=tel,
            lower_bound=lower_bound,
            status=status,
            attempts=tuple(tuple((int(p), int(g)) for p, g in each) for each in attempts)
            if attempts and any(attempts)
            else None,
            kept=tuple(tuple(each) for each in kept) if kept and keeps_any_tokens(kept) else None,
            clock=clock,
            engine_accounting=engine_accounting,
            provenance=provenance or {},
        )
    except ValidationError as error:
        raise ValueError(describe_first_fault(error)) from None


def _plain_starts(instance: Instance, starts: Sequence[int]) -> tuple[int, ...]:
    plain = tuple(int(start) for start in starts)
    if len(plain) != len(instance.requests):
        raise ValueError(f"expected {len(instance.requests)} starts, found {len(plain)}")
    for request, start in zip(instance.requests, plain, strict=True):
        if start < 0:
            raise ValueError(f"request {request.id}: expected a start of at least 0, found {start}")
    return plain
