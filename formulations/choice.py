"""Which formulation an engine gets when the user names none."""

from __future__ import annotations

from formulations.windows import Windows
from instances import Instance

#: Up to this many entries the dense rows pay: HiGHS finds knapsack cuts in them, and the window
#: cliques tighten the relaxation.  Beyond, only the sparse balances can be solved in useful time.
DENSE_UP_TO = 1_500_000


def default_formulation(solver: str, instance: Instance, windows: Windows) -> str:
    """Return ``cpsat``, ``layers``, ``bound-dual`` for bounds alone, else an integer program.

    That is ``ilp-strong``, or ``ilp-sparse`` for large instances.
    """
    small, large = defaults(solver)[0], defaults(solver)[-1]
    if small == large:
        return small
    dense_entries = sum(
        (last - first + 1) * (request.output + 1)
        for first, last, request in zip(
            windows.earliest, windows.latest, instance.requests, strict=True
        )
    )
    return small if dense_entries <= DENSE_UP_TO else large


def defaults(solver: str) -> tuple[str, ...]:
    """Return what a solver's default formulation can be, that of small instances first."""
    alone = {"cpsat": "cpsat", "search": "layers", "bound": "bound-dual"}
    return (alone[solver],) if solver in alone else ("ilp-strong", "ilp-sparse")
