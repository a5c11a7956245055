"""The instance: requests that share the KV memory of one worker."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from itertools import chain, repeat
from operator import add, attrgetter
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, WithJsonSchema, model_validator
from pydantic.dataclasses import dataclass

from instances.time_unit import NANOSECONDS, ROUNDS, SECONDS, TimeUnit

#: Largest number of tokens in a prompt, an output or the memory.  Volumes (about tokens squared)
#: then stay below 2**61, so that 64-bit integer arithmetic never overflows on one request.
MAX_TOKENS = 10**9
#: Largest arrival, in rounds or seconds.
MAX_ARRIVAL = 10**12
#: Largest arrival in seconds that a schedule in nanoseconds can be made for; it leaves room below
#: 2**63 for what comes after, and is later than every clock that counts from 1970.
MAX_SECONDS = 4 * 10**9
#: Requests up to which an instance is written out by ``repr``.
_WRITTEN_OUT = 10

#: Text that is printed in one-line messages and tables: no control characters, so no line breaks.
Line = Annotated[
    str, Field(strict=True, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$", max_length=400)
]
Tokens = Annotated[int, Field(strict=True, ge=0, le=MAX_TOKENS)]
PositiveTokens = Annotated[int, Field(strict=True, ge=1, le=MAX_TOKENS)]
Arrival = Annotated[
    Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True)],
    Field(ge=0, le=MAX_ARRIVAL),
    # The union hides the limits from the schema that pydantic derives.
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": MAX_ARRIVAL}),
]

# Strictness stands at the fields, since a strict class would refuse to be built from JSON objects.
_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)


class InfeasibleInstanceError(Exception):
    """A request needs more memory at its peak (prompt + output) than the worker has."""

    def __init__(self, name: str, memory: int, requests: list[Request]) -> None:
        first = requests[0]
        others = f" (and {len(requests) - 1} more requests)" if len(requests) > 1 else ""
        super().__init__(
            f"instance {name!r} is infeasible: request id {first.id} needs "
            f"{first.prompt} + {first.output} = {first.peak} tokens, memory is {memory}{others}"
        )
        self.request_ids = tuple(request.id for request in requests)


@dataclass(frozen=True, slots=True, config=_CONFIG)
class Request:
    """One request: an arrival (rounds or seconds), a prompt and an output (tokens).

    ``output_lower`` and ``output_upper`` (tokens) are the prediction interval that a policy
    which is not clairvoyant may use; both are given or neither.

    Raises pydantic.ValidationError if a field is missing, of a wrong type (booleans and floats are
    not integers) or out of range, or if the prediction interval does not contain the output.
    """

    id: Annotated[int, Field(strict=True, ge=0, le=MAX_ARRIVAL)]
    arrival: Arrival
    prompt: Tokens
    output: PositiveTokens
    output_lower: PositiveTokens | None = None
    output_upper: PositiveTokens | None = None

    @model_validator(mode="after")
    def _interval_contains_output(self) -> Request:
        if (self.output_lower is None) != (self.output_upper is None):
            raise ValueError("expected both output_lower and output_upper, found only one")
        lower = self.output if self.output_lower is None else self.output_lower
        upper = self.output if self.output_upper is None else self.output_upper
        if not lower <= self.output <= upper:
            raise ValueError(
                f"expected output_lower <= output <= output_upper, found "
                f"{lower}, {self.output}, {upper}"
            )
        return self

    @property
    def peak(self) -> int:
        """Tokens held while the last output token is made, s + o."""
        return self.prompt + self.output

    @property
    def volume(self) -> int:
        """Token-rounds held over the whole run, s·o + o(o+1)/2."""
        return self.prompt * self.output + self.output * (self.output + 1) // 2


@dataclass(frozen=True, config=_CONFIG)
class Instance:
    """A memory of M tokens and the requests that share it.

    Raises pydantic.ValidationError if a field is missing, of a wrong type or out of range, an id
    occurs twice, there is no request, or an arrival in rounds is not an integer;
    InfeasibleInstanceError if the peak of a request exceeds the memory.
    """

    name: Annotated[Line, Field(min_length=1)]
    memory: PositiveTokens
    # A long list is read up to its first fault.
    requests: Annotated[tuple[Request, ...], Field(min_length=1, fail_fast=True)]
    family: Line | None = None
    source: Line | None = None
    seed: Annotated[int, Field(strict=True)] | None = None
    time_unit: Literal["round", "second"] = "round"
    known_optimum: Annotated[int, Field(strict=True, ge=1)] | None = None
    known_optimum_reason: Line | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Instance:
        ids = [request.id for request in self.requests]
        if len(set(ids)) < len(ids):
            (twice, _), *_ = Counter(ids).most_common(1)
            raise ValueError(f"request id {twice} occurs twice, expected unique ids")
        arrivals = map(attrgetter("arrival"), self.requests)
        if self.time_unit == "round" and set(map(type, arrivals)) != {int}:
            each = next(each for each in self.requests if not isinstance(each.arrival, int))
            wrong = f"expected an integer round, found {each.arrival!r}"
            raise ValueError(f"request id {each.id}, field arrival: {wrong}")
        if (self.known_optimum is None) != (self.known_optimum_reason is None):
            raise ValueError("expected known_optimum and known_optimum_reason together")
        prompts = map(attrgetter("prompt"), self.requests)
        outputs = map(attrgetter("output"), self.requests)
        if max(map(add, prompts, outputs)) > self.memory:
            too_large = [request for request in self.requests if request.peak > self.memory]
            raise InfeasibleInstanceError(self.name, self.memory, too_large)
        return self

    def __len__(self) -> int:
        return len(self.requests)

    def __repr__(self) -> str:
        if len(self.requests) > _WRITTEN_OUT:
            return f"<Instance {self.name!r}: n = {len(self.requests)}, M = {self.memory} tokens>"
        return f"Instance({', '.join(f'{e.name}={getattr(self, e.name)!r}' for e in fields(self))})"

    @property
    def unit(self) -> TimeUnit:
        """The unit of its times."""
        return SECONDS if self.time_unit == "second" else ROUNDS

    @property
    def stated_optimum(self) -> int | None:
        """``known_optimum`` where its unit is known: what a file in seconds states has none."""
        return self.known_optimum if self.unit is ROUNDS else None

    @cached_property
    def arrivals(self) -> NDArray[np.int64]:
        """Arrival round of each request, shape (n,); for instances in rounds only."""
        if self.time_unit != "round":
            raise ValueError(f"instance {self.name!r} has arrivals in seconds, not in rounds")
        return self._column("arrival")

    @cached_property
    def arrival_times(self) -> NDArray[np.int64]:
        """Arrival of each request in seconds, as nanoseconds (half to even), shape (n,)."""
        if self.time_unit != "second":
            raise ValueError(f"instance {self.name!r} has arrivals in rounds, not in seconds")
        latest = max(self.requests, key=attrgetter("arrival"))
        if latest.arrival > MAX_SECONDS:
            raise ValueError(
                f"instance {self.name!r}: request id {latest.id} arrives at {latest.arrival} "
                f"seconds, expected at most {MAX_SECONDS}"
            )
        times = (round(request.arrival * NANOSECONDS) for request in self.requests)
        return np.fromiter(times, np.int64, len(self.requests))

    @cached_property
    def prompts(self) -> NDArray[np.int64]:
        """Prompt tokens of each request, shape (n,)."""
        return self._column("prompt")

    @cached_property
    def outputs(self) -> NDArray[np.int64]:
        """Output tokens of each request, shape (n,)."""
        return self._column("output")

    def _column(self, name: str) -> NDArray[np.int64]:
        return np.fromiter(map(attrgetter(name), self.requests), np.int64, len(self.requests))

    def memory_and_requests(self) -> dict[str, Any]:
        """Return the part of the instance file that determines its optimum."""
        return {"memory": self.memory, "requests": [as_record(r) for r in self.requests]}

    @cached_property
    def sha256(self) -> str:
        """Hash of memory and requests in canonical JSON (sorted keys, no spaces)."""
        digest = hashlib.sha256(b'{"memory":%d,"requests":[' % self.memory)
        for position in range(0, len(self.requests), _BATCH):
            separator = "," if position else ""
            records = _canonical(self.requests[position : position + _BATCH])
            digest.update((separator + records).encode())
        digest.update(b"]}")
        return digest.hexdigest()


def as_record(request: Request) -> dict[str, Any]:
    """Return the JSON object of one request, optional keys only where they are set."""
    record: dict[str, Any] = {
        "id": request.id,
        "arrival": request.arrival,
        "prompt": request.prompt,
        "output": request.output,
    }
    if request.output_lower is not None:
        record["output_lower"] = request.output_lower
        record["output_upper"] = request.output_upper
    return record


#: Requests that are written at once.
_BATCH = 1000


def _canonical(requests: Sequence[Request]) -> str:
    """Return requests in canonical JSON, by one format for all where all have the same keys."""
    if len({request.output_lower is None for request in requests}) > 1:
        records = map(as_record, requests)
        return ",".join(json.dumps(r, sort_keys=True, separators=(",", ":")) for r in records)
    names = sorted(as_record(requests[0]))
    # JSON writes integers and finite floats as Python does.
    form = "{" + ",".join(f'"{name}":%r' for name in names) + "}"
    values = chain.from_iterable(map(attrgetter(*names), requests))
    return ",".join(repeat(form, len(requests))) % tuple(values)
