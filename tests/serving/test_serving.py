"""Instances in seconds: the same figures by every way in, and what is refused."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kvopt
from instances import write_instance
from kvopt.commands.evaluate import main as evaluate
from kvopt.commands.solve import main as solve
from kvopt.methods.grammar import read_method
from kvopt.runs.state import RunState
from kvopt.runs.task import Task
from kvopt.store import Store
from kvopt.store.row_files import read_rows
from reports.build import make_report, report_texts
from reports.stored_results import Results
from schedules import read_schedule
from schedules.schedule import KEEPS_TOKENS_COVERED, KEEPS_TOKENS_NOTE
from serving.batch_time import DEFAULT
from serving.commands.rates_command import main as rates
from serving.metrics import METRICS
from tests.kvopt.conftest import Refused
from tests.kvopt.sweep_tools import summary_of
from tests.oracles.draws import instance_of
from tests.serving.traces.test_results import folder

pytestmark = pytest.mark.usefixtures("quick_bounds")

BATCH = "affine(base=100,token=10)"
in_seconds = partial(instance_of, time_unit="second")
ROWS = ((0, 1, 1), (0.05, 1, 1), (0.1, 1, 3), (0.25, 1, 3))
FOUR = in_seconds(5, *ROWS, name="four", family="hand")
#: Of svf.  Rounds end at 110 (the first request), 230 (prompts of the second and third), 340, 450
#: (tokens of the third, with which the fourth does not fit), 560, 670 and 780 ms.
LATENCIES_MS = (110, 230 - 50, 450 - 100, 780 - 250)
TTFT_MS = (110, 180, 130, 310)
TEL = 1_170_000_000


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """The instance as a file."""
    path = tmp_path / "four.json"
    write_instance(FOUR, path)
    return path


def _by_hand(told: dict[Any, Any]) -> None:
    assert told["mean_e2el_ms"] == pytest.approx(sum(LATENCIES_MS) / 4)
    assert told["mean_ttft_ms"] == pytest.approx(sum(TTFT_MS) / 4)
    assert told["p99_ttft_ms"] == pytest.approx(np.percentile(TTFT_MS, 99))
    # (450 − 230) / 2 and (780 − 560) / 2.
    assert told["mean_tpot_ms"] == pytest.approx(110)
    assert told["request_throughput"] == pytest.approx(4 / 0.78)
    assert (told["evictions"], told["recomputed_tokens"]) == (0, 0)


@pytest.mark.usefixtures("no_figures")
def test_the_same_figures_everywhere(four: Path, tmp_path: Path) -> None:
    """solve.py, the API, evaluate.py, its store and resumption, compare, and the report."""
    result = kvopt.run(FOUR, "svf", batch_time=BATCH)
    assert (result.tel, result.tel_seconds, result.batch_time) == (TEL, 1.17, BATCH)
    assert kvopt.check(FOUR, result).valid
    _by_hand(vars(result.serving))
    assert result.goodput("e2el:0.35s") == pytest.approx(3 / 0.78)

    out = tmp_path / "out.json"
    named = [str(four), "--policy", "svf", "--batch-time", BATCH]
    assert solve([*named, "--out", str(out), "--quiet"]) == 0
    written = read_schedule(out)
    assert result.schedule is not None
    assert (written.starts, written.clock) == (result.schedule.starts, result.schedule.clock)
    assert written.tel == TEL
    assert kvopt.check(four, out).valid

    store = tmp_path / "runs.sqlite"
    swept = [str(four), "--methods", "svf", "--batch-time", BATCH, "--store", str(store)]
    rows = tmp_path / "rows.csv"
    assert evaluate([*swept, "--export", str(rows), "--quiet"]) == 0
    row = read_rows(rows).iloc[0].to_dict()
    assert (row["tel"], row["batch_time"], row["method"]) == (TEL, BATCH, "svf")
    _by_hand(row)
    assert {name: row[name] for name in METRICS} == pytest.approx(vars(result.serving))

    table = kvopt.compare(FOUR, "svf", batch_time=BATCH, time_limit=60, store=store)
    assert len(table) == 1
    line = table.iloc[0].to_dict()
    assert (line["tel"], line["batch_time"]) == (TEL, BATCH)
    _by_hand(line)
    runs = Store(store, readonly=True)
    frame = runs.rows()
    assert len(frame) == 1  # compare found what evaluate.py had stored
    files = report_texts(make_report(Results(frame), store=runs))
    runs.close()
    assert not any(name.startswith("tables/runs") for name in files)
    assert "[1 line](tables/runs-seconds.csv)" in files["README.md"]
    # The one batch time of all stands in the heading, not in each line.
    assert "In seconds under `affine(base=100,token=10)`" in files["README.md"]
    assert "| 0.292 |" in " ".join(files["tables/serving.md"].split())
    # No run in rounds, so nothing of them.
    assert "tables/runs.csv" not in files["README.md"]
    assert "requests that run and wait" in files["instances/four.html"]
    assert "best schedule UB, seconds</th><td>1.170</td>" in files["instances/four.html"]


@pytest.mark.slow("walks")
def test_sweeps_resume(four: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One key for a batch time, another for the next; in no group do they meet."""
    swept = [str(four), "--methods", "svf", "--store", str(tmp_path / "runs.sqlite")]
    assert evaluate([*swept, "--batch-time", BATCH]) == 0
    assert evaluate([*swept, "--batch-time", " affine( token=10 , base=100 )"]) == 0
    assert "1 run, 1 of them stored already" in capsys.readouterr().out
    assert evaluate([*swept, "--batch-time", "unit"]) == 0
    assert "1 run, 0 of them stored already" in capsys.readouterr().out
    frame = read_rows(tmp_path / "runs.sqlite")
    files = report_texts(make_report(Results(frame)))
    # In rounds of a second: 1, 1.95, 3.9 (starting at 1) and 6.75 s (starting at 4).
    assert sorted(frame["tel"]) == [TEL, 13_600_000_000]
    lines = files["tables/instances-seconds.md"].splitlines()
    assert sum("`four`" in line for line in lines) == 2


