"""What stands under the pointer: places of a drawing with what they show and which page they open.

The pictures stay SVG without scripts, the same in Markdown; the page alone adds a tooltip to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from reports.interval import shares


@dataclass(frozen=True)
class Caption:
    """What one place shows: a method, where, a value, and the instance that it is about.

    Attributes
    ----------
    where
        A family; empty where the instance alone is meant.
    opens
        What is said of the instance before its name, as in "largest gap on".
    id, instance
        Of the instance, its name as well; empty for none.
    """

    method: str
    value: str
    id: str
    instance: str
    where: str = ""
    opens: str = ""


@dataclass(frozen=True)
class Spot:
    """A place in a picture, as shares of its width from the left and of its height from above."""

    x: float
    y: float
    caption: Caption


def placed(figure: Any, pending: Sequence[tuple[Any, float, float, Caption]]) -> tuple[Spot, ...]:
    """Return spots of a figure that has been drawn; what lies outside of its axes is left out.

    Parameters
    ----------
    pending
        Axes, x and y in their data, and what the caption says.
    """
    width, height = figure.get_size_inches() * figure.dpi
    made = []
    for axes, x, y, caption in pending:
        across, up = axes.transData.transform((x, y))
        box = axes.get_window_extent()
        # Markers on the frame itself lie half outside.
        inside = box.x0 - 1 <= across <= box.x1 + 1 and box.y0 - 1 <= up <= box.y1 + 1
        if inside and np.isfinite([across, up]).all():
            made.append(Spot(across / width, 1 - up / height, caption))
    return tuple(made)


def step_places(
    values: pd.Series,
    names: Mapping[str, str],
    total: int,
    method: str,
    write: Callable[[float], str],
) -> Iterator[tuple[float, float, Caption]]:
    """Yield the corners of the curve "share of all that is at most x", the instances at each.

    Parameters
    ----------
    values
        By ``id``; missing ones are in ``total`` only.
    names
        Of the instances by ``id``.
    write
        Says what x is, as in "gap 3.1 %".
    """
    known = values.dropna().astype(float).sort_index(kind="stable").sort_values(kind="stable")
    reached = 0
    for value, group in known.groupby(known, sort=True):
        reached += len(group)
        share = reached / total
        more = f", as {len(group) - 1} more" if len(group) > 1 else ""
        text = f"{write(float(value))}{more}; {shares(share, share)} at most that"
        first = str(group.index[0])
        yield float(value), share, Caption(method, text, first, names[first])
