"""Certificates from sweeps: no schedule has a TEL below a value, shown by going through them all.

The evaluation imports nothing of the search that made the certificate, nor does the search
anything of it: tables, levels, the filter of dominated bases and the counting are written anew.
Without ``strict`` the levels are gone through once, and what is left once more with the counts of
all kinds.  With ``strict`` dominated bases are dropped, the multipliers are paid in the sweep
itself, and nothing is counted.

Proof: docs/proofs/backward.md (P4); with ``strict``: docs/proofs/dominance.md (P5).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formulations.certificates.budget import Budget, TooLongError
from formulations.certificates.priced_states import PricedStates
from formulations.certificates.sweep_counts import count
from formulations.certificates.sweep_levels import sweep
from formulations.certificates.sweep_tables import BITS, BackwardError, kinds_of, network_of
from instances import Instance


def prove(
    instance: Instance,
    value: int,
    denominator: int,
    memory: Sequence[int],
    states: PricedStates | None,
    multipliers: Sequence[int],
    strict: tuple[int, ...] | None,
    budget: Budget,
) -> None:
    """Prove that no TEL is below ``value`` (rounds).

    Parameters
    ----------
    denominator, memory, states
        Prices as fractions: on a token at times 0, 1, ..., or on states.
    multipliers
        Numerators, one for each different (arrival, prompt, output) in increasing order; empty
        where the sweep alone does.
    strict
        Kinds that must not run twice at a time, where dominated bases are dropped; None where none
        is.

    Raises
    ------
    BackwardError
        If it does not.
    TooLongError
        If that would take or hold too much.
    """
    kinds = kinds_of(instance, budget)
    if len(multipliers) not in (0, len(kinds.counts)):
        raise BackwardError("expected a multiplier for each different request")
    if any(abs(each) >= 1 << BITS for each in multipliers):
        raise TooLongError("the multipliers are too large for this evaluation")
    kinds.refuse_strict(strict or ())
    found = network_of(instance, kinds, value, denominator, memory, states, budget)
    if found is None:
        return
    if strict is not None:
        found = found.with_dominance(multipliers, strict, budget)
    counted = strict is None and bool(multipliers)
    steps = sweep(found, budget, keep=counted)
    if steps is None:
        return
    if not counted:
        raise BackwardError(f"the sweep leaves paths below {value}")
    count(found, steps, np.array(multipliers, dtype=np.int64), value, budget)
