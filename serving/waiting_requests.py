"""Requests that wait in a run in seconds, and the cause; without any, order wins nothing."""

import math
from collections.abc import Iterable

import numpy as np

from instances.batch_time import parse_batch_time
from kvopt.methods.grammar import read_method
from kvopt.methods.method_names import policy_name
from schedules.clock.timeline import Timeline

#: Share of the time in which requests wait, below which order wins hardly anything.
HARDLY = 0.01
#: Least share of the waiting to name the limit on requests, and of M to call it nearly full.
_SOME, _NEARLY = 0.1, 0.9
_VLLM = "vllm-v1"
#: Begins the note on the bound of schedules that run as few at a time as vLLM's scheduler.
FEW = "no schedule that runs at most"


def no_request_waits(peak: float | None, waiting: float | None, running: float | None) -> str:
    """Return the line that no request waits, or hardly one, by a run's metrics; or nothing."""
    if peak is None or waiting is None or running is None or math.isnan(peak):
        return ""
    if peak == 0:
        return "no request waits"
    share = waiting / (waiting + running)
    return f"requests wait {100 * share:.2f} % of the time" if share < HARDLY else ""


def few_at_a_time(details: Iterable[str]) -> str:
    """Return the note on the bound of few at a time in the details of rows; or nothing."""
    parts = (part for detail in details for part in str(detail).split("; "))
    return next((part for part in parts if part.startswith(FEW)), "")


def none_waits_long(method: str, times: Timeline) -> str:
    """Return the line that no request waits longer than vLLM's engine plans; empty if one does.

    The asynchronous engine plans a round at the start of the one before, so a new request waits for
    both.
    """
    call = read_method(method).call if policy_name(method) == _VLLM else None
    if call is None or call.values["asynchronous"] == "no" or times.evictions.any():
        return ""
    begins = times.rounds.begins
    passed = np.searchsorted(begins, times.begins) - np.searchsorted(begins, times.arrivals)
    return "" if passed.max() > 1 else "no request waits for more than the round planned before"


def what_binds(method: str, batch_time: str, memory: int, times: Timeline) -> str:
    """Return the line that requests wait for ``max_num_seqs`` more than for memory; or nothing."""
    rounds = times.rounds
    waited = rounds.waiting.astype(float) * rounds.durations
    if policy_name(method) != _VLLM or not waited.any():
        return ""
    call = read_method(method).call
    assert call is not None
    limit = call.values["running"] or parse_batch_time(batch_time).engine_limits.running
    full = rounds.tokens >= _NEARLY * memory
    share = float(waited[~full & (rounds.running >= limit)].sum() / waited.sum())
    if share < max(_SOME, float(waited[full].sum() / waited.sum())):
        return ""
    return (
        f"{100 * share:.0f} % of the waiting is while {limit:,} requests run, the most that may "
        f"(running, vLLM's max_num_seqs); memory is at most "
        f"{100 * int(rounds.tokens.max()) / memory:.0f} % full"
    )
