"""Patterns: sets of requests that can run at one time, given what they hold and have left.

A pattern is a set of states (w, r) whose requests can run on from now within memory.  A request in
state (w, r) holds w + e tokens e rounds from now, for e = 0..r.  So with the states in order of r,
what is held grows until one completes, and falls only there: memory suffices if Σ (w' + r) ≤ M for
every state (w, r), summed over the states (w', r') with r' ≥ r.

At any time of a feasible schedule, the states of the requests that hold memory then are a pattern:
what they alone hold later is at most what is held in all.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from instances import Instance

Ints = NDArray[np.int64]

#: Rounds that all requests run, added up, beyond which their states are not even listed.
AGES_UP_TO = 10_000_000


@dataclass(frozen=True)
class States:
    """States (w, r) of running requests: w tokens are held, r rounds are left; shape (states,).

    They are in the order of falling ``left``, then of growing ``tokens``.  ``of`` has the positions
    of the requests' states: (s_i + j, o_i − j) for j = 1..o_i of request 0, then of request 1, ...;
    shape (Σ o_i,).
    """

    tokens: Ints
    left: Ints
    of: Ints
    memory: int

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def work(self) -> int:
        """Most steps of one search for the best pattern, or entries of its table."""
        steps = 0
        most = self.most
        for w, r in zip(self.tokens.tolist(), self.left.tolist(), strict=True):
            room = self.memory - w - r
            # With r rounds left: room + 1, less r for each that runs already, while above 0.
            times = -(-(room + 1) // r) if r else 0
            steps += times * (room + 1) - r * times * (times - 1) // 2 if r else room * most
        return max(steps, (most + 1) * (self.memory + 1))

    @property
    def most(self) -> int:
        """The most requests that a pattern can hold."""
        return self.memory // int(self.tokens.min())


def running_states(instance: Instance, *, lookahead: bool = True) -> States:
    """Return the states of an instance's requests while they hold memory.

    Without ``lookahead`` all have r = 0: then a pattern is any set that fits in memory at once,
    and a bound holds all the more.
    """
    ages = [np.arange(1, request.output + 1) for request in instance.requests]
    tokens = np.concatenate([r.prompt + j for r, j in zip(instance.requests, ages, strict=True)])
    left = np.concatenate([r.output - j for r, j in zip(instance.requests, ages, strict=True)])
    left *= lookahead
    distinct, of = np.unique(np.stack([-left, tokens], axis=1), axis=0, return_inverse=True)
    return States(
        np.ascontiguousarray(distinct[:, 1]),
        np.ascontiguousarray(-distinct[:, 0]),
        of.ravel().astype(np.int64),
        instance.memory,
    )


def searchable_states(instance: Instance, work: int, *, lookahead: bool = True) -> States | None:
    """Return the states; None if a search for the best pattern takes more than ``work`` steps."""
    if int(instance.outputs.sum()) > AGES_UP_TO:
        return None
    states = running_states(instance, lookahead=lookahead)
    return states if states.work <= work else None
