"""The policies as their papers state them: slow, short, and to be read with the paper.

One function a policy, of the policy's name, with the lines or steps of its source next to the code;
it takes an instance and what else it uses, and returns a schedule.  Every round is gone through and
every sum is made from scratch.  The convention of this suite holds: a request started at round p
holds s + j tokens at time p + j for j = 1..o, so what is active at round t has p + o > t, and one
may start in the very round in which another completes.

Nothing here uses the simulator, its policies or compiled code, nor do they use it: the tests hold
each policy against its twin; those of serving engines are in ``tests/oracles``.  Arguments that are
not parameters of the policy:

========== ===========================================================================
lower      lower end of each request's prediction (tokens), by position
upper      upper end of it, at most M − s
estimates  the output (tokens) expected after 0, 1, 2 ... tokens made, by position
laws       100 equally likely outputs each, in order, by position
arrived    arrivals by position, in rounds or in seconds, which decide ties
engine     limits (block, budget, running), watermark and accounting of vLLM
advice     expected start of each request in the LP relaxation (rounds), by position
draw       returns a random number in [0, 1)
pick       chooses one of several positions
sample     chooses so many of the places 0..n−1, given n and how many
========== ===========================================================================
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from schedules import Schedule


class EndlessError(Exception):
    """The policy would go on for ever."""


class UnservableError(Exception):
    """The policy cannot serve the instance."""


class ManyRoundsError(Exception):
    """A random policy has not finished within the rounds that it was given."""


@cache
def references(package: str = __name__) -> dict[str, Callable[..., Schedule]]:
    """Return the transcriptions of a package by the name of their policy, sorted.

    Every public function that a file of its folder defines and that returns a schedule is one.
    """
    found: dict[str, Callable[..., Schedule]] = {}
    for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
        module = importlib.import_module(f"{package}.{info.name}")
        for name, each in vars(module).items():
            own = getattr(each, "__module__", None) == module.__name__
            returned = getattr(each, "__annotations__", {}).get("return")
            if own and not name.startswith("_") and returned in (Schedule, "Schedule"):
                found[name.replace("_", "-")] = each
    return dict(sorted(found.items()))
