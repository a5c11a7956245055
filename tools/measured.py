"""The figures of docs/measured.md: measured runs of vLLM beside what is simulated.

``python -m tools.measured DATA`` makes docs/measured.csv and the page's table of LLMServingSim's
runs and profiles (commit 5daddb21 of casys-kaist/LLMServingSim), which are not part of the project:
a folder a run, and ``profiles``.  ``python -m tools.measured --check`` compares page and CSV.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from instances.batch_time import BatchTime, read_batch_time
from instances.traces import TraceOptions
from instances.traces.reading import read_trace
from kvopt.calibration import calibrated, latencies, simulate
from kvopt.methods.grammar import read_method
from schedules.real_time.serving import PERCENTILES, spreads

DOCS = Path(__file__).resolve().parents[1] / "docs"
FIGURES, PAGE = DOCS / "measured.csv", DOCS / "measured.md"
#: Run, its profile, layers of the model; memory where none is recorded, which then never binds.
RUNS = (
    ("RTX4090_Llama-3.1-8B", "RTX4090_Llama-3.1-8B/tp1", 32, None),
    ("RTXPRO6000_Llama-3.1-8B", "RTXPRO6000_Llama-3.1-8B/tp1", 32, 600_000),
    ("RTXPRO6000_Qwen3-32B", "RTXPRO6000_Qwen3-32B/tp2", 64, 600_000),
)
RULES = {"synchronous": "asynchronous=no", "asynchronous": "asynchronous=yes"}
#: What a layer computes besides attention, and how often.
_LAYER = {
    "layernorm": 2, "qkv_proj": 1, "qk_norm": 1, "rotary_emb": 1, "o_proj": 1, "gate_up_proj": 1,
    "act_fn": 1, "down_proj": 1,
}  # fmt: skip


def rounds(profile: Path, layers: int, budget: int, running: int, memory: int) -> pd.DataFrame:
    """Return the rounds of a profile that the engine's limits allow, as ``fitted`` reads them."""
    dense = pd.read_csv(profile / "dense.csv").rename(columns={"tokens": "size"})
    each = pd.read_csv(profile / "per_sequence.csv").rename(columns={"sequences": "size"})
    known = dict(iter(pd.concat([dense, each]).groupby("layer")))
    found = pd.read_csv(profile / "attention.csv").rename(columns={"n_decode": "decode"})
    found["prefill"], found["kv"] = found.prefill_chunk, found.decode * found.kv_decode
    tokens = found.prefill + found.decode
    held = found.kv + found.kv_prefill + found.prefill
    found = found[(tokens <= budget) & (found.decode <= running) & (held <= memory) & (tokens > 0)]
    tokens = found.prefill + found.decode

    def at(layer: str, sizes: pd.Series[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        if layer not in known:
            return np.zeros(len(sizes))
        return np.interp(sizes, known[layer]["size"], known[layer]["time_us"])

    layer = found.time_us + sum(times * at(name, tokens) for name, times in _LAYER.items())
    sampled = found.decode + (found.prefill > 0)
    once = at("embedding", tokens) + at("final_layernorm", tokens)
    once = once + at("lm_head", sampled) + at("sampler", sampled)
    found["seconds"] = (layers * layer + once) / 1e6
    found["square"] = (found.kv_prefill + found.prefill) ** 2 - found.kv_prefill**2
    return found[["prefill", "decode", "kv", "seconds", "square"]]


def figures(data: Path) -> Iterator[list[str]]:
    """Yield the rows; what is measured is in seconds, the others are errors (%)."""
    yield ["run", "batch time", "rules", "metric", "mean", *(f"p{each}" for each in PERCENTILES)]
    for name, profile, layers, memory in RUNS:
        instance, report = read_trace(data / name, TraceOptions(memory=memory))
        settings, measured = report.settings, report.measured
        assert measured is not None
        fitted = np.arange(len(instance)) % 2 == 0
        real = spreads(measured.take(np.flatnonzero(~fitted)))
        for metric, values in real.items():
            yield [
                name,
                "",
                "measured",
                metric,
                *(f"{(v or 0) / 1000:.4g}" for v in values.values()),
            ]
        budget, running = settings.budget or 2048, settings.running or 256
        for rules, text in RULES.items():
            call = read_method(f"vllm-v1(block=16,budget={budget},running={running},{text})").call
            assert call is not None
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "rounds.csv")
                table = rounds(
                    data / "profiles" / profile, layers, budget, running, instance.memory
                )
                table.to_csv(path, index=False)
                of_profile: BatchTime = read_batch_time(f"fitted({path})")
            of_run = calibrated(instance, measured, call, fitted)
            for what, batch_time in (("profile", of_profile), ("calibrated", of_run)):
                ours = latencies(simulate(instance, call, batch_time)).take(np.flatnonzero(~fitted))
                for metric, values in spreads(ours).items():
                    pairs = zip(values.values(), real[metric].values(), strict=True)
                    errors = [f"{100 * ((a or 0) / (b or 1) - 1):+.1f}" for a, b in pairs]
                    yield [name, what, rules, metric, *errors]


def table() -> str:
    """Return the page's table of the CSV: one line a run, batch time and rules."""
    head, *rows = csv.reader(FIGURES.read_text(encoding="utf-8").splitlines())
    metrics = list(dict.fromkeys(row[3] for row in rows))
    cells: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        cells.setdefault(tuple(row[:3]), []).append(", ".join(row[4:]))
    titles = [*head[:3], *(f"{metric.upper()}: {', '.join(head[4:])}" for metric in metrics)]
    lines = [titles, ["---"] * len(titles), *([*key, *told] for key, told in cells.items())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> int:
    """Make the figures and the page's table, or check the table."""
    if sys.argv[1:] != ["--check"]:
        with FIGURES.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(figures(Path(sys.argv[1])))
    text = PAGE.read_text(encoding="utf-8")
    start, end = text.index("| run |"), text.index("\n\n", text.index("| run |")) + 1
    fresh = text[:start] + table() + text[end:]
    if sys.argv[1:] == ["--check"]:
        print("as it should be" if fresh == text else f"{PAGE}: another table than {FIGURES}")
        return int(fresh != text)
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
