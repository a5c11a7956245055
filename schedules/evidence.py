"""The rule of evidence: what of the schedules, bounds and statements on an instance is believed.

Pure functions of plain values (TEL and bounds in rounds), which runs, sweeps, the registry of
best-known values and every table call.  In short:

- A checked schedule bounds OPT from above, unless it keeps tokens over an eviction.
- A bound counts unless its run was caught, by the word of a solver that the project knows; of any
  other method only what integers prove counts, whatever source its row names.
- A bound above a schedule is a contradiction.  Nobody knows which of the two is wrong, and nothing
  that needs a bound of that instance is concluded.
- A TEL is the optimum if two witnesses proved it that are *independent*: their solvers differ,
  their models share no code, and they argue differently (:class:`ProofArgument`).  The construction
  of an instance counts as a witness.  Two whose argument is one are counted apart, whatever their
  code: a gap in that argument would be in both (docs/best_known.md).
- The ``known_optimum`` of a file is a statement: it proves nothing, refuses nothing, and no gap is
  taken against it.  It is the construction only where the registry has that instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Literal, NamedTuple

from schedules.schedule import COVERED, EASIER, KEEPS_TOKENS_COVERED, OUTSIDE

Standing = Literal[
    "opt", "one argument", "one witness", "construction", "open", "none", "contradiction"
]

#: Words of the tables for each standing.  ``one argument``: two proofs share no code, but their
#: argument is one.  ``construction``: the optimum is known from there, but nobody has shown of a
#: schedule that it is optimal.
STANDINGS: dict[Standing, str] = {
    "opt": "known",
    "one argument": "one argument only",
    "one witness": "one proof only",
    "construction": "by construction",
    "open": "open",
    "none": "open",
    "contradiction": "contradiction",
}
CONSTRUCTION = "construction"
#: The source of a bound that is evaluated anew wherever it is taken as a proof.
VOLUMES = "volumes"
#: Sources of bounds in seconds that follow from the sizes, as that from volumes does in rounds.
AT_ONCE = ("alone", "work")
#: Sources of bounds that whoever has the instance can compute: no method's word is needed.
COMPUTED = (VOLUMES, *AT_ONCE)
#: Prefix of the kind of an evaluated certificate, in a source or a name.
CERTIFICATE = "certificate: "
#: Beginning of the detail of a run whose bound cannot be true, after its note on kept tokens.
CONTRADICTED = "contradicted: "
#: Begins the reason in the detail of a run that failed and has a schedule.
METHOD_FAILED = "the method failed: "
#: Beginning of the line on a stated optimum that is wrong.
MISSTATED = "the known_optimum that the instance's file states, "


class ProofArgument(StrEnum):
    """By what a bound is proved, whoever proves it; one idea is one argument, whatever its code."""

    BRANCH_AND_BOUND = "time-indexed formulation, branch and bound"
    CONSTRAINTS = "CP-SAT model"
    FORWARD_SETS = "forward search over started sets"
    FORWARD_COUNTS = "forward dynamic programming over counts"
    BIDIRECTIONAL = "forward search bounded by backward dynamic programming"
    BACKWARD = "backward dynamic programming with state-space relaxation"
    MEMORY_PRICES = "Lagrangian multipliers on memory"
    PARTS = "sum over parts between idle gaps"
    #: Argument of the area bound, of the bound by lanes (parallel machines), and of the library's
    #: constructions: they count which requests fit together.
    AREA = "area and parallel-machine bound"


#: Further arguments of a bound: the sum over parts rests on a certificate for each part, and a
#: bidirectional search on both of its directions.
_RESTS_ON: dict[ProofArgument, frozenset[ProofArgument]] = {
    ProofArgument.BIDIRECTIONAL: frozenset({ProofArgument.FORWARD_SETS, ProofArgument.BACKWARD}),
    ProofArgument.PARTS: frozenset(
        {ProofArgument.AREA, ProofArgument.MEMORY_PRICES, ProofArgument.BACKWARD}
    ),
}


class BoundStatement(NamedTuple):
    """A bound on OPT (rounds), and whose it is."""

    value: int
    by: str


class BoundContradiction(NamedTuple):
    """Two statements that cannot both be true: ``lower`` is more than ``upper``."""

    lower: BoundStatement
    upper: BoundStatement


@dataclass(frozen=True)
class Witness:
    """One that proved that no TEL is below ``value`` (rounds).

    ``name`` is a method of an engine or of a certificate; ``model_code`` the modules of its model
    without instance and checker; ``certificate`` the kind of one that was evaluated, else empty.
    """

    name: str
    value: int
    solver: str
    model_code: frozenset[str]
    argument: ProofArgument
    certificate: str = ""

    def shares_no_code(self, other: Witness) -> bool:
        """Return whether the solvers differ and the models have no code in common."""
        return self.solver != other.solver and not self.model_code & other.model_code

    def independent(self, other: Witness) -> bool:
        """Return whether neither code nor argument is shared."""
        return self.shares_no_code(other) and not self.arguments & other.arguments

    @property
    def arguments(self) -> frozenset[ProofArgument]:
        """All arguments that it may rest on."""
        return _RESTS_ON.get(self.argument, frozenset()) | {self.argument}


@dataclass(frozen=True)
class OptimumVerdict:
    """Verdict on an optimum, its reason, and what several proofs ``shared`` that count as one."""

    standing: Standing
    reason: str
    shared: str = ""

    @property
    def opt(self) -> bool:
        """Return whether the best schedule counts as optimal."""
        return self.standing == "opt"


def keeps_tokens(detail: str, *, may_keep: bool, kept: bool | None = None) -> bool:
    """Return whether the schedule of a run is no upper bound, as it is easier or may be.

    ``detail`` begins with what makes it easier where the run said so; ``kept`` is what the stored
    schedule shows, None without one.
    """
    return detail.startswith(EASIER) or (may_keep and kept is not False)


def bounds_hold(detail: str, kept: bool) -> bool:
    """Return whether bounds are about the schedule of a run, which may have ``kept`` tokens.

    In seconds, where prefilling tokens anew is no shortcut
    (``serving.bounds.loads.not_covered``), its detail says so first.
    """
    return not kept or detail.startswith(KEEPS_TOKENS_COVERED)


def is_bound_believed(
    status: str, detail: str, source: str, *, word: bool, proved: bool | None = None
) -> bool:
    """Return whether the bound of a run counts; of one caught at something wrong it does not.

    A wrong file is not the run's fault.  ``source`` is what the bound rests on; ``word`` says
    whether the method's report counts, ``proved`` whether integers prove it (None: nobody
    looked).
    """
    if status == "refused":
        return False
    if status == "error" and not _of_the_run(detail).startswith(MISSTATED):
        return False
    if source.startswith(CERTIFICATE):
        return proved is True
    return proved is not False if source in COMPUTED else word


def names_proof(source: str) -> bool:
    """Return whether a source names what can be evaluated, and no method's word."""
    return source in COMPUTED or source.startswith(CERTIFICATE)


