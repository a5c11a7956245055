"""A batch time from measured requests: rounds are simulated and fitted in turns."""

import numpy as np
from numpy.typing import NDArray

from instances import Instance
from instances.batch_time import NANOSECONDS, PICOSECONDS, BatchTime
from kvopt.methods.policy_call import PolicyCall
from kvopt.runs.advice import run_policy_call
from schedules.clock.timeline import Timeline, make_timeline
from serving.batch_time.kinds.fitted import nonnegative
from serving.batch_time.kinds.linear import linear
from serving.traces.trace_report import MeasuredLatencies
from support.usage_errors import UsageError

#: Simulations and fits; from the third on little changes.
_REPETITIONS = 8
#: Requests with two tokens that a fit needs at least.
_FEWEST = 10


def calibrated(
    instance: Instance, measured: MeasuredLatencies, call: PolicyCall, fitted: NDArray[np.bool_]
) -> BatchTime:
    """Return the batch time that is fitted to some of the requests, on simulated rounds.

    Rounds depend on their lengths, so both are found in turns.  The result is the batch time with
    the least squared relative error on its rounds.
    """
    seconds = (measured.latencies - measured.first_tokens) / NANOSECONDS
    some = fitted & (seconds > 0) & (instance.outputs > 1)
    if (count := int(np.count_nonzero(some))) < _FEWEST:
        raise UsageError(f"expected {_FEWEST} requests with two tokens to fit, found {count}")
    seconds = seconds[some]
    per_token = np.mean(seconds / (instance.outputs[some] - 1))
    found = linear((round(float(per_token) * PICOSECONDS), 0, 0, 0, 0))
    tried: list[tuple[float, BatchTime]] = []
    for _ in range(_REPETITIONS):
        ours = simulate(instance, call, found)
        rounds = ours.rounds
        columns = (rounds.prefilled, rounds.squares, rounds.decoding, rounds.read)
        # Factors of the coefficients in the rounds after the first token, up to the last.
        sums = np.cumsum(np.stack([np.ones(len(rounds)), *columns], axis=1), axis=0)
        first = np.searchsorted(rounds.ends, ours.first_tokens[some])
        last = np.searchsorted(rounds.ends, ours.completions[some])
        factors = sums[last] - sums[first]
        predicted = factors @ np.array(found.coefficients) / PICOSECONDS
        tried.append((float(np.mean((predicted / seconds - 1) ** 2)), found))
        coefficients = nonnegative(factors, seconds, 1 / seconds)
        found = linear(tuple(round(float(value) * PICOSECONDS) for value in coefficients))
    return min(tried, key=lambda each: each[0])[1]


def simulate(instance: Instance, call: PolicyCall, batch_time: BatchTime) -> Timeline:
    """Return the timeline of a policy without a relaxation on an instance in seconds."""
    return make_timeline(instance, run_policy_call(call, instance, 0, None, batch_time))
