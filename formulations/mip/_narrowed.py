"""Start windows narrowed by prices; apart, since ``ilp`` must not reach the code behind them."""

from __future__ import annotations

from typing import Protocol

from formulations.valid.windows import Windows, start_windows
from instances import Instance


class _Fixing(Protocol):
    @property
    def fixing(self) -> bool: ...


def narrowed_windows(
    instance: Instance, upper_bound: int | None = None, options: _Fixing | None = None
) -> Windows:
    """Return the start windows of volumes and horizon, narrowed where ``fixing`` is on."""
    windows = start_windows(instance, upper_bound)
    if options is None or not options.fixing:
        return windows
    from formulations.bounds.clique_lp import by_highs, priced_windows

    return priced_windows(instance, windows, upper_bound, by_highs)