def test_a_batch_time_is_part_of_a_key() -> None:
    """The hash is the same in seconds and in rounds."""
    rounds, seconds = instance_of(5, (0, 1, 1)), in_seconds(5, (0, 1, 1))
    assert rounds.sha256 == seconds.sha256
    timed = Task(seconds, "x", read_method("svf"), batch_time="unit")
    assert timed.key != Task(rounds, "x", read_method("svf")).key
    assert Task.from_line(timed.to_line()) == timed


def test_the_summary_is_in_seconds(four: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the bound, what is left to gain at most, and the goodput."""
    arguments = [str(four), "--policy", "svf", "--batch-time", BATCH, "--slo", "ttft:150ms"]
    assert solve([*arguments, "--quiet"]) == 0
    told = summary_of(capsys.readouterr().out)
    assert told["batch time"] == BATCH
    assert told["TEL"] == "1.170 s  (from policy svf)"
    assert "AEL" not in told
    assert told["E2EL"].startswith("mean 0.292 s, ")
    # Alone the four take 110, 110, 330 and 330 ms.
    # The bound of the other process may be larger.
    assert told.get("of this run", told["lower bound"]).startswith("0.880 s  (from ")
    bound = float(told["lower bound"].split()[0])
    assert bound >= 0.88
    # 29 / 117 = 24.786 % and less.
    assert float(told["gap %"]) == pytest.approx(100 * (1 - bound / 1.17), abs=0.1)
    assert float(told["left to gain"].split()[2]) <= 24.8
    assert told["TTFT"] == "mean 0.182 s, p50 0.155, p90 0.271, p99 0.306"
    assert told["goodput"] == "2.564 requests/s, 50.0 % of them  (ttft:150ms)"
    assert told["evictions"] == "0  (0 tokens computed again)"
    assert told["checker"] == "valid"


def test_auto_has_a_schedule_a_bound_and_the_gap() -> None:
    """Its certificate proves the bound, which is at least that of each request alone."""
    result = kvopt.solve(FOUR, batch_time=BATCH, time_limit=1)
    assert result.tel == TEL
    assert result.bound is not None
    assert 880_000_000 <= result.bound <= TEL
    assert result.certificate is not None
    assert result.certificate["batch_time"] == BATCH
    assert result.gap == pytest.approx((TEL - result.bound) / TEL)
    alone = kvopt.bound(FOUR, batch_time=BATCH, time_limit=1)
    assert alone.bound_seconds == pytest.approx(result.bound / 1e9, rel=0.1)


@pytest.mark.slow("walks")
def test_a_memory_of_another_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The papers' 16,492 with a batch time of 8 KV heads, by every command and the API."""
    path, papers = tmp_path / "papers.json", replace(FOUR, memory=16_492)
    write_instance(papers, path)
    told = "16,492 tokens is the papers' number"
    assert told in str(kvopt.run(papers, "svf"))
    assert told not in str(kvopt.run(papers, "svf", batch_time=BATCH))
    assert solve([str(path), "--policy", "svf", "--quiet"]) == 0
    assert capsys.readouterr().out.count(told) == 1
    named = [str(path), "--methods", "svf", "--store", str(tmp_path / "runs.sqlite")]
    for command, more in ((evaluate, []), (rates, ["--rates", "2", "--time-limit", "2"])):
        assert command([*named, *more]) == 0
        err = capsys.readouterr().err
        assert err.count(told) == 1
        assert "batch time of Llama-2-70B on 2 A100 (the default" in err


def _measured(path: Path, model: str) -> None:
    """Write a result of vllm bench: two requests of four tokens, 0.1 s to the first."""
    result = {
        "model_id": model, "input_lens": [5, 6], "output_lens": [4, 4], "start_times": [0.0, 1.0],
        "ttfts": [0.1, 0.2], "itls": [[0.01, 0.02, 0.03]] * 2, "errors": ["", ""],
    }  # fmt: skip
    path.write_text(json.dumps(result))


@pytest.mark.slow("walks")
def test_measured_next_to_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """TTFT 0.1 and 0.2; TPOT 0.06 / 3; E2EL 0.16 and 0.26: mean and p50 are the same of two."""
    path = tmp_path / "bench.json"
    _measured(path, "meta-llama/Llama-2-70b-hf")
    named = [str(path), "--memory", "50", "--quiet"]
    assert solve([*named, "--policy", "svf"]) == 0
    lines = capsys.readouterr().out.splitlines()
    expected = {
        "TTFT": "mean 0.150 s, p50 0.150, p90 0.190, p99 0.199",
        "TPOT": "mean 0.020 s, p50 0.020, p90 0.020, p99 0.020",
        "E2EL": "mean 0.210 s, p50 0.210, p90 0.250, p99 0.259",
    }
    for name, shown in expected.items():
        (place,) = (k for k, line in enumerate(lines) if line.startswith(f"{name} measured"))
        measured, _, error = lines[place].split(maxsplit=2)[2].partition(" (simulated: mean ")
        assert measured == shown
        assert lines[place - 1].split()[:2] == [name, "mean"]
        # Both are shown in milliseconds.
        pair = lines[place - 1], shown
        found, real = (float(each.split("mean ")[1].split()[0]) for each in pair)
        off = 100 * (found / real - 1)
        assert float(error.partition(" %, p99")[0]) == pytest.approx(off, abs=0.1 + 0.1 / real)
    assert solve([*named, "--time-limit", "3"]) == 0
    alone = capsys.readouterr().out
    assert "TTFT measured  mean 0.150 s" in alone
    assert "simulated: mean" not in alone
    for more in (["--rate", "2"], ["--round-seconds", "1"]):
        assert solve([*named, "--policy", "svf", *more]) == 0
        assert "measured " not in capsys.readouterr().out


def test_limits_of_the_recorded_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the batch time names no GPU and no limits; else a line says how to keep them."""
    meta = {"engine_kwargs": {"max_num_seqs": 1, "max_num_batched_tokens": 512}}
    path = folder(tmp_path, json.dumps(meta))
    named = [str(path), "--memory", "100", "--policy", "vllm-v1", "--time-limit", "5"]
    for text, limits in (
        ("", "512 tokens a round, 1 requests at a time unless"),
        (" with running=7", "2,048 tokens a round, 7 requests at a time unless"),
        (" on h100-80", "8,192 tokens a round, 1,024 requests at a time unless"),
    ):
        assert solve([*named, "--batch-time", f"{BATCH}{text}"]) == 0
        shown = capsys.readouterr()
        assert f"vllm-v1: {limits}" in " ".join(shown.out.split())
        keeps = '--policy "vllm-v1(budget=512,running=1)" states the recorded'
        assert (keeps in shown.err) == bool(text)
    deployed = [*named, "--gpu", "l40s-48", "--model", "llama3-8b", "--batch-time"]
    for text in (" with running=7", "  WITH Running=7"):
        assert solve([*deployed, f"{BATCH}{text}"]) == 0
        assert f"{BATCH} on l40s-48 with running=7" in capsys.readouterr().out


@pytest.mark.slow("walks")
def test_other_models(tmp_path: Path, capsys: pytest.CaptureFixture[str], refused: Refused) -> None:
    """Refused by every command unless a batch time is named; named, a line has the difference."""
    path = tmp_path / "bench.json"
    _measured(path, "Qwen/Qwen3-8B")
    store = ["--store", str(tmp_path / "runs.sqlite")]
    named = [str(path), "--memory", "50", "--quiet"]
    told = "measured with Qwen/Qwen3-8B, and the default batch time is that of Llama-2-70B"
    for command, more in (
        (solve, ["--policy", "svf"]),
        (evaluate, ["--methods", "svf", *store]),
        (rates, ["--rates", "2", "--methods", "svf", *store]),
    ):
        line = refused(command, *named, *more)
        assert told in line
        assert f"kvopt calibrate {path} fits one" in line
        assert command([*named, *more, "--batch-time", DEFAULT]) == 0
        foreign = "measured with Qwen/Qwen3-8B, the batch time is that of Llama-2-70B"
        assert foreign in capsys.readouterr().err
        assert command([*named, *more, "--batch-time", BATCH]) == 0
        assert "Qwen" not in capsys.readouterr().err
    # In rounds there is no batch time.
    assert solve([*named, "--policy", "svf", "--round-seconds", "1"]) == 0


def test_a_suite_s_traces_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of another model: which batch time they get, unless the suite names one; what was read."""
    _measured(tmp_path / "bench.json", "Qwen/Qwen3-8B")
    suite, store = tmp_path / "mine.toml", ["--store", str(tmp_path / "runs.sqlite")]
    told = "measured with Qwen/Qwen3-8B, the batch time is that of Llama-2-70B"
    for batch_time, expected in (("", 1), (f'batch_time = "{BATCH}"\n', 0)):
        suite.write_text(
            f'summary = "s"\n[[section]]\nname = "a"\nmethods = ["svf"]\n{batch_time}'
            'instances = [{ trace = "bench.json", memory = 50 }]\n'
        )
        assert evaluate([str(suite), "--quiet", *store]) == 0
        assert capsys.readouterr().err.count(told) == expected
    assert evaluate([str(suite), *store]) == 0
    assert "2 rows read, 2 requests kept" in capsys.readouterr().err
    asked = [str(tmp_path / "bench.json"), "--methods", "svf", *store, "--gpu", "h100-80"]
    assert evaluate([*asked, "--model", "llama3-8b"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "simulated; computed, not measured: batch time and memory (docs/gpus.md)"
    alone = ["--policy", "svf", "--gpu", "h100-80", "--model", "llama3-8b", "--time-limit", "3"]
    assert solve([str(tmp_path / "bench.json"), *alone]) == 0
    assert last in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_one_row_a_request(suffix: str, tmp_path: Path, four: Path) -> None:
    """The file and the API's frame: latencies as worked out above, good ones under an objective."""
    path = tmp_path / f"requests{suffix}"
    named = [str(four), "--policy", "svf", "--batch-time", BATCH, "--slo", "ttft:0.15s", "--quiet"]
    assert solve([*named, "--requests", str(path)]) == 0
    read = pd.read_csv(path) if suffix == ".csv" else pd.read_parquet(path)
    assert read["e2el_ms"].tolist() == list(LATENCIES_MS)
    assert read["ttft_ms"].tolist() == list(TTFT_MS)
    assert read["good"].tolist() == [True, False, True, False]
    assert read["arrival_ns"].tolist() == [0, 50_000_000, 100_000_000, 250_000_000]
    assert np.isnan(read["tpot_ms"][0])
    frame = kvopt.run(FOUR, "svf", batch_time=BATCH).requests
    pd.testing.assert_frame_equal(frame, read.drop(columns="good"), rtol=1e-15, atol=0)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--slo", "ttft"], "expected ttft:TIME"),
        (["--gpu", "h100"], "found no --model; GPUs: a100-40, a100-80, h100-80"),
        (["--batch-time", "unti"], "did you mean unit?"),
        (["--batch-time", "fitted(nowhere.csv)"], "cannot be read"),
        (["--requests", "requests.txt"], "expected a name with .csv or .parquet"),
        (["--method", "cpsat"], "has arrivals in seconds: read the trace with --round-seconds S"),
        (["--policy", "lp-swap"], "is advised by an LP relaxation in rounds"),
        (["--policy", "all", "--requests", "requests.csv"], "prints a table"),
        (["--arrival-seed", "0"], "arrival_seed: goes with a rate, found none"),
    ],
)
def test_what_is_refused(arguments: list[str], expected: str, four: Path, refused: Refused) -> None:
    assert expected in refused(solve, four, "--quiet", *arguments)


@pytest.mark.parametrize("option", [["--batch-time", "unit"], ["--slo", "e2el:1s"]])
def test_rounds_have_no_seconds(option: list[str], refused: Refused) -> None:
    """Refused for an instance in rounds, by both commands."""
    assert "arrivals in" in refused(solve, "tiny_handover", "--policy", "svf", "--quiet", *option)
    if "--slo" not in option:
        told = refused(evaluate, "tiny_handover", "--methods", "svf", "--quiet", *option)
        assert "arrivals in seconds; --rate R draws" in told


def test_a_suite_states_a_batch_time(tmp_path: Path, four: Path) -> None:
    """In numbers; no file of measurements, and nothing that is no batch time."""
    suite = tmp_path / "mine.toml"
    text = (
        'summary = "seconds"\n[[section]]\nname = "only"\nmethods = ["svf"]\n'
        f"instances = [{json.dumps(str(four))}]\nbatch_time = "
    )
    suite.write_text(text + json.dumps(BATCH))
    store = tmp_path / "runs.sqlite"
    assert evaluate([str(suite), "--store", str(store), "--quiet"]) == 0
    assert read_rows(store)["tel"].tolist() == [TEL]
    suite.write_text(text + '"fitted(x.csv)"')
    assert evaluate([str(suite), "--store", str(store), "--quiet"]) == 2


def test_the_registry_takes_no_runs_in_seconds(tmp_path: Path, four: Path) -> None:
    """Their hash is that of the same requests in rounds, their TEL is not."""
    from kvopt.best_known.claims import runs_by_instance

    store = tmp_path / "runs.sqlite"
    named = [str(four), "--methods", "svf", "--batch-time", BATCH, "--store", str(store)]
    assert evaluate([*named, "--quiet"]) == 0
    runs = Store(store, readonly=True)
    assert runs_by_instance(runs) == {}
    runs.close()


def test_rounds_beyond_what_was_measured_are_told() -> None:
    """A prompt of 5,000 tokens is more than the model has seen in a round, two of 10 are not."""
    large = in_seconds(10_000, (0, 5000, 3), (0, 10, 3))
    (note,) = kvopt.run(large, "fcfs").notes
    assert note.startswith("1 of 3 rounds are larger than llama2-70b-2xa100 was measured for")
    assert "4,096 prompt tokens" in note
    assert not kvopt.run(FOUR, "fcfs").notes
    assert not kvopt.run(large, "fcfs", batch_time=BATCH).notes


def test_what_is_left_where_tokens_are_kept() -> None:
    """Told where the bound covers it; with no time for prompts keeping them is cheaper than any."""
    tight = in_seconds(12, *[(0, 2, 6)] * 3)
    method = "vllm-v1(accounting=tokens)"
    covered = kvopt.run(tight, method, batch_time=BATCH)
    assert covered.schedule is not None
    assert covered.schedule.easier
    assert covered.bound is not None
    assert covered.tel is not None
    assert covered.gap == pytest.approx(1 - covered.bound / covered.tel)
    assert covered.serving.evictions > 0
    assert covered.notes == (KEEPS_TOKENS_COVERED,)
    assert "may be below OPT" not in f"{covered} {covered.record.detail}"
    assert "schedulers included; kept" in str(covered)
    free = kvopt.run(tight, method, batch_time="linear(base=100,decode=50)")
    assert (free.gap, free.notes) == (None, (KEEPS_TOKENS_NOTE,))
    assert "left to gain" not in str(free)
    for each, told in ((covered, True), (free, False)):
        table = kvopt.compare(tight, method, batch_time=each.batch_time)
        assert table["gap"].notna().tolist() == [told]


def _one(tmp_path: Path, arrival: float, prompt: int, output: int) -> str:
    """Return the path of an instance of one request and the largest memory."""
    path = tmp_path / "one.json"
    write_instance(in_seconds(10**9, (arrival, prompt, output)), path)
    return str(path)


@pytest.mark.parametrize("method", ["mc-sf", "bound:bound-seconds", "auto"])
def test_arrivals_beyond_nanoseconds(method: str, tmp_path: Path, refused: Refused) -> None:
    """A request after 158 years: one line, and in a sweep a row that says so."""
    path = _one(tmp_path, 5e9, 1, 2)
    told = refused(solve, path, "--method", method, "--quiet")
    assert "request id 0 arrives at 5000000000.0 seconds, expected at most 4000000000" in told
    table = kvopt.compare(kvopt.read(path), "mc-sf", store=tmp_path / "runs.sqlite")
    assert table["status"].tolist() == ["error"]
    assert "expected at most 4000000000" in table["detail"][0]


def test_times_beyond_64_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """10^9 tokens, each read in every round: true, but nothing that a row can hold."""
    assert solve([_one(tmp_path, 0, 1, 10**9 - 1), "--policy", "mc-sf", "--quiet"]) == 4
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "a TEL of more than 64 bits (292 years in nanoseconds)" in shown.out


def test_a_wrong_bound_beyond_64_bits_is_one() -> None:
    """Beside a schedule, or by a method of one's own, it is held against the method."""
    schedule = kvopt.run(FOUR, "svf", batch_time=BATCH).schedule
    assert schedule is not None
    for own in (False, True):
        state = RunState(FOUR, "liar", own=own, batch_time=BATCH)
        assert state.offer(schedule, "svf")
        assert not state.raise_bound(2**63, "liar")
        state.close()
        assert state.contradictions == ["a lower bound (liar) of more than 64 bits"]
        assert state.standing() == "error"


@pytest.mark.parametrize("more", [[], ["--slo", "ttft:1s"]])
def test_many_rounds(more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """10^9 rounds of a microsecond: the schedule stands, without serving metrics."""
    path = _one(tmp_path, 0, 1, 10**9 - 1)
    batch_time = ["--batch-time", "affine(base=0.001,token=0)"]
    assert solve([path, "--policy", "mc-sf", "--quiet", *batch_time, *more]) == 0
    shown = capsys.readouterr().out
    assert "TEL           999.999 s" in shown or "TEL           1000.000 s" in shown
    assert "without serving metrics: mc-sf: expected at most 20,000,000 rounds" in shown