def proves_method_wrong(status: str, detail: str) -> bool:
    """Return whether a run by itself proves its method wrong."""
    return status == "refused" or _of_the_run(detail).startswith(CONTRADICTED)


def _of_the_run(detail: str) -> str:
    for easier in EASIER:
        for note in (OUTSIDE, COVERED):
            detail = detail.removeprefix(f"{easier}{note}; ")
    return detail


def contradictions(
    uppers: Iterable[BoundStatement], lowers: Iterable[BoundStatement]
) -> list[BoundContradiction]:
    """Return every lower bound that exceeds the least upper one, the greatest first."""
    least = min(uppers, key=lambda each: each.value, default=None)
    if least is None:
        return []
    wrong = [BoundContradiction(each, least) for each in lowers if each.value > least.value]
    return sorted(wrong, key=lambda each: -each.lower.value)


def own_contradiction(upper: int | None, lower: int | None, source: str) -> str:
    """Return one line if the bound of a run exceeds its checked TEL, else nothing."""
    if upper is None or lower is None or lower <= upper:
        return ""
    return f"lower bound {lower} ({source}) exceeds the run's own checked TEL, {upper}"


def misstatement(stated: int, upper: int | None, certified: int) -> str:
    """Return one line if the optimum that an instance's file states is wrong, else nothing.

    ``upper`` is of a checked schedule that keeps no tokens, ``certified`` what integers prove.
    """
    wrong = f"{MISSTATED}{stated}, is wrong"
    if upper is not None and upper < stated:
        return f"{wrong}: a checked schedule has TEL {upper}"
    return f"{wrong}: no TEL is below the certified bound {certified}" * (certified > stated)


