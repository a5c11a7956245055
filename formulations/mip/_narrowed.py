"""Start windows narrowed by prices; apart, since ``ilp`` must not reach the code behind them."""

from __future__ import annotations

from formulations.windows import Windows, start_windows
from instances import Instance


def narrowed_windows(instance: Instance, upper_bound: int | None, *, fixing: bool) -> Windows:
    """Return the start windows of ``formulations.windows``, narrowed by prices if ``fixing``."""
    windows = start_windows(instance, upper_bound)
    if not fixing:
        return windows
    from formulations.bounds.clique_lp import by_highs
    from formulations.fixing import priced_windows

    return priced_windows(instance, windows, upper_bound, by_highs)
