"""One row a request: its times and latencies, as a frame and as a CSV or Parquet file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from instances.model import Instance
from schedules.clock.timeline import Timeline
from serving.metrics import MILLISECOND, good, tpots
from serving.slo import Slo
from support.jsonfile import write_bytes

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".parquet")


def request_frame(instance: Instance, timeline: Timeline, slo: Slo | None = None) -> pd.DataFrame:
    """Return one row a request, in the instance's order.

    Columns ``id``; ``prompt`` and ``output`` (tokens); ``arrival_ns``, ``begin_ns``,
    ``first_token_ns`` and ``completion_ns`` (integers, nanoseconds); ``delay_ms``, ``ttft_ms``,
    ``tpot_ms`` (missing for outputs of one token), ``e2el_ms`` and ``normalized_ms``
    (``serving.metrics``); ``evictions``, ``recomputed_tokens``; and ``good`` (bool)
    where an objective is given.
    """
    import pandas as pd  # half a second

    latencies = timeline.latencies
    frame = pd.DataFrame(
        {
            "id": np.array([request.id for request in instance.requests], dtype=np.int64),
            "prompt": timeline.prompts,
            "output": timeline.outputs,
            "arrival_ns": timeline.arrivals,
            "begin_ns": timeline.begins,
            "first_token_ns": timeline.first_tokens,
            "completion_ns": timeline.completions,
            "delay_ms": (timeline.begins - timeline.arrivals) / MILLISECOND,
            "ttft_ms": (timeline.first_tokens - timeline.arrivals) / MILLISECOND,
            "tpot_ms": tpots(timeline) / MILLISECOND,
            "e2el_ms": latencies / MILLISECOND,
            "normalized_ms": latencies / timeline.outputs / MILLISECOND,
            "evictions": timeline.evictions,
            "recomputed_tokens": timeline.recomputed,
        }
    )
    return frame if slo is None else frame.assign(good=good(timeline, slo))


def write_requests(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a frame of :func:`request_frame` as CSV or Parquet, whole or not at all.

    A ValueError is raised if the path ends otherwise, an OSError if the file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{path}: expected a name with {' or '.join(SUFFIXES)}")
    buffer = io.BytesIO()
    if suffix == ".parquet":
        frame.to_parquet(buffer, index=False)
    else:
        frame.to_csv(buffer, index=False, lineterminator="\n")
    write_bytes(path, buffer.getvalue())
