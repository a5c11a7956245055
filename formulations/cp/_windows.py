"""Start windows of the plain CP models, derived apart from those of the integer programs."""

from dataclasses import dataclass

from instances import Instance


@dataclass(frozen=True)
class StartRounds:
    """First and last start round of each request, shape (n,), and the last completion."""

    earliest: tuple[int, ...]
    latest: tuple[int, ...]
    horizon: int


def start_windows(instance: Instance, upper_bound: int | None = None) -> StartRounds:
    """Return start windows that keep every optimal schedule.

    Apart on purpose from ``formulations.valid.windows``, which is tighter: an optimum counts as
    proved by two engines only if their models share no code, and that file serves the integer
    programs.  ``upper_bound`` is the TEL (rounds) of a schedule known to be feasible.

    Proof.  Let U be the smaller of that and the TEL of running the requests one after the other
    in the order of their arrivals, which is feasible.  Every latency is at least the request's
    own output, so in a schedule of TEL ≤ U the latency of request i, p_i + o_i − a_i, is at most
    U − Σ_{j≠i} o_j.  Hence p_i ≤ a_i + U − Σ_j o_j.  Nothing is assumed about the last completion.
    """
    requests = instance.requests
    known = _one_after_the_other(instance)
    if upper_bound is not None:
        known = min(known, upper_bound)
    slack = known - sum(request.output for request in requests)
    earliest = tuple(int(request.arrival) for request in requests)
    latest = tuple(arrival + slack for arrival in earliest)
    horizon = max(last + request.output for last, request in zip(latest, requests, strict=True))
    return StartRounds(earliest, latest, horizon)


def _one_after_the_other(instance: Instance) -> int:
    """Return the TEL (rounds) of running the requests alone, in the order of their arrivals."""
    free_from = total = 0
    for request in sorted(instance.requests, key=lambda each: int(each.arrival)):
        free_from = max(free_from, int(request.arrival)) + request.output
        total += free_from - int(request.arrival)
    return total
