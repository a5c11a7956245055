"""Sweeps by the definition: all sets of running requests, nothing dropped, no code of the project.

Kinds are (arrival, prompt, output) in increasing order.  Multipliers are paid at completion.  A
base may hold any number of a kind, but a strict kind once; at a time no more of a kind complete
than there are requests.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from instances import Instance

Kind = tuple[int, int, int]
#: A running request: its kind, and rounds since its start.
Running = tuple[int, int]
Base = tuple[Running, ...]


Numbers = Sequence[int]


def least_proved(
    instance: Instance, prices: Numbers, unit: int, multipliers: Numbers, strict: Numbers
) -> int:
    """Return the largest value that a sweep under prices on memory proves, at least 0."""
    number = Counter((int(r.arrival), r.prompt, r.output) for r in instance.requests)
    kinds = sorted(number)
    counts = [number[kind] for kind in kinds]
    last = max(a for a, _, _ in kinds) + sum(r.output for r in instance.requests) + len(prices)

    def price(t: int) -> int:
        return prices[t] if 0 < t < len(prices) else 0

    def pays(base: Base, t: int) -> int:
        return price(t) * sum(kinds[g][1] + age for g, age in base)

    def fits(base: Base) -> bool:
        ends = {kinds[g][2] - age for g, age in base}
        return all(
            sum(kinds[g][1] + age + e for g, age in base if kinds[g][2] - age >= e)
            <= instance.memory
            for e in ends
        )

    @cache
    def most_tokens() -> int:
        """Return the most tokens that requests which can run together hold."""
        states = [(g, age) for g, kind in enumerate(kinds) for age in range(1, kind[2] + 1)]
        best = 0
        waiting: list[tuple[Base, int]] = [((), 0)]
        while waiting:
            base, first = waiting.pop()
            best = max(best, sum(kinds[g][1] + age for g, age in base))
            for k in range(first, len(states)):
                longer = (*base, states[k])
                if fits(longer):
                    waiting.append((longer, k))
        return best

    def cost(g: int, p: int) -> int:
        a, s, o = kinds[g]
        return unit * (p + o - a) + sum(price(p + j) * (s + j) for j in range(1, o + 1))

    least = [min(cost(g, p) for p in range(kind[0], last)) for g, kind in enumerate(kinds)]

    def completing(base: Base, t: int, g: int, left: int) -> Iterator[tuple[Base, int]]:
        """Yield what runs at t with who completes of the kinds from g on, and what that costs."""
        yield base, 0
        for h in range(g, len(kinds)):
            more = left if h == g else counts[h]
            if h in strict and any(each == h for each, _ in base):
                more = 0
            p = t - kinds[h][2]
            longer = (*base, (h, kinds[h][2]))
            held = sum(kinds[each][1] + age for each, age in longer)
            if more and p >= kinds[h][0] and held <= instance.memory:
                own = cost(h, p) - least[h] + multipliers[h]
                for rest, paid in completing(longer, t, h, more - 1):
                    yield rest, own + paid

    worth = sum(price(t) * most_tokens() for t in range(last + 1))
    total = sum(n * m for n, m in zip(counts, least, strict=True)) - worth
    level: dict[Base, int] = {(): 0}
    for t in range(last, 0, -1):
        before: dict[Base, int] = {}
        for base, label in level.items():
            for runs, paid in completing(base, t, 0, counts[0]):
                lost = label + paid + price(t) * most_tokens() - pays(runs, t)
                younger = tuple(sorted((g, age - 1) for g, age in runs if age > 1))
                before[younger] = min(lost, before.get(younger, lost))
        level = before
    extra = sum(n * v for n, v in zip(counts, multipliers, strict=True))
    return max(0, -(-(total + level[()] - extra) // unit))
