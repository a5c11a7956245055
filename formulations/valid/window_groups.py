"""Window groups: of m requests that together overflow, at most m − 1 are in their windows."""

from dataclasses import dataclass

from formulations.valid.start_distances import separation
from instances import Instance

#: Group sizes; on am1 draws larger ones raised no LP bound.
SIZES = (2, 3)


@dataclass(frozen=True)
class WindowMember:
    """A member of a group: when it starts at p its window is [p − before, p + after), in rounds."""

    request: int
    before: int
    after: int


@dataclass(frozen=True)
class WindowGroup:
    """Members of which at most ``most`` are in their windows at any round, also below 0."""

    most: int
    members: tuple[WindowMember, ...]


def window_groups(instance: Instance, sizes: tuple[int, ...] = SIZES) -> list[WindowGroup]:
    """Return one group for each size m: at most m − 1 members are in their windows at a time.

    Members are positions in the instance.

    Proof.  Let s be the least prompt of the group, b_j = s_j − s, B_i the largest b of the other
    members, and let the window of i, when it starts at p_i, be [p_i − b_i, p_i + β_i) with

        β_i ≤ o_i − B_i   and   (m − 1)(β_i − 1) < s_i + m·o_i + (m − 1)·s − M.

    Suppose the windows of m members hold the round τ.  Write a_j = τ − p_j, so −b_j ≤ a_j < β_j,
    and let i be one that completes first, at c = p_i + o_i.  For every other j of the m,
    c − p_j = o_i − a_i + a_j ≥ (B_i + 1) − b_j ≥ 1, and c ≤ p_j + o_j, so all m hold memory at c.
    There j holds s_j + c − p_j = s_j + a_j + o_i − a_i ≥ s + o_i − a_i tokens, so together they
    hold at least s_i + o_i + (m − 1)(s + o_i − a_i) tokens.  By the second condition, and
    a_i ≤ β_i − 1, that is more than M.  So no feasible schedule has m windows at one round.

    Requests whose window is empty are left out, which may lengthen the windows of the others, and
    the group is computed anew until it stands.
    """
    groups = []
    for m in sizes:
        members = _standing(instance, m, list(range(len(instance))))
        if members:
            groups.append(WindowGroup(m - 1, tuple(members)))
    return groups


def exclusive_groups(instance: Instance) -> list[WindowGroup]:
    """Return groups of two (m = 2 above) whose members may not start together, any two of them.

    Each request seeds one greedy group, largest s + 2·o first; groups that repeat are left out.

    The windows are those of ``window_groups``, and so is the proof.  With d_ij > 0 the separation
    of i and j, the smaller of s_i + s_j + 2·o_i − M and o_i, they satisfy after_i + before_j ≤
    d_ij: the first splits without loss into a part of i and a part of j, only the cap o_i costs
    something.

    A window is no longer than its own output and that of another member, however many tokens there
    are: for the member i of the least prompt 0 < after_i ≤ o_i − before_j, so every before_j is
    less than o_i.
    """
    requests = instance.requests
    largest_first = sorted(
        range(len(requests)), key=lambda i: (-(requests[i].prompt + 2 * requests[i].output), i)
    )
    exclusive = {
        (i, j): separation(requests[i], requests[j], instance.memory) > 0
        for i in largest_first
        for j in largest_first
    }
    groups: dict[tuple[int, ...], WindowGroup] = {}
    for seed in largest_first:
        chosen = [seed]
        for j in largest_first:
            if j != seed and all(exclusive[i, j] for i in chosen):
                chosen.append(j)
        if members := _standing(instance, 2, chosen):
            key = tuple(sorted(member.request for member in members))
            groups[key] = WindowGroup(1, tuple(members))
    return list(groups.values())


def _standing(instance: Instance, m: int, chosen: list[int]) -> list[WindowMember]:
    """Return the chosen members with windows next to each other; none if fewer than m have."""
    requests = instance.requests
    while len(chosen) >= m:
        least = min(requests[i].prompt for i in chosen)
        by_prompt = sorted((requests[i].prompt - least for i in chosen), reverse=True)
        members = []
        for i in chosen:
            before = requests[i].prompt - least
            others = by_prompt[1] if before == by_prompt[0] else by_prompt[0]
            room = requests[i].prompt + m * requests[i].output + (m - 1) * least - instance.memory
            after = min(-(-room // (m - 1)), requests[i].output - others)
            if after > -before:
                members.append(WindowMember(i, before, after))
        if len(members) == len(chosen):
            return members
        chosen = [member.request for member in members]
    return []
