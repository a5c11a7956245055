"""One row a request: its times and latencies, as a frame and as a CSV or Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from instances.instance import Instance
from schedules.clock.timeline import Timeline
from serving.metrics import MILLISECOND, good, latencies, tpots
from serving.slo import Slo
from support.json_files import write_bytes

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".parquet")


def request_frame(instance: Instance, timeline: Timeline, slo: Slo | None = None) -> pd.DataFrame:
    """Return one row a request, in the instance's order, with ``good`` for an objective.

    Columns are as in docs/serving.md: tokens, integer nanoseconds, milliseconds by
    ``serving.metrics``; ``tpot_ms`` is missing for outputs of one token.
    """
    import pandas as pd  # half a second

    latency = timeline.latencies
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
            "tpot_ms": tpots(latencies(timeline)) / MILLISECOND,
            "e2el_ms": latency / MILLISECOND,
            "normalized_ms": latency / timeline.outputs / MILLISECOND,
            "evictions": timeline.evictions,
            "recomputed_tokens": timeline.recomputed,
        }
    )
    return frame if slo is None else frame.assign(good=good(timeline, slo))


def write_requests(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a frame of :func:`request_frame`, or raise an OSError, a ValueError for its suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{path}: expected a name with {' or '.join(SUFFIXES)}")
    csv = frame.to_csv(index=False, lineterminator="\n").encode()
    write_bytes(path, frame.to_parquet(index=False) if suffix == ".parquet" else csv)
