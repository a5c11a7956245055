"""Look-ahead rows, literally: fractions, every round of every start, no code of the project."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from instances import Instance


class Row(NamedTuple):
    """c, ℓ, the core, and times with their prices on an M-th of a token."""

    share: int
    rounds: int
    core: tuple[int, ...]
    times: tuple[int, ...]
    prices: tuple[int, ...]

    def price(self, time: int) -> int:
        """Return the price at a time."""
        if time == self.times[-1]:
            return self.prices[-1]
        for k in range(len(self.times) - 1):
            low, high = self.times[k], self.times[k + 1]
            if low <= time < high:
                part = self.prices[k] * (high - time) + self.prices[k + 1] * (time - low)
                return part // (high - low)
        return 0


def kappa(instance: Instance, row: Row) -> Fraction:
    """Return κ."""
    memory = instance.memory
    own = (Fraction(row.share * (instance.requests[i].prompt + 1), memory) for i in row.core)
    return row.share + sum((1 - min(Fraction(1), part) for part in own), Fraction(0))


def pay(
    instance: Instance, row: Row, position: int, held: int, left: int, weight: Fraction
) -> Fraction:
    """Return what a request pays, in tokens, if κ is so much."""
    y = Fraction(1)
    if position not in row.core:
        y = min(y, Fraction(row.share * held, instance.memory))
    return max(Fraction(0), held + y * row.rounds - weight * max(0, row.rounds - left))


def bound(instance: Instance, memory: Sequence[int], rows: Sequence[Row], denominator: int) -> int:
    """Return the bound of prices."""
    kappas = [kappa(instance, row) for row in rows]
    length = max([len(memory), *(row.times[-1] + 1 for row in rows)])
    tokens = [*memory, *([0] * length)]
    total = Fraction(-instance.memory * sum(memory))
    total -= instance.memory**2 * sum(row.price(t) for row in rows for t in range(length))
    for i, request in enumerate(instance.requests):
        arrival = int(request.arrival)
        costs = []
        for start in range(arrival, max(arrival, length) + 1):
            cost = Fraction(denominator * (start + request.output - arrival))
            for j in range(1, request.output + 1):
                held, left, time = request.prompt + j, request.output - j, start + j
                cost += tokens[time] * held if time < length else 0
                for row, weight in zip(rows, kappas, strict=True):
                    if row.price(time):
                        paid = pay(instance, row, i, held, left, weight)
                        cost += row.price(time) * instance.memory * paid
            costs.append(cost)
        total += min(costs)
    return ceil(total / denominator)
