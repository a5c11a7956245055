"""One instance at several rates: the same requests with Poisson arrivals, scaled.

For every rate the gaps are those of one seed at rate 1, divided by the rate (rounded to
nanoseconds): what is different from rate to rate is how dense the arrivals are, never which
requests come after a long gap.  So curves over rates can be compared point by point.
"""

from __future__ import annotations

from dataclasses import replace

from instances.arrivals import as_seconds, drawn_times
from instances.families.draws import Draws
from instances.model import Instance


def at_rate(instance: Instance, rate: float, seed: int = 0) -> Instance:
    """Return an instance with Poisson arrivals in seconds in place of its own, in its order.

    These are the arrivals that a trace has when it is read with that rate and arrival seed.

    Parameters
    ----------
    rate
        Requests a second.
    seed
        Of the arrivals.

    Raises
    ------
    ValueError
        If the rate is so low that arrivals are beyond 146 years, or the seed is negative.
    """
    arrivals = as_seconds(drawn_times(Draws(seed), len(instance), rate))
    return replace(
        instance,
        name=f"{instance.name}_rate{rate:g}" + (f"_seed{seed}" if seed else ""),
        requests=tuple(
            replace(request, arrival=arrival)
            for request, arrival in zip(instance.requests, arrivals, strict=True)
        ),
        time_unit="second",
        known_optimum=None,
        known_optimum_reason=None,
    )
