"""Certificates from sweeps: no schedule has a TEL below a value, shown by going through them all.

The evaluation imports nothing of the search that made the certificate, nor does the search
anything of it: tables, levels, the filter of dominated bases and the counting are written anew,
and share with it the statements below and in ``docs/proofs/dominance.md``.

*What is shown.*  Let c_g(p) be the latency of a request of kind g = (arrival, prompt, output) that
starts at p, plus the prices that its tokens pay, m_g the least of it over p ≥ a_g, and h_t at least
what requests that can run together pay at time t.  For every schedule

    TEL = Σ_i m_i − Σ_t h_t + Σ_t (h_t − what runs at t pays) + Σ_i (c_i(p_i) − m_i),

since what is paid is counted in both sums, and every term of the last two is at least 0.  So in a
schedule with a TEL below ``value`` these terms, its *slack*, sum to at most D = (value − 1) −
Σ m_i + Σ h_t, and so does every part of them.  A level at time t holds, for every such schedule,
who runs at t and at t + 1, with the least slack of the times after t and of the requests that
complete after t.  By induction backwards in time: requests that run at t and not at t + 1 complete
at t, and every choice of them is tried that fits in memory and stays within D; who starts at t − 1
leaves.  Which requests have completed is forgotten, so a level holds more than the schedules: it
proves too little, never too much.  Where a level is empty, no such schedule exists.

A path through the levels that is no schedule has no term below 0 either: memory is never forgotten,
so whoever runs at t fits in together, and what they pay is at most h_t, which is the most that any
number of each kind can pay within M; and c_g(p) ≥ m_g whoever starts.  So slacks only grow, from 0
up to D + 1 at most before they are dropped.  At a time at most as many of a kind complete as there
are requests, which bounds the multipliers of a path.

*Looking ahead.*  At a time u before t those that run at u and at t are known.  The others complete
in u..t − 1, so they have at most t − 1 − u rounds left, and what they pay at u within the memory
left is at most the best of all multisets of such states, a knapsack.  h_u less both is at least
the slack of time u, which is counted nowhere yet.  Times may be left out of this.

*Multipliers.*  Where paths are left, let every request of kind g pay v_g more, any integer: all
schedules pay Σ count_g·v_g more.  The least that is paid from a node to the end bounds the rest of
a path, so paths that exceed D + Σ count_g·v_g in all are none of a schedule looked for; the rest
is gone through once more with how many of each kind have completed, which are as many as there
should be in every schedule.  Then nothing is forgotten, and a path to the end *is* a schedule.

*Dominance.*  With ``strict`` given, bases that another one of their level dominates are dropped,
and the multipliers are paid in the sweep itself: ``docs/proofs/dominance.md``.  Nothing is counted
then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formulations.lagrangian.budget import Budget
from formulations.lagrangian.priced_states import PricedStates
from formulations.lagrangian.swept_counts import count
from formulations.lagrangian.swept_levels import sweep
from formulations.lagrangian.swept_tables import (
    BITS,
    SweptError,
    SweptTooLongError,
    kinds_of,
    network_of,
)
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
    SweptError
        If it does not, or would take too long.
    """
    kinds = kinds_of(instance, budget)
    if len(multipliers) not in (0, len(kinds.counts)):
        raise SweptError("expected a multiplier for each different request")
    if any(abs(each) >= 1 << BITS for each in multipliers):
        raise SweptTooLongError("the multipliers are too large for this evaluation")
    kinds.refuse_strict(strict or ())
    found = network_of(instance, kinds, value, denominator, memory, states, budget)
    if found.window < 0:
        return
    if strict is not None:
        found = found.with_dominance(multipliers, strict)
    counted = strict is None and bool(multipliers)
    steps = sweep(found, budget, keep=counted)
    if steps is None:
        return
    if not counted:
        raise SweptError(f"the sweep leaves paths below {value}")
    count(found, steps, np.array(multipliers, dtype=np.int64), value, budget)
