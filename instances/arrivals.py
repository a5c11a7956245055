"""When requests arrive: gaps that are drawn, and times as an instance states them.

Times are whole nanoseconds in between, so that seconds and rounds are the same on every machine.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Annotated

from instances.batch_time import NANOSECONDS
from instances.families.draws import Draws
from instances.families.shared import Within
from instances.instance import Instance, Request

#: Mean arrivals a round or a second; None for all at 0.
Rate = Annotated[float, Within(1e-6, 1e6)] | None
#: Deviation of the gaps over their mean.
Variation = Annotated[float, Within(0.01, 100)]


def add_arrivals(
    instance: Instance, draws: Draws, rate: float | None, cv: float, seconds: bool
) -> Instance:
    """Return an instance of a family with the arrivals that its parameters ask for.

    Its requests arrive in their order, ``rate`` a round or a second on average and the first at 0;
    without a rate all stay at 0.  Lengths do not depend on the arrivals.  ``cv`` is the deviation
    of the gaps over their mean: 1 for a Poisson process, more for bursts (gamma).  In rounds a
    request arrives in the first one that begins at or after its time.  Raises ValueError for ``cv``
    without a rate, or of a last arrival that is too late.
    """
    if rate is None:
        if cv != 1:
            raise ValueError("cv: goes with a rate, found none")
        if not seconds:
            return instance
        return replace(instance, name=f"{instance.name}_seconds", time_unit="second")
    times = draw_times(draws, len(instance), rate, cv)
    arrivals = as_seconds(times) if seconds else as_rounds(times)
    parts = [f"rate{rate}", *([f"cv{cv}"] if cv != 1 else []), *(["seconds"] if seconds else [])]
    return replace(
        instance,
        name="_".join([instance.name, *parts]),
        requests=tuple(map(_arriving, instance.requests, arrivals)),
        time_unit="second" if seconds else "round",
    )


def redraw_arrivals(instance: Instance, rate: float, seed: int = 0, passes: int = 1) -> Instance:
    """Return an instance whose requests arrive in their order, exactly ``rate`` a second.

    Its requests come ``passes`` times, at the :func:`times_at_rate` of a seed.  A trace read with
    that rate and seed has the same.  Raises ValueError beyond 146 years, or of a negative seed.
    """
    times = times_at_rate(Draws(seed), len(instance), rate, passes)
    requests = tuple(map(_arriving, instance.requests * passes, as_seconds(times)))
    if passes > 1:
        requests = tuple(replace(each, id=k) for k, each in enumerate(requests))
    name = f"{instance.name}_rate{rate:g}" + (f"_x{passes}" if passes > 1 else "")
    return replace(
        instance,
        name=name + (f"_seed{seed}" if seed else ""),
        requests=requests,
        time_unit="second",
        known_optimum=None,
        known_optimum_reason=None,
    )


def times_at_rate(draws: Draws, n: int, rate: float, passes: int = 1) -> list[int]:
    """Return ``passes`` times n ascending times, the first 0 (nanoseconds), n in n / rate seconds.

    A pass has gaps of a Poisson process, the one behind its last request included, scaled to this
    length: curves over rates compare point by point.  Raises ValueError beyond 146 years.
    """
    if passes * n / rate * NANOSECONDS > 2**62:
        raise ValueError(f"rate: expected arrivals within 146 years, found {rate} a second")
    *times, whole = draw_times(draws, n + 1, 1.0)
    length = round(n / rate * NANOSECONDS)
    return [time * length // whole + each * length for each in range(passes) for time in times]


def _arriving(request: Request, arrival: int | float) -> Request:
    return replace(request, arrival=arrival)


def draw_times(draws: Draws, n: int, rate: float, cv: float = 1.0) -> list[int]:
    """Return n ascending times, the first 0 (nanoseconds), ``rate`` a second on average.

    The gaps are gamma distributed with mean 1 / rate and deviation cv / rate: exponential for
    ``cv`` = 1, a Poisson process, in bursts above.  Raises ValueError beyond 2⁶² nanoseconds, 146
    years.
    """
    shape = 1 / cv**2
    if cv == 1:
        gaps = [draws.exponential(1 / rate) for _ in range(n - 1)]
    else:
        gaps = [draws.gamma(shape, 1 / (rate * shape)) for _ in range(n - 1)]
    times = [0, *accumulate(gaps)][:n]
    if times[-1] * NANOSECONDS > 2**62:
        raise ValueError(f"rate: expected arrivals within 146 years, found {rate} a second")
    return [round(time * NANOSECONDS) for time in times]


def as_seconds(times: Sequence[int]) -> list[int | float]:
    """Return times in seconds: whole ones as integers, others as the nearest double.

    Multiplied by 10⁹ and rounded it is the same nanosecond again, up to 2²² seconds (48 days): the
    nearest double is off by 2⁻³² seconds at most, a quarter of a nanosecond, and the product, below
    2⁵², by half of its last place, another quarter.
    """
    return [
        time // NANOSECONDS if time % NANOSECONDS == 0 else time / NANOSECONDS for time in times
    ]


def as_rounds(times: Sequence[int], length: int = NANOSECONDS) -> list[int]:
    """Return the first round of ``length`` nanoseconds at or after each time."""
    return [-(-time // length) for time in times]
