"""The figures of docs/measured.md: measured runs of vLLM next to simulated ones.

``python integrations/vllm/measured.py DATA`` makes docs/measured.csv and the page's table.  DATA
has the runs, a folder each, and ``profiles`` of casys-kaist/LLMServingSim (commit 5daddb21), which
the project does not contain.  ``--check`` compares page and CSV, with DATA also the figures.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kvopt.methods.grammar import read_method
from serving.batch_time import read_batch_time
from serving.calibration import calibrated, simulate
from serving.metrics import latencies, spreads
from serving.traces import TraceOptions
from serving.traces.read_trace import read_trace

DOCS = Path(__file__).resolve().parents[2] / "docs"
FIGURES, PAGE = DOCS / "measured.csv", DOCS / "measured.md"
#: Run, its profile, layers of the model; memory where none is recorded, which then never binds.
RUNS = (
    ("RTX4090_Llama-3.1-8B", "RTX4090_Llama-3.1-8B/tp1", 32, None),
    ("RTXPRO6000_Llama-3.1-8B", "RTXPRO6000_Llama-3.1-8B/tp1", 32, 600_000),
    ("RTXPRO6000_Qwen3-32B", "RTXPRO6000_Qwen3-32B/tp2", 64, 600_000),
)
RULES = {
    "synchronous": "asynchronous=no",
    "asynchronous": "asynchronous=yes",
    "asynchronous, cached": "asynchronous=yes,resume=cached",
}
#: Figures are at the mean and at three percentiles.
COLUMNS = ["run", "batch time", "rules", "TTFT: mean, p50, p90, p99", "TPOT", "E2EL"]
#: Operations of a layer besides attention, and their counts.
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
    found["tokens"] = found.prefill + found.decode
    held = found.kv + found.kv_prefill + found.prefill
    found = found[found.tokens.between(1, budget) & (found.decode <= running) & (held <= memory)]

    def at(sizes: Any, *layers: str) -> Any:
        of = [known[each] for each in layers if each in known]
        return sum(np.interp(sizes, each["size"], each["time_us"]) for each in of)

    layer = found.time_us + sum(times * at(found.tokens, name) for name, times in _LAYER.items())
    sampled = found.decode + (found.prefill > 0)
    once = at(found.tokens, "embedding", "final_layernorm") + at(sampled, "lm_head", "sampler")
    found["seconds"] = (layers * layer + once) / 1e6
    found["square"] = (found.kv_prefill + found.prefill) ** 2 - found.kv_prefill**2
    return found[["prefill", "decode", "kv", "seconds", "square"]]


def figures(data: Path) -> Iterator[list[str]]:
    """Yield the lines of the table: measured seconds, then errors (%)."""
    for name, profile, layers, memory in RUNS:
        instance, report = read_trace(data / name, TraceOptions(memory=memory))
        assert report.measured is not None
        fitted = np.arange(len(instance)) % 2 == 0
        others = np.flatnonzero(~fitted)
        real = spreads(report.measured.take(others))
        shown = [[f"{(x or 0) / 1000:.4g}" for x in each.values()] for each in real.values()]
        yield [name, "", "measured", *map(", ".join, shown)]
        limits = report.settings.budget or 2048, report.settings.running or 256
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            found = rounds(data / "profiles" / profile, layers, *limits, instance.memory)
            found.to_csv(file.name, index=False)
            of_profile = read_batch_time(f"fitted({file.name})")
        for rules, text in RULES.items():
            method = read_method("vllm-v1(block=16,budget={},running={},{})".format(*limits, text))
            assert method.call is not None
            of_run = calibrated(instance, report.measured, method.call, fitted)
            for what, batch_time in (("profile", of_profile), ("calibrated", of_run)):
                timeline = simulate(instance, method.call, batch_time)
                ours = spreads(latencies(timeline).take(others))
                errors = [
                    [f"{100 * ((ours[metric][k] or 0) / (v or 1) - 1):+.1f}" for k, v in of.items()]
                    for metric, of in real.items()
                ]
                yield [name, what, rules, *map(", ".join, errors)]


def page() -> str:
    """Return the page with the table of the CSV."""
    text = PAGE.read_text(encoding="utf-8")
    start = text.index("| run ")
    shown = pd.read_csv(FIGURES, dtype=str, keep_default_na=False)
    table = shown.to_markdown(index=False, disable_numparse=True)
    return text[:start] + table + text[text.index("\n\n", start) :]


def main() -> int:
    """Make the figures and the page's table, or check the table."""
    data = [each for each in sys.argv[1:] if each != "--check"]
    made = [pd.DataFrame(figures(Path(each)), columns=COLUMNS).to_csv(index=False) for each in data]
    if "--check" in sys.argv[1:]:
        stale = made not in ([], [FIGURES.read_text()]) or page() != PAGE.read_text()
        print(f"stale: {PAGE.name}" if stale else "fresh")
        return int(stale)
    FIGURES.write_text(made[0], encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
