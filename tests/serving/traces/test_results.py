"""Results of LLMServingSim, GuideLLM and AIPerf: what was measured, settings, runs, damage."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from instances.instance_names import find_instance
from serving.deployments import RecordedSettings
from serving.traces import TraceError, TraceOptions, TraceReport
from serving.traces.read_trace import is_trace, read_trace
from serving.traces.trace_options import TraceOptionError
from tests.serving.traces.cases import BY_NAME

META: dict[str, Any] = {
    "model": "Some/Model-8B",
    "engine_kwargs": {"max_num_seqs": 256, "max_num_batched_tokens": 2048, "data_parallel_size": 2},
    "kv_cache": {"num_gpu_blocks": 8, "block_size": 16, "num_cpu_blocks": None},
    "hardware": {"device_name": "NVIDIA GeForce RTX 4090"},
}  # fmt: skip


def folder(tmp_path: Path, meta: str) -> Path:
    path = tmp_path / "run"
    path.mkdir()
    (path / "requests.jsonl").write_text(BY_NAME["llmservingsim.jsonl"].text)
    (path / "meta.json").write_text(meta)
    return path


@pytest.mark.parametrize(
    ("file", "firsts", "latencies"),
    [
        ("llmservingsim.jsonl", [250_000_000, 500_000_000], [250_000_000, 1_500_000_000]),
        ("guidellm.json", [125_000_000, 250_000_000], [125_000_000, 1_000_000_000]),
        ("aiperf.jsonl", [250_500_000, 125_000_000], [1_250_000_000, 500_000_001]),
    ],
)
def test_what_was_measured(file: str, firsts: list[int], latencies: list[int]) -> None:
    """From the start to the first and the last token, by the order of the starts."""
    _, report = read_trace(BY_NAME[file].path, TraceOptions(memory=100))
    assert report.measured is not None
    assert report.measured.first_tokens.tolist() == firsts
    assert report.measured.latencies.tolist() == latencies
    assert any("1 row starts before the one above: sorted" in note for note in report.notes)


def test_a_request_that_was_never_queued_moves_no_clock(tmp_path: Path) -> None:
    """Its ``queued_ts`` is 0, as its tokens' times; the others' TTFT are as without it."""
    report = changed(tmp_path, "null", "0")
    assert report.measured is not None
    assert report.measured.first_tokens.tolist() == [250_000_000, 500_000_000]
    assert str(report.skipped[0].reason) == "its tokens have no times in order"


def test_the_engines_settings_give_the_memory(tmp_path: Path) -> None:
    """A folder is its run; blocks times their size are M unless another is asked for."""
    path = folder(tmp_path, json.dumps(META))
    assert is_trace(path)
    assert find_instance(path) == path / "requests.jsonl"
    instance, report = read_trace(path, TraceOptions())
    assert (instance.memory, instance.name) == (128, "run_m128")
    assert len(instance) == 3
    gpu, model = "NVIDIA GeForce RTX 4090", "Some/Model-8B"
    assert report.settings == RecordedSettings(8, 16, 256, 2048, 2, gpu, model)
    assert any("recorded on 2 engines" in note for note in report.notes)
    assert not any("memory" in note for note in report.notes)
    instance, report = read_trace(path, TraceOptions(memory=100))
    assert instance.memory == 100
    assert "memory: 100 tokens, recorded with 128" in report.notes


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ("{", "meta.json: row 1: no valid JSON"),
        ("[1]", "meta.json: row 1: expected a JSON object, found [1]"),
        (json.dumps(META | {"kv_cache": {"num_gpu_blocks": "8"}}),
         "kv_cache.num_gpu_blocks: expected a number of at least 1, found '8'"),
        (json.dumps(META | {"kv_cache": {"block_size": 0}}),
         "kv_cache.block_size: expected a number of at least 1, found 0"),
    ],
)  # fmt: skip
def test_damaged_settings(meta: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=re.escape(expected)):
        read_trace(folder(tmp_path, meta), TraceOptions(memory=100))


def test_more_blocks_than_any_memory(tmp_path: Path) -> None:
    """One line, unless another memory is asked for."""
    cache = {"num_gpu_blocks": 10**9, "block_size": 16}
    path = folder(tmp_path, json.dumps(META | {"kv_cache": cache}))
    with pytest.raises(TraceOptionError, match="expected at most 1,000,000,000 tokens of memory"):
        read_trace(path, TraceOptions())
    assert read_trace(path, TraceOptions(memory=100))[0].memory == 100


def changed(tmp_path: Path, old: str, new: str) -> TraceReport:
    case = BY_NAME["llmservingsim.jsonl"]
    assert old in case.text
    path = tmp_path / "requests.jsonl"
    path.write_text(case.text.replace(old, new))
    return read_trace(path, TraceOptions(memory=100))[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"first_token_ts": 51.0', '"first_token_ts": "soon"'),
        ('"first_token_ts": 51.0', '"first_token_ts": 50.4'),
        ('"last_token_ts": 52.0', '"last_token_ts": 50.9'),
        ('"last_token_ts": 52.0', '"last_token_ts": null'),
    ],
)
def test_times_out_of_order(old: str, new: str, tmp_path: Path) -> None:
    """A token before its request, a last before a first, or none: the row is counted."""
    report = changed(tmp_path, old, new)
    times = [(each.rows, each.first_row) for each in report.skipped if "no times" in str(each)]
    assert times == [(2, 1)]
    assert report.measured is not None
    assert len(report.measured) == report.kept == 1


def test_a_sweep_has_several_runs(tmp_path: Path) -> None:
    """One is chosen by its number; its model is known."""
    report = json.loads(BY_NAME["guidellm.json"].text)
    report["benchmarks"] *= 2
    (tmp_path / "benchmarks.json").write_text(json.dumps(report))
    with pytest.raises(TraceError, match=r"\(--run K\), found 2: 1 \(poisson\), 2 \(poisson\)"):
        read_trace(tmp_path / "benchmarks.json", TraceOptions(memory=100))
    _, read = read_trace(tmp_path / "benchmarks.json", TraceOptions(memory=100, run=2))
    assert read.settings.model == "Some/Model-8B"


def test_totals_name_the_file_with_records(tmp_path: Path) -> None:
    """AIPerf writes two files, and one has no requests."""
    path = tmp_path / "profile_export_aiperf.json"
    path.write_text('{"request_latency": {"unit": "ms", "avg": 1.5}, "input_config": {}}')
    with pytest.raises(TraceError, match=r"totals only: they are in profile_export\.jsonl"):
        read_trace(path, TraceOptions(memory=100))