def judge(
    upper: int | None,
    lower: int | None,
    witnesses: Sequence[Witness] = (),
    *,
    construction: int | None = None,
) -> OptimumVerdict:
    """Judge the evidence on the optimum of an instance.

    ``upper`` is the least TEL that counts, ``lower`` the greatest believed bound; only witnesses
    that reach ``upper`` count.  ``construction`` is of the registry.
    """
    above = [value for value in (upper, construction) if value is not None]
    below = [value for value in (lower, construction) if value is not None]
    if above and below and max(below) > min(above):
        return OptimumVerdict("contradiction", f"lower bound {max(below)} exceeds {min(above)}")
    if upper is not None and upper in (lower, construction):
        return _closed([each for each in witnesses if each.value == upper], construction)
    if construction is not None:
        return OptimumVerdict("construction", "open")
    return OptimumVerdict("none" if upper is None else "open", "open")


def _closed(witnesses: Sequence[Witness], construction: int | None) -> OptimumVerdict:
    """Decide by what a schedule that the best bound meets counts as optimal."""
    found = sorted(witnesses, key=lambda each: bool(each.certificate))
    if construction is not None:
        built = Witness(CONSTRUCTION, construction, CONSTRUCTION, frozenset(), ProofArgument.AREA)
        found.append(built)
    names = list(dict.fromkeys(each.name for each in found))
    if not names:
        return OptimumVerdict("one witness", "one solver-reported bound only")
    if names == [CONSTRUCTION]:
        return OptimumVerdict("construction", "by construction alone")
    if pair := independent_pair(found):
        return OptimumVerdict("opt", _by(pair, found))
    for one, other in combinations(found, 2):
        if one.shares_no_code(other):
            both = f"{one.argument} ({one.name}, {other.name})"
            return OptimumVerdict("one argument", f"one argument only: {both}", _shared(found))
    return OptimumVerdict("one witness", f"one proof only: {', '.join(names)}", _shared(found))


def _shared(found: Sequence[Witness]) -> str:
    """Return the shared part of each two of some witnesses, none independent."""
    pairs = []
    by_name = sorted({each.name: each for each in found}.items())
    for (_, one), (_, other) in combinations(by_name, 2):
        what = ["the solver"] if one.solver == other.solver else []
        what += ["code of the model"] if one.model_code & other.model_code else []
        common = sorted(one.arguments & other.arguments)
        what += [f"the argument ({', '.join(common)})"] if common else []
        pairs.append(f"{one.name} and {other.name} share {' and '.join(what)}")
    return "; ".join(pairs)


def _by(pair: tuple[Witness, Witness], found: Sequence[Witness]) -> str:
    """Return by what an optimum is proved: by a certificate, if there is one, and besides it."""
    certified = [each.certificate for each in found if each.certificate]
    solvers = [each.name for each in pair if not each.certificate and each.name != CONSTRUCTION]
    parts = [
        *(f"certified ({kind})" for kind in certified[:1]),
        *(["by construction"] if CONSTRUCTION in (each.name for each in pair) else []),
        *([f"solver-reported by {' and '.join(solvers)}"] if solvers else []),
    ]
    return ", ".join(parts)


def independent_pair(witnesses: Iterable[Witness]) -> tuple[Witness, Witness] | None:
    """Return the first two witnesses that share neither code nor argument, or None."""
    return next((pair for pair in combinations(witnesses, 2) if pair[0].independent(pair[1])), None)
