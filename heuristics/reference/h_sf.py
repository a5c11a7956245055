"""The policies of C that cancel nothing: H-SF, A_max, A_random; in every round a largest batch.

C prints no line numbers; these count the lines from the loop on.
"""

from collections.abc import Callable, Mapping, Sequence

from heuristics.reference.tokens_held import outputs_of, within_always
from instances import Instance
from schedules import Schedule, make_schedule


def h_sf(instance: Instance) -> Schedule:
    """C Algorithm 3, H-SF: with the true outputs, shortest first.

    Line 3 asks for a largest set; with equal prompts the shortest waiting requests are one.
    """
    o = outputs_of(instance)
    a = [request.arrival for request in instance.requests]
    order = sorted(range(len(instance)), key=lambda i: (o[i], a[i], i))
    return make_schedule(instance, largest_batches(instance, order, o), "h-sf")


def a_max(
    instance: Instance, upper: Sequence[int], draw: Callable[[], float], order: str
) -> Schedule:
    """C Algorithm 1, A_max: take all o_i = u, as many as fit, drawn at random.

    C draws anew in each round among requests that are alike; this is one random order of all, or
    with ``order="upper"`` one in which smaller u_i come first.
    """
    by_number = permutation(len(instance), draw)
    queue = sorted(by_number, key=upper.__getitem__) if order == "upper" else by_number
    return make_schedule(instance, largest_batches(instance, queue, upper), "a-max")


def a_random(instance: Instance, draw: Callable[[], float]) -> Schedule:
    """C Algorithm 4, A_random: each round takes what fits of a permutation of all."""
    starts = largest_batches(instance, permutation(len(instance), draw), outputs_of(instance))
    return make_schedule(instance, starts, "a-random")


def permutation(n: int, draw: Callable[[], float]) -> list[int]:
    """Return 0..n−1 in the order of n random numbers."""
    numbers = [draw() for _ in range(n)]
    return sorted(range(n), key=numbers.__getitem__)


def largest_batches(instance: Instance, order: Sequence[int], believed: Sequence[int]) -> list[int]:
    """Return start rounds where every round starts the longest prefix that (3) allows.

    ``order`` has all positions; (3) believes in the outputs ``believed`` (tokens).
    """
    o = outputs_of(instance)
    p: dict[int, int] = {}  # start rounds
    R = list(order)
    t = 0
    while R:  # 1: while there exist waiting requests do
        S = {j: start for j, start in p.items() if start + o[j] > t}  # 2: R_t waits, S_t runs
        arrived = [i for i in R if instance.requests[i].arrival <= t]
        I_t = largest_prefix(instance, S, arrived, believed, t)  # 3: largest I_t ⊂ R_t with (3)
        p |= dict.fromkeys(I_t, t)  # 4: process I_t ∪ S_t
        R = [i for i in R if i not in I_t]  # R_{t+1} = R_t \ I_t
        t += 1
    return [p[i] for i in range(len(instance))]


def largest_prefix(
    instance: Instance,
    active: Mapping[int, int],
    candidates: Sequence[int],
    believed: Sequence[int],
    now: int,
) -> list[int]:
    """Return the longest prefix of the candidates for which (3) holds at every t' > now."""
    for size in range(len(candidates), 0, -1):
        trial = dict(active) | dict.fromkeys(candidates[:size], now)
        if within_always(instance, trial, believed, now):
            return list(candidates[:size])
    return []
