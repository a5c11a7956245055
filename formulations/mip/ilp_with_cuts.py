"""``ilp`` with clique inequalities as rows of starts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from formulations.mip import ilp
from formulations.mip.integer_program import Model, weighted
from formulations.valid.window_groups import WindowGroup, exclusive_groups
from formulations.valid.windows import Windows
from instances import Instance


@dataclass(frozen=True)
class IlpOptions:
    """Options: strengthenings of ``ilp``."""

    groups: Annotated[bool, "clique inequalities of exclusive requests"] = False


def build_model(instance: Instance, windows: Windows, options: IlpOptions) -> Model:
    """Return ``ilp``, with ``groups`` and rows of starts of which at most one is made.

    The starts are those whose windows hold one round; groups, windows and the proof that every
    feasible schedule satisfies the rows are in ``formulations.valid.window_groups``.
    """
    import pyomo.environ as pyo

    model = ilp.build_model(instance, windows)
    model.group = pyo.ConstraintList()
    for group in exclusive_groups(instance) if options.groups else ():
        for starts in _largest_rows(windows, group):
            model.group.add(weighted(dict.fromkeys(starts, 1), model.x) <= group.most)
    return model


def _largest_rows(windows: Windows, group: WindowGroup) -> Iterator[list[tuple[int, int]]]:
    """Yield the starts whose windows hold one round, for each round whose row no other implies.

    Going through the rounds a row only grows until a window closes, so the last round before one
    closes has the row that implies those since the last such round.  The number of rows is at most
    that of starts, and no round is looked at in which nothing opens or closes.
    """
    events = []
    for member in group.members:
        i = member.request
        for start in windows.rounds(i):
            # A window does not hold the round in which it closes.
            events.append((start + member.after, False, (i, start)))
            events.append((start - member.before, True, (i, start)))
    inside: dict[tuple[int, int], None] = {}
    grown = False
    for _, opens, key in sorted(events):
        if opens:
            inside[key] = None
            grown = True
            continue
        if grown and len({i for i, _ in inside}) > 1:
            yield list(inside)
        del inside[key]
        grown = False


FORMULATION = replace(
    ilp.FORMULATION, build=build_model, options=IlpOptions, strengthens=ilp.FORMULATION
)
