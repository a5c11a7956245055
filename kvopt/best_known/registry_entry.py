"""Entries of the registry: values of an instance that runs and certificates have shown."""

from datetime import UTC, date, datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, model_validator
from pydantic.dataclasses import dataclass

from instances.instance import Line
from schedules.evidence import CONSTRUCTION, VOLUMES, Standing
from schedules.gap import gap

SCHEMA = "kvopt.best_known/2"

#: File of the ladder's rows, below ``instances/``.
LADDER_FILE = "ladder.csv"
#: The method of a schedule from outside, whose ``found_by`` is what its file says.
SUBMITTED = "submitted"
#: Sources of values without a method: the construction, the sizes, and a schedule from outside.
NO_METHODS = (CONSTRUCTION, VOLUMES, SUBMITTED)

_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)
#: A long list is read up to its first fault.
_FIRST_FAULT = Field(fail_fast=True)
Rounds = Annotated[int, Field(strict=True, ge=0, lt=1 << 63)]
Count = Annotated[int, Field(strict=True, ge=1)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
#: Name of an instance and of its files, which leads to no other folder.
Name = Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f\x7f-\x9f\u2028\u2029]+$")]


def today() -> str:
    """Return the current day (UTC)."""
    return datetime.now(UTC).date().isoformat()


_ISO = AfterValidator(lambda text: date.fromisoformat(text).isoformat())
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$"), _ISO]
CertificateKind = Literal["volumes", "prices", "sweep", "parts"]


@dataclass(frozen=True, config=_CONFIG, kw_only=True)
class EntryValue:
    """A value of a run: a TEL, or an integer that no TEL is below (rounds).

    The date is the UTC day of the run's end, ``solver`` the name and version of its one engine.
    """

    value: Rounds
    method: Line
    date: Day
    seconds: Annotated[float, Field(ge=0)]
    seed: Annotated[int, Field(strict=True)] | None = None
    solver: Line = ""
    kvopt: Line = ""
    git_commit: Line = ""


@dataclass(frozen=True, config=_CONFIG, kw_only=True)
class UpperValue(EntryValue):
    """The TEL of a checked schedule; ``found_by`` names its finder in the run's words."""

    found_by: Line

    @property
    def by(self) -> str:
        """Method; for a schedule from outside with its finder."""
        outside = self.method == SUBMITTED and self.found_by
        return f"{self.method}: {self.found_by}" if outside else self.method


@dataclass(frozen=True, config=_CONFIG, kw_only=True)
class CertifiedBound(EntryValue):
    """A bound that a certificate proves; ``certificate`` is its kind."""

    kind: Literal["certified"] = "certified"
    certificate: CertificateKind


@dataclass(frozen=True, config=_CONFIG, kw_only=True)
class ReportedBound(EntryValue):
    """A bound that a solver or a search of ours reports; ``source`` is its support."""

    source: Line


@dataclass(frozen=True, config=_CONFIG, kw_only=True)
class _Above:
    """A bound that no file proves, above the best one that a certificate does."""

    value: Rounds
    certified: CertifiedBound

    @model_validator(mode="after")
    def _exceeds(self) -> Self:
        if self.value <= self.certified.value:
            raise ValueError(f"expected more than certified {self.certified.value}: {self.value}")
        return self


@dataclass(frozen=True, config=_CONFIG, kw_only=True)
class SolverReportedBound(_Above, ReportedBound):
    """A reported bound, and the best certified one, which is less."""

    kind: Literal["solver-reported"] = "solver-reported"


@dataclass(frozen=True, config=_CONFIG, kw_only=True)
class ConstructedOptimum(_Above):
    """The optimum by the instance's construction, and the best certified bound, which is less."""

    kind: Literal["construction"] = "construction"
    date: Day

    @property
    def method(self) -> str:
        """Method, as of a run."""
        return CONSTRUCTION

    @property
    def seconds(self) -> float:
        """Return no seconds: no run made it."""
        return 0.0


Lower = Annotated[
    CertifiedBound | SolverReportedBound | ConstructedOptimum, Field(discriminator="kind")
]


@dataclass(frozen=True, config=_CONFIG, kw_only=True)
class OptimumProof(EntryValue):
    """A run whose search proved ``upper`` optimal; ``made_by`` is the digest of its support."""

    made_by: Annotated[str, Field(pattern=r"^([0-9a-f]{16})?$")]


@dataclass(frozen=True, config=_CONFIG)
class HistoryStep:
    """A value that was the best of its time."""

    value: Rounds
    method: Line
    date: Day


@dataclass(frozen=True, config=_CONFIG)
class History:
    """The best values of the past, the present ones last."""

    upper: Annotated[tuple[HistoryStep, ...], _FIRST_FAULT]
    lower: Annotated[tuple[HistoryStep, ...], _FIRST_FAULT]

    @property
    def steps(self) -> list[tuple[str, HistoryStep]]:
        """All steps with their sides, the oldest first."""
        both = (("upper", self.upper), ("lower", self.lower))
        found = [(side, step) for side, steps in both for step in steps]
        return sorted(found, key=lambda each: each[1].date)


@dataclass(frozen=True, config=_CONFIG)
class RegistryEntry:
    """Record of one instance: name, file below ``instances/``, hash, requests, tokens.

    ``standing`` is the verdict on the optimum by the rule of evidence (:mod:`schedules.evidence`),
    with its ``reason``.  ``upper`` is the best checked schedule, ``lower`` the best bound,
    ``history`` has earlier values, ``proofs`` one run a method.
    """

    instance: Name
    file: Line
    sha256: Digest
    n: Count
    memory: Count
    standing: Standing
    reason: Line
    upper: UpperValue
    lower: Lower
    history: History
    proofs: Annotated[tuple[OptimumProof, ...], _FIRST_FAULT] = ()

    @property
    def opt(self) -> bool:
        """Return whether two independent proofs show that ``upper`` is the optimum."""
        return self.standing == "opt"

    @property
    def certified(self) -> CertifiedBound:
        """The best bound that a certificate proves."""
        return self.lower if isinstance(self.lower, CertifiedBound) else self.lower.certified

    @property
    def reported_only(self) -> bool:
        """Return whether the bound or the optimum rests on a solver's report alone."""
        uncertified = not isinstance(self.lower, CertifiedBound)
        return isinstance(self.lower, SolverReportedBound) or (self.opt and uncertified)

    @property
    def rests_on(self) -> str:
        """Return the uncertified support of a bound."""
        solver = isinstance(self.lower, SolverReportedBound)
        return f"solver-reported by {self.lower.method}" if solver else "by construction"

    @property
    def gap(self) -> float:
        """(UB − LB) / UB."""
        return gap(self.upper.value, self.lower.value)


@dataclass(frozen=True, config=_CONFIG)
class Registry:
    """The entries in the library's order, and :func:`kvopt.best_known.registry_files.digest`."""

    digest: Digest
    instances: Annotated[tuple[RegistryEntry, ...], _FIRST_FAULT]


ENTRIES = TypeAdapter(tuple[RegistryEntry, ...])
REGISTRY = TypeAdapter(Registry)
