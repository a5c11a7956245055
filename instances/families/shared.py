"""Beginning and end of every family: guards, and the numbers of the requests.

The range of a parameter stands in its annotation, where ``ranged`` reads it to refuse what lies
outside and the listing to show it.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_type_hints

from instances.instance import MAX_TOKENS, Instance, Request

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

#: Most requests that are drawn: about ten seconds and a gigabyte.
MAX_REQUESTS = 10**6


@dataclass(frozen=True)
class Within:
    """Least and largest value of a parameter; with ``above`` the least one is excluded."""

    least: float
    largest: float
    above: bool = False

    def __contains__(self, value: float) -> bool:
        """Return whether a value is in the range; NaN is in none."""
        low = self.least < value if self.above else self.least <= value
        return low and value <= self.largest

    def __str__(self) -> str:
        return f"{'above ' if self.above else ''}{self.least} to {self.largest}"


#: Largest seed.
LAST_SEED = 2**63 - 1

Seed = Annotated[int, Within(0, LAST_SEED)]
Count = Annotated[int, Within(1, MAX_REQUESTS)]
Memory = Annotated[int, Within(1, MAX_TOKENS)]
Length = Annotated[int, Within(1, MAX_TOKENS)]
Prompt = Annotated[int, Within(0, MAX_TOKENS)]
Share = Annotated[float, Within(0, 1)]
#: Mean or deviation of lengths before they are rounded and clipped, tokens.
Spread = Annotated[float, Within(0, MAX_TOKENS, above=True)]


def ranged(generate: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a generator refuse parameters outside the ranges of its annotations, by ValueError."""
    signature = inspect.signature(generate)

    @functools.wraps(generate)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        check_ranges(generate, signature.bind(*args, **kwargs).arguments)
        return generate(*args, **kwargs)

    return checked


def check_ranges(generate: Callable[..., Any], values: Mapping[str, Any]) -> None:
    """Refuse values outside the ranges of a generator; None stands for one that was not given."""
    limits = ranges(generate)
    for name, value in values.items():
        if value is not None and name in limits and value not in limits[name]:
            raise ValueError(f"{name}: expected {limits[name]}, found {value}")


def ranges(generate: Callable[..., Any]) -> dict[str, Within]:
    """Return the ranges of a generator's parameters by name, of those that have one."""
    return dict(_ranges(inspect.unwrap(generate)))


@functools.cache
def _ranges(generate: Callable[..., Any]) -> tuple[tuple[str, Within], ...]:
    hints = get_type_hints(generate, include_extras=True)
    return tuple(
        (name, extra)
        for name, hint in hints.items()
        # A parameter that may be absent is a union with None.
        for part in (hint, *get_args(hint))
        for extra in getattr(part, "__metadata__", ())
        if isinstance(extra, Within)
    )


def at_least(least: int, **parameters: int | None) -> None:
    """Refuse parameters below what follows from others; ``None`` stands for one not given."""
    for name, value in parameters.items():
        if value is not None and value < least:
            raise ValueError(f"{name}: expected at least {least}, found {value}")


def not_too_many(requests: int) -> None:
    """Refuse parameters that together ask for more requests than are drawn."""
    if requests > MAX_REQUESTS:
        raise ValueError(f"expected at most {MAX_REQUESTS} requests, found {requests}")


def longest_fits(longest: int, memory: int) -> None:
    """Refuse a memory that cannot hold the longest prompt together with the longest output."""
    if 2 * longest > memory:
        raise ValueError(f"memory: expected at least 2 * longest = {2 * longest}, found {memory}")


def drawn(
    family: str,
    source: str,
    seed: int,
    memory: int,
    rows: Iterable[tuple[int, int, int]],
    prediction: tuple[int, int] | None = None,
) -> Instance:
    """Return an instance named after its family, size and seed, its requests as ``numbered``."""
    requests = numbered(rows, prediction)
    name = f"{family.replace('-', '_')}_n{len(requests)}_seed{seed}"
    return Instance(
        name=name, family=family, source=source, seed=seed, memory=memory, requests=requests
    )


def numbered(
    rows: Iterable[tuple[int, int, int]], prediction: tuple[int, int] | None = None
) -> tuple[Request, ...]:
    """Return requests 0, 1, ... of rows (arrival, prompt, output) with one prediction."""
    lower, upper = prediction or (None, None)
    return tuple(
        Request(i, arrival, prompt, output, lower, upper)
        for i, (arrival, prompt, output) in enumerate(rows)
    )
