"""Runs scenarios in BLIS (inference-sim/inference-sim), of which the user has the program.

BLIS replays a trace with its latency model ``trained-physics``, a sum of physical terms with a
coefficient each.  For a model of one layer with one head of one dimension, on a device whose
bandwidth is four bytes a tick, these terms are plain counts: of prompt tokens, of tokens read.  So
the coefficients are those of our batch time, and a tick, which BLIS calls a microsecond, is a
nanosecond.  Its term for attention within a prompt counts a chunk by the whole prompt's length, so
that no coefficient makes it ours: it is switched off.
"""

from __future__ import annotations

import csv
import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from reports.other_simulators.scenarios import (
    Machine,
    Row,
    ServedRequest,
    SimulatorError,
    run_program,
)

_EVICTION = re.compile(r"evicting request_(\d+) to make room")
#: Width of the inner layer: the larger, the less a decoding request's term depends on its tokens.
_INNER = 10_000
#: Operations of one decoding token in that model: four projections of two, and the inner layer.
_OPERATIONS = 8 + 6 * _INNER
_MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 1,
    "hidden_size": 1,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "intermediate_size": _INNER,
    "vocab_size": 2,
    "torch_dtype": "float16",
    "max_position_embeddings": 1_000_000,
}
#: One operation a tick, four bytes a tick: a token's keys and values take one tick.
_DEVICE = {
    "TFlopsPeak": 1e-6,
    "TFlopsFP8": 0,
    "BwPeakTBs": 4e-6,
    "mfuPrefill": 1,
    "mfuDecode": 1,
    "MemoryGiB": 80,
}
#: The columns of a trace in the order in which BLIS reads them, with what stands in them here.
_BLANK: dict[str, object] = {
    "request_id": 0,
    "client_id": "",
    "tenant_id": "",
    "slo_class": "",
    "session_id": "",
    "round_index": 0,
    "prefix_group": "",
    "prefix_length": 0,
    "streaming": "true",
    "input_tokens": 0,
    "output_tokens": 0,
    "text_tokens": 0,
    "image_tokens": 0,
    "audio_tokens": 0,
    "video_tokens": 0,
    "reason_ratio": 0,
    "model": "",
    "deadline_us": 0,
    "server_input_tokens": 0,
    "arrival_time_us": 0,
    "send_time_us": 0,
    "first_chunk_time_us": 0,
    "last_chunk_time_us": 0,
    "num_chunks": 0,
    "status": "ok",
    "error_message": "",
    "finish_reason": "",
}


def coefficients(machine: Machine) -> list[float]:
    """Return BLIS's eleven coefficients for a batch time without squares.

    Raises
    ------
    SimulatorError
        If the batch time has a term that BLIS has not.
    """
    base, per_prefill, per_square, per_decode, per_read = machine.coefficients
    if per_square or any(value % 1000 for value in machine.coefficients):
        raise SimulatorError("BLIS: expected a batch time in whole nanoseconds, without squares")
    # A decoding request that reads k tokens costs _OPERATIONS + 4 · (k - 1) operations.
    operation = per_decode / 1000 / (_OPERATIONS - 4)
    values = [0.0] * 11
    values[1] = operation
    # BLIS cuts its sum to an integer: half a tick more makes that a rounding.
    values[6] = base / 1000 + 0.5
    values[8] = per_prefill / 1000
    values[9] = per_read / 1000 - 4 * operation
    return values


def run_blis(program: Path, machine: Machine, trace: list[Row]) -> list[ServedRequest]:
    """Return what BLIS says of each request.

    Raises
    ------
    SimulatorError
        If BLIS does not run to its end, or not all requests complete.
    """
    with tempfile.TemporaryDirectory() as place:
        _write_inputs(Path(place), trace)
        command = [str(program.resolve()), *_options(machine)]
        log = run_program("BLIS", command, made := Path(place, "results.json"))
        results = json.loads(made.read_text(encoding="utf-8"))
        metrics = json.loads(Path(place, "metrics.json").read_text(encoding="utf-8"))
    evictions = Counter(int(found) for found in _EVICTION.findall(log))
    return _outcomes(trace, results, metrics, evictions)


def _outcomes(
    trace: list[Row],
    results: list[dict[str, Any]],
    metrics: dict[str, Any],
    evictions: Counter[int],
) -> list[ServedRequest]:
    by_number = {result["request_id"]: result for result in results}
    if len(by_number) != len(trace) or evictions.total() != metrics["preemption_count"]:
        raise SimulatorError(
            f"BLIS: expected {len(trace)} requests and {metrics['preemption_count']} evictions, "
            f"found {len(by_number)} and {evictions.total()}"
        )
    return [
        ServedRequest(
            arrival + round(by_number[number]["ttft_us"]),
            arrival + round(by_number[number]["e2e_us"]),
            evictions[number],
        )
        for number, (arrival, _, _) in enumerate(trace)
    ]


def _write_inputs(place: Path, trace: list[Row]) -> None:
    (place / "model").mkdir()
    texts = {
        "model/config.json": json.dumps(_MODEL),
        "device.json": json.dumps({"unit": _DEVICE}),
        "defaults.yaml": "{}\n",
        "header.yaml": "trace_version: 2\ntime_unit: us\nmode: generated\nwarm_up_requests: 0\n",
    }
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    with (place / "trace.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(_BLANK))
        writer.writeheader()
        for number, (arrival, prompt, output) in enumerate(trace):
            writer.writerow(
                _BLANK
                | {
                    "request_id": number,
                    "input_tokens": prompt,
                    "output_tokens": output,
                    "arrival_time_us": arrival,
                    "send_time_us": arrival,
                }
            )


def _options(machine: Machine) -> list[str]:
    options = {
        "trace-header": "header.yaml",
        "trace-data": "trace.csv",
        "defaults-filepath": "defaults.yaml",
        "model": "unit",
        "model-config-folder": "model",
        "hardware": "unit",
        "hardware-config": "device.json",
        "tp": "1",
        "latency-model": "trained-physics",
        "alpha-coeffs": "0,0,0",
        "beta-coeffs": ",".join(repr(value) for value in coefficients(machine)),
        "total-kv-blocks": str(machine.blocks),
        "block-size-in-tokens": str(machine.block),
        "max-num-seqs": str(machine.running),
        "max-num-batched-tokens": str(machine.budget),
        "horizon": str(9 * 10**18),
        "metrics-path": "metrics.json",
        "results-path": "results.json",
    }
    return ["replay", *(part for name, value in options.items() for part in (f"--{name}", value))]
