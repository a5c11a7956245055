"""Runs one trace in Vidur; started by ``vidur.py`` in the interpreter that Vidur is installed for.

``python vidur_driver.py TASK.json RESULT.json``.  It imports nothing of this project.  Vidur's
scheduler, its replica and its events run as they are; replaced are, through Vidur's own registries,
where requests come from and how long a batch takes, so that both are the other simulators' too.
Vidur counts time in seconds but never asks which: here one of its units is a nanosecond, and all
times are integers below 2^53, which its floating-point numbers hold exactly.
"""

from __future__ import annotations

import atexit
import json
import sys
import tempfile
from importlib import import_module
from types import SimpleNamespace
from typing import Any


def batch_time(batch: Any, coefficients: list[int]) -> int:
    """Return how long a batch of Vidur's takes (ns) by five coefficients in picoseconds."""
    base, per_prefill, per_square, per_decode, per_read = coefficients
    picoseconds = base
    for request, tokens in zip(batch.requests, batch.num_tokens, strict=True):
        before = int(request.num_processed_tokens)
        if request.is_prefill_complete:
            # Here the token of the round before counts as processed: it is read now.
            picoseconds += per_decode + per_read * before
        else:
            picoseconds += per_prefill * tokens + per_square * tokens * (2 * before + tokens)
    return max(1, -(-picoseconds // 1000))


def replace_parts(requests: list[Any], coefficients: list[int]) -> None:
    """Give Vidur our requests and our batch time in the place of its defaults."""

    class OwnPredictor:
        def __init__(self, **unused: object) -> None:
            del unused

        def get_execution_time(self, batch: Any, stage: int) -> SimpleNamespace:
            del stage
            time = batch_time(batch, coefficients)
            return SimpleNamespace(total_time=time, model_time=time)

    class OwnRequests:
        def __init__(self, unused: object) -> None:
            del unused

        def generate(self) -> list[Any]:
            return requests

    types = import_module("vidur.types")
    for registry, kind, own in (
        (
            import_module("vidur.execution_time_predictor").ExecutionTimePredictorRegistry,
            types.ExecutionTimePredictorType.RANDOM_FORREST,
            OwnPredictor,
        ),
        (
            import_module("vidur.request_generator").RequestGeneratorRegistry,
            types.RequestGeneratorType.SYNTHETIC,
            OwnRequests,
        ),
    ):
        registry.unregister(kind)
        registry.register(kind, own)


def configuration(task: dict[str, Any], folder: str) -> Any:
    """Return Vidur's configuration: one replica, the task's memory and limits, no output."""
    config = import_module("vidur.config.config")
    common = {
        "batch_size_cap": task["running"],
        "block_size": task["block"],
        "num_blocks": task["blocks"],
        "watermark_blocks_fraction": 0.0,
    }
    if task["scheduler"] == "sarathi":
        scheduler = config.SarathiSchedulerConfig(chunk_size=task["budget"], **common)
    else:
        scheduler = config.VllmSchedulerConfig(max_tokens_in_batch=task["budget"], **common)
    quiet = config.MetricsConfig(
        write_metrics=False, enable_chrome_trace=False, store_plots=False, output_dir=folder
    )
    return config.SimulationConfig(
        log_level="error",
        cluster_config=config.ClusterConfig(replica_scheduler_config=scheduler),
        metrics_config=quiet,
    )


def main() -> None:
    """Read the task, run it, write (first token, completion, evictions) of each request."""
    with open(sys.argv[1], encoding="utf-8") as file:
        task = json.load(file)
    sys.path.insert(0, task["vidur"])
    import_module("vidur.metrics.metrics_store")
    request = import_module("vidur.entities").Request
    requests = [request(*row) for row in task["requests"]]
    replace_parts(requests, task["coefficients"])
    with tempfile.TemporaryDirectory() as folder:
        simulator = import_module("vidur.simulator").Simulator(configuration(task, folder))
        atexit.unregister(simulator._write_output)
        simulator.run()
    rows = [
        (int(one.prefill_completed_at), int(one.completed_at), one.num_restarts) for one in requests
    ]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(rows, file)


if __name__ == "__main__":
    main()
