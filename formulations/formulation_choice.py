"""Formulation of an engine when the user names none."""

from collections.abc import Iterable

from formulations.formulation_registry import Kind
from formulations.valid.windows import start_windows
from instances import Instance

#: Entries up to which dense rows pay: HiGHS finds knapsack cuts in them, and window groups tighten
#: the relaxation.  Beyond, HiGHS solves only the sparse balances in useful time.
DENSE_UP_TO = 1_500_000


def default_formulation(kind: Kind, instances: Iterable[Instance]) -> str:
    """Return the formulation of a kind, with options, that suits instances solved one by one.

    That is ``cpsat``, ``layers`` for a search, ``bound-dual`` for bounds alone; of the integer
    programs ``ilp(groups=yes)``, or ``ilp-sparse`` where one of them is large.
    """
    small, large = defaults(kind)[0], defaults(kind)[-1]
    if small == large:
        return small
    dense = max(
        start_windows(each).entries(request.output + 1 for request in each.requests)
        for each in instances
    )
    return small if dense <= DENSE_UP_TO else large


def defaults(kind: Kind) -> tuple[str, ...]:
    """Return the default formulations of a kind, for small instances first."""
    alone = {"cp": "cpsat", "search": "layers", "bound": "bound-dual"}
    return (alone[kind],) if kind in alone else ("ilp(groups=yes)", "ilp-sparse")
