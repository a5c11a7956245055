"""Results of vllm bench as it writes them: without lists, appended, out of order, measured."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from instances.batch_time import NANOSECONDS
from kvopt.commands.evaluate import main as evaluate
from kvopt.commands.solve import main as solve
from serving.traces import TraceError, TraceOptions
from serving.traces.convert import main as convert
from serving.traces.read_trace import read_trace

#: In the order of ``vllm/benchmarks/serve.py``: settings, totals, lists, spreads.
SETTINGS: dict[str, Any] = {
    "date": "20260101-120000", "endpoint_type": "openai-chat", "backend": "openai-chat",
    "label": None, "model_id": "Some/Model-8B", "tokenizer_id": "Some/Model-8B", "num_prompts": 4,
    "request_rate": 2.5, "burstiness": 1.0, "max_concurrency": 2, "duration": 3.5, "completed": 3,
    "failed": 1, "total_input_tokens": 36, "total_output_tokens": 13, "request_throughput": 0.86,
    "request_goodput": None, "output_throughput": 3.7, "total_token_throughput": 14.0,
}  # fmt: skip
LISTS: dict[str, Any] = {
    "input_lens": [12, 13, 14, 10],
    "output_lens": [3, 0, 4, 1],
    "ttfts": [0.25, 0.0, 0.5, 0.125],
    "itls": [[0.5, 0.25], [], [0.125, 0.125, 0.25], []],
    "start_times": [1000.25, 1000.5, 1001.75, 1001.0],
    "generated_texts": ["a b c", "", "a b c d", "a"],
    "errors": ["", "Internal Server Error", "", ""],
}
SPREADS = {"mean_ttft_ms": 291.7, "median_ttft_ms": 250.0, "p99_ttft_ms": 495.0}
DETAILED = SETTINGS | LISTS | SPREADS


def read(path: Path, **options: Any) -> Any:
    return read_trace(path, TraceOptions(memory=100, **options))


def written(tmp_path: Path, *results: dict[str, Any], between: str = "\n") -> Path:
    path = tmp_path / "bench.json"
    path.write_text(between.join(map(json.dumps, results)))
    return path


@pytest.mark.parametrize("indent", [None, 2])
def test_without_the_lists_the_missing_option_is_told(tmp_path: Path, indent: int | None) -> None:
    """A file without --save-detailed has totals only; on one line, or spread over several."""
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(SETTINGS | SPREADS, indent=indent))
    with pytest.raises(TraceError, match=r"\A.*totals only: .* lists with --save-detailed.*\Z"):
        read(path)


def test_rows_are_sorted_by_their_start(tmp_path: Path) -> None:
    """The last asked for started before the third; what was measured moves with its request."""
    instance, report = read(written(tmp_path, DETAILED))
    rows = [(each.arrival, each.prompt, each.output) for each in instance.requests]
    assert rows == [(0, 12, 3), (0.75, 10, 1), (1.5, 14, 4)]
    assert "start_times: 1 row starts before the one above: sorted by start" in report.notes
    assert [(each.rows, each.first_row) for each in report.skipped] == [(1, 2)]
    # E2EL: 0.25 + 0.75, 0.125 + 0, 0.5 + 0.5 seconds.
    assert (report.measured.latencies / NANOSECONDS).tolist() == [1.0, 0.125, 1.0]
    assert (report.measured.first_tokens / NANOSECONDS).tolist() == [0.25, 0.125, 0.5]
    assert report.settings.model == "Some/Model-8B"


def test_no_latencies_of_another_load(tmp_path: Path) -> None:
    """Drawn arrivals are none that anything was measured at; without streaming all TTFT are 0."""
    path = written(tmp_path, DETAILED)
    assert read(path, rate=2.0)[1].measured is None
    assert len(read(path, limit=2)[1].measured) == 2
    whole = DETAILED | {"ttfts": [0.0] * 4, "itls": [[]] * 4}
    assert read(written(tmp_path, whole))[1].measured is None


@pytest.mark.parametrize("lacking", [("start_times",), ("start_times", "ttfts")])
def test_no_starts_are_told_by_quiet_commands(
    lacking: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs are in rounds then, and no measured latency is shown; drawn arrivals give seconds."""
    result = {key: each for key, each in DETAILED.items() if key not in lacking}
    named = [str(written(tmp_path, result)), "--memory", "100"]
    told = f"{named[0]}: no start_times in the file: all requests arrive at round 0, in rounds and "
    shown = "measured is not shown" if len(lacking) == 1 else "in seconds (--rate"
    for command, more in (
        (convert, ["--out", str(tmp_path / "out.json")]),
        (convert, ["--out", str(tmp_path / "out.json"), "--quiet"]),
        (solve, ["--policy", "svf", "--quiet"]),
        (evaluate, ["--methods", "svf", "--store", str(tmp_path / "runs.sqlite"), "--quiet"]),
    ):
        assert command([*named, *more]) == 0
        lines = capsys.readouterr().err.splitlines()
        assert "--quiet" not in more or len(lines) == 1
        assert [told in line and shown in line for line in lines].count(True) == 1
        assert "all at round 0" not in "".join(lines)
    assert read(tmp_path / "bench.json", rate=2.0)[1].warning == ""
    assert read(written(tmp_path, DETAILED))[1].warning == ""


@pytest.mark.parametrize("between", ["\n", "", "\n\n"])
def test_one_of_several_runs(tmp_path: Path, between: str) -> None:
    """--append-result writes one object after the other; several are listed and one is chosen."""
    other = DETAILED | {"request_rate": "inf", "input_lens": [1, 2, 3, 4]}
    path = written(tmp_path, DETAILED, other, between=between)
    with pytest.raises(TraceError) as refused:
        read(path)
    assert str(refused.value).endswith(
        "expected one run (--run K), found 2: 1 (20260101-120000, Some/Model-8B, request_rate 2.5, "
        "num_prompts 4), 2 (20260101-120000, Some/Model-8B, request_rate inf, num_prompts 4)"
    )
    assert [each.prompt for each in read(path, run=2)[0].requests] == [1, 4, 3]
    with pytest.raises(TraceError, match="expected run 3, found 2: 1 "):
        read(path, run=3)


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ({"ttfts": [0.25, 0.0, 0.5, "soon"]}, "row 4: ttfts: expected a number of seconds"),
        ({"itls": [[0.5], [], [-1.0], []]}, "row 3: itls: expected a list of seconds"),
        ({"itls": [[0.5], [], [True], []]}, "row 3: itls: expected a list of seconds"),
        ({"itls": [0.5, [], [], []]}, "row 1: itls: expected a list of seconds, found 0.5"),
        ({"itls": [[]]}, "itls: expected 4 entries as in input_lens, found 1"),
    ],
)
def test_latencies_that_are_none(damage: dict[str, Any], expected: str, tmp_path: Path) -> None:
    """Each with its row in the file, wherever it was sorted to."""
    with pytest.raises(TraceError, match=re.escape(expected)):
        read(written(tmp_path, DETAILED | damage))
