"""Which formulation an engine gets when the user names none."""

from __future__ import annotations

from formulations.registry import Kind
from formulations.valid.windows import Windows
from instances import Instance

#: Up to this many entries the dense rows pay: HiGHS finds knapsack cuts in them, and the window
#: cliques tighten the relaxation.  Beyond, only the sparse balances can be solved in useful time.
DENSE_UP_TO = 1_500_000


def default_formulation(kind: Kind, instance: Instance, windows: Windows) -> str:
    """Return the formulation of a kind that suits the size of an instance.

    That is ``cpsat``, ``layers`` for a search, ``bound-dual`` for bounds alone; of the integer
    programs ``ilp-strong``, or ``ilp-sparse`` for large instances.
    """
    small, large = defaults(kind)[0], defaults(kind)[-1]
    if small == large:
        return small
    dense_entries = sum(
        (last - first + 1) * (request.output + 1)
        for first, last, request in zip(
            windows.earliest, windows.latest, instance.requests, strict=True
        )
    )
    return small if dense_entries <= DENSE_UP_TO else large


def defaults(kind: Kind) -> tuple[str, ...]:
    """Return what the default formulation of a kind can be, that of small instances first."""
    alone = {"cp": "cpsat", "search": "layers", "bound": "bound-dual"}
    return (alone[kind],) if kind in alone else ("ilp-strong", "ilp-sparse")
