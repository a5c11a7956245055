"""Upper bounds on the steps and numbers of a sweep's evaluation, counted without evaluating it.

The reader's counts, in its order, with a search's knowledge instead of prices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from operator import gt

from formulations.certificates.certificate_file import Certificate
from formulations.certificates.reader_budget import CALL, ReaderBudget, TooLongError
from formulations.certificates.sweep_evaluation import COMPLETION, LEVEL, STATE
from formulations.certificates.sweep_tables import (
    STEPS_OF_AN_ENTRY,
    UNIT_BITS,
    ReaderRequestKinds,
    hold_table,
    kinds_of,
    refuse_large,
    take_ahead,
    take_memory,
    take_tables,
)
from instances import Instance

#: Steps for each base, and numbers held for each without its kinds.
STEPS_OF_A_BASE, NUMBERS_OF_A_BASE = 1_000, 4


@dataclass(frozen=True)
class SearchedSweep:
    """A search's prices, in units of 1 / denominator, and the bases it has met.

    ``total`` is the Lagrangian value, ``least`` the dearest of the kinds' cheapest starts.
    ``worth`` is the most that patterns pay at times 0, 1, ...
    """

    total: int
    least: int
    worth: Sequence[int]
    bases: int = 0


def take_sweep(
    instance: Instance, certificate: Certificate, swept: SearchedSweep | None, budget: ReaderBudget
) -> None:
    """Take what evaluating a sweep takes; raise TooLongError where a reader refuses it.

    Without ``swept`` the prices alone prove the value.
    """
    kinds = kinds_of(instance, budget)
    unit, states = certificate.denominator, certificate.states
    longest, latest = int(kinds.outputs.max()), int(kinds.arrivals.max())
    if states is None:
        times, dearest = len(certificate.memory) + 1, max(certificate.memory, default=0)
        dearest *= int(kinds.tokens.max())
        search = take_memory(instance, kinds, certificate.memory, budget)
        priced = (price * instance.memory for price in certificate.memory)
        # The search has found less than the reader's worth; at time 0 nothing is held.
        if swept and not search and any(map(gt, islice(priced, 1, None), swept.worth[1:])):
            raise TooLongError("the best patterns take more steps than its length pays for")
    else:
        times, dearest = states.knots[-1] + 2, max(states.table)
        refuse_large(4 * (dearest + 1) * states.knots[-1])
        take_tables(instance, kinds, times, len(states.knots), budget, search=True)
    # What fits at a time pays, and every request.
    most = instance.memory // int(kinds.tokens.min()) if states or search else 0
    refuse_large(dearest * max(2 * (most + 2), len(instance)))
    refuse_large(unit * (max(times, latest) + 1 + longest) + longest * dearest)
    window = -1 if swept is None else (certificate.value - 1) * unit - swept.total
    if swept is None or window < 0:
        return
    late = max(0, window + swept.least) // unit
    starts = times + latest + 2 + late
    refuse_large(2 * window + unit * (starts + longest))
    hold_table(budget, times * len(kinds.tokens) + starts * len(kinds.counts))
    take_ahead(instance.memory, kinds, times, budget)
    # A start costs its latency at least.
    last = max(times - 1, latest + late)
    largest = max((abs(each) for each in certificate.multipliers), default=0)
    own = (last + 4) * largest * len(instance)
    refuse_large(4 * (window + own + len(instance) * dearest + sum(swept.worth)))
    if certificate.strict is not None:
        budget.take(starts * len(kinds.counts) * STEPS_OF_AN_ENTRY + CALL * len(kinds.tokens))
    _take_levels(instance, kinds, last, late, budget)
    budget.take(swept.bases * STEPS_OF_A_BASE)
    if certificate.multipliers and certificate.strict is None:
        budget.hold(swept.bases * (NUMBERS_OF_A_BASE + len(certificate.multipliers) // 4))


def _take_levels(
    instance: Instance, kinds: ReaderRequestKinds, last: int, late: int, budget: ReaderBudget
) -> None:
    """Take what every level takes, and every kind there that starts at most so ``late``."""
    budget.take(last * (LEVEL + STATE * len(kinds.tokens)))
    power = max(0, instance.memory.bit_length() - UNIT_BITS)
    of_kinds = (each.tolist() for each in (kinds.prompts, kinds.outputs))
    units = (instance.memory >> power) + 1
    for s, o in zip(*of_kinds, strict=True):
        own = COMPLETION + CALL * (units // max((s + o) >> power, 1))
        budget.take(max(0, late - o + 1) * own)
