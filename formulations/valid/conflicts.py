"""Groups of requests of which at most one may be in its window at any time."""

from __future__ import annotations

from formulations.valid.groups import Windowed
from formulations.valid.separation import separation
from instances import Instance


def window_cliques(instance: Instance) -> list[list[Windowed]]:
    """Return groups of pairwise exclusive requests with windows that never overlap.

    Requests are positions in the instance.  Each request seeds one greedy group, largest
    s + 2·o first; groups that repeat are left out.

    Proof.  Let d_ij > 0 be the separation of i and j: every start of j that is 0..d_ij − 1 rounds
    after one of i overflows memory, for every pair of the group both ways.  The windows satisfy
    after_i + before_j ≤ d_ij.  If i starts at u, j at v and both windows hold some round, then
    v − before_j < u + after_i and u − before_i < v + after_j, so v − u < d_ij and u − v < d_ji,
    and the pair overflows.  So in a feasible schedule no round is in two windows of a group.

    With before_i = s_i − min s the separations s_i + s_j + 2·o_i − M split without loss into a
    part of i and a part of j; only the cap d_ij ≤ o_i costs something.

    Members whose window is empty are left out, which may lengthen the windows of the others, and
    the windows are computed anew until they stand.  Then a window is no longer than its own output
    and that of another member, however many tokens there are: for the member i of the least prompt
    0 < after_i ≤ o_i − before_j, so every before_j is less than o_i.
    """
    requests = instance.requests
    largest_first = sorted(
        range(len(requests)), key=lambda i: (-(requests[i].prompt + 2 * requests[i].output), i)
    )
    apart = {
        (i, j): separation(requests[i], requests[j], instance.memory)
        for i in largest_first
        for j in largest_first
        if i != j
    }
    groups: dict[tuple[int, ...], list[Windowed]] = {}
    for seed in largest_first:
        chosen = [seed]
        for j in largest_first:
            if j != seed and all(apart[i, j] > 0 for i in chosen):
                chosen.append(j)
        members = _standing(instance, chosen, apart)
        if members:
            groups[tuple(sorted(member.request for member in members))] = members
    return list(groups.values())


def _standing(
    instance: Instance, chosen: list[int], apart: dict[tuple[int, int], int]
) -> list[Windowed]:
    """Return the members that have windows beside each other; none if there are not two."""
    while len(chosen) > 1:
        least = min(instance.requests[i].prompt for i in chosen)
        before = {i: instance.requests[i].prompt - least for i in chosen}
        members = [
            Windowed(i, before[i], min(apart[i, j] - before[j] for j in chosen if j != i))
            for i in chosen
        ]
        kept = [member for member in members if member.before + member.after > 0]
        if len(kept) == len(members):
            return members
        chosen = [member.request for member in kept]
    return []
