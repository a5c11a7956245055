"""The optimum by best-first search over rounds: every set of starts, no cut, no horizon."""

from heapq import heappop, heappush
from itertools import count

from instances import Instance

#: The round, the requests not started, the tokens held at the times after it.
State = tuple[int, int, tuple[int, ...]]


def best_first_optimum(
    instance: Instance, most_states: int = 100_000
) -> tuple[int, tuple[int, ...]] | None:
    """Return the least TEL (rounds) and start rounds that attain it; None beyond so many states.

    It shares nothing with ``brute_force``, which places one request after the other: a state has
    the tokens held from a round on, and every set of arrived requests that fits may start in it.
    States are taken by their latency so far plus the least latency of all others.  That never
    exceeds the truth and never falls along a way, so the first state without a request left is
    optimal, and the first way to a state is the cheapest.  Rounds in which no request has arrived
    are passed over; no other argument is used.
    """
    requests = [(int(r.arrival), r.prompt, r.output) for r in instance.requests]
    memory = instance.memory
    everyone = range(len(requests))

    def still(now: int, left: int) -> int:
        return sum(
            max(now, requests[i][0]) + requests[i][2] - requests[i][0]
            for i in everyone
            if left >> i & 1
        )

    def choices(now: int, left: int, held: tuple[int, ...], first: int) -> list[tuple[int, ...]]:
        """Return the sets of requests from ``first`` on that can start now, the empty one first."""
        found: list[tuple[int, ...]] = [()]
        for i in range(first, len(requests)):
            arrival, prompt, output = requests[i]
            if left >> i & 1 and arrival <= now:
                after = _added(held, prompt, output)
                if max(after[:output]) <= memory:
                    found += [(i, *others) for others in choices(now, left, after, i + 1)]
        return found

    begin = min(arrival for arrival, _, _ in requests)
    root: State = (begin, (1 << len(requests)) - 1, ())
    ticket = count()
    queue: list[tuple[int, int, int, State, State | None, tuple[int, ...]]] = []
    heappush(queue, (still(begin, root[1]), next(ticket), 0, root, None, ()))
    came: dict[State, tuple[State | None, tuple[int, ...]]] = {}
    while queue and len(came) < most_states:
        _, _, latency, state, parent, started = heappop(queue)
        if state in came:
            continue
        came[state] = (parent, started)
        now, left, held = state
        if not left:
            return latency, _starts(len(requests), state, came)
        for chosen in choices(now, left, held, 0):
            after, rest, cost = held, left, latency
            for i in chosen:
                arrival, prompt, output = requests[i]
                after = _added(after, prompt, output)
                rest &= ~(1 << i)
                cost += now + output - arrival
            then = now + 1
            waiting = [requests[i][0] for i in everyone if rest >> i & 1]
            if waiting and min(waiting) > then:
                then = min(waiting)
            following: State = (then, rest, after[then - now :])
            estimate = cost + still(then, rest)
            heappush(queue, (estimate, next(ticket), cost, following, state, chosen))
    return None


def _added(held: tuple[int, ...], prompt: int, output: int) -> tuple[int, ...]:
    """Return the tokens held at the next times with one more request from now on."""
    longer = held + (0,) * (output - len(held))
    return tuple(
        tokens + prompt + j if j <= output else tokens for j, tokens in enumerate(longer, start=1)
    )


def _starts(
    n: int, state: State, came: dict[State, tuple[State | None, tuple[int, ...]]]
) -> tuple[int, ...]:
    starts = [0] * n
    parent, started = came[state]
    while parent is not None:
        for i in started:
            starts[i] = parent[0]
        parent, started = came[parent]
    return tuple(starts)
