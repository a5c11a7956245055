"""What the registry holds of an instance."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

from instances.model import Line

SCHEMA = "kvopt.best_known/1"

_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)
Rounds = Annotated[int, Field(strict=True, ge=0)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
#: Below ``best_known/``, and nowhere else.
ProofPath = Annotated[
    str, Field(pattern=r"^(schedules|bounds)/[^/\\\x00-\x1f\x7f-\x9f\u2028\u2029]+\.json$")
]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


@dataclass(frozen=True, config=_CONFIG)
class Value:
    """A bound on the optimum and where it comes from.

    Attributes
    ----------
    value
        TEL of a schedule, or an integer that no TEL is below (rounds).
    method, seed
        Of the run, as in ``highs:ilp-sparse``; ``volumes`` and ``construction`` need none.
    source
        What found the schedule, or what the bound rests on, in the run's own words.
    solver
        Name and version, empty where none was used.
    kvopt, git_commit
        Version and commit of the sources that ran.
    date
        UTC day on which the run ended.
    seconds
        Wall clock of the run.
    certificate
        File below ``instances/best_known/``: the schedule, or what proves the bound when it is
        evaluated; None for a bound that rests on an engine's search or on a proof in words.
    """

    value: Rounds
    method: Line
    source: Line
    date: Day
    seconds: Annotated[float, Field(ge=0)]
    seed: int | None = None
    solver: Line = ""
    kvopt: Line = ""
    git_commit: Line = ""
    certificate: ProofPath | None = None


@dataclass(frozen=True, config=_CONFIG)
class Step:
    """A value that was the best of its time."""

    value: Rounds
    method: Line
    date: Day


@dataclass(frozen=True, config=_CONFIG)
class History:
    """The best values of the past, the present ones last."""

    upper: tuple[Step, ...]
    lower: tuple[Step, ...]


@dataclass(frozen=True, config=_CONFIG)
class Entry:
    """All that is known of one instance.

    Attributes
    ----------
    instance, file, sha256, n, memory
        Its name, its file below ``instances/``, its hash, requests and tokens.
    opt
        Whether ``upper`` is the optimum by the rule of evidence (:mod:`schedules.evidence`).
    reason
        By what the optimum counts as proved, or why not.
    upper
        The best checked schedule.
    lower
        The best bound.
    certified
        The best bound that a certificate proves, where that is another one.
    proofs
        Runs in which an engine proved the TEL of ``upper`` optimal, one a model.
    history
        What ``upper`` and ``lower`` were before.
    """

    instance: Line
    file: Line
    sha256: Digest
    n: Annotated[int, Field(strict=True, ge=1)]
    memory: Annotated[int, Field(strict=True, ge=1)]
    opt: bool
    reason: Line
    upper: Value
    lower: Value
    history: History
    certified: Value | None = None
    proofs: tuple[Value, ...] = ()

    @property
    def on_words(self) -> bool:
        """Whether it counts as the optimum without a certificate that reaches it."""
        return self.opt and self.lower.certificate is None

    @property
    def gap(self) -> float:
        """(UB − LB) / UB."""
        return (self.upper.value - self.lower.value) / self.upper.value if self.upper.value else 0.0


@dataclass(frozen=True, config=_CONFIG)
class Registry:
    """The entries of the library's instances, in the library's order.

    ``digest`` is the SHA-256 of the entries as :func:`kvopt.best_known.files.digest` writes them.
    """

    digest: Digest
    instances: tuple[Entry, ...]


ENTRIES = TypeAdapter(tuple[Entry, ...])
REGISTRY = TypeAdapter(Registry)


def registry_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``kvopt.best_known/1``, derived from the validated classes."""
    schema = REGISTRY.json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = SCHEMA
    schema["properties"] = {"schema": {"const": SCHEMA}} | schema["properties"]
    schema["required"] = ["schema", *schema["required"]]
    return schema
