"""What a policy is: a rule that ranks waiting requests, and what it may know of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Known:
    """What a clairvoyant policy knows of the requests, as arrays of shape (n,).

    Arrivals are in rounds, prompts and outputs in tokens, memory is M in tokens.
    """

    memory: int
    arrivals: NDArray[np.int64]
    prompts: NDArray[np.int64]
    outputs: NDArray[np.int64]


#: Sort keys of the requests, smallest first; each array has shape (n,), the first counts most.
Keys = tuple[NDArray[np.int64], ...]


@dataclass(frozen=True)
class Policy:
    """A policy that ranks requests once and admits them in that order with look-ahead.

    Attributes
    ----------
    name
        Name on the command line.
    rank
        Returns the sort keys; ties go by arrival, then by position in the instance.  A request's
        keys may depend only on that request, so that a rank never reveals the future.
    summary
        One line for ``--list``, with the source (filled from the module's docstring).
    """

    name: str
    rank: Callable[[Known], Keys]
    summary: str = ""
