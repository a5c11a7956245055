"""The largest sustained rate that keeps an objective: the search, the ceiling, the command."""

import json
import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.policy_registry import policies
from heuristics.simulator import RunSetting, run_policy
from instances import Instance, Request
from instances.arrivals import redraw_arrivals
from kvopt.methods.grammar import read_method
from kvopt.methods.method import Method
from kvopt.sweeps.sweep_inputs import Wishes
from schedules.clock.timeline import make_timeline
from serving import capacity_search as module
from serving.batch_time import read_batch_time
from serving.capacity_search import HIGHEST, LOWEST, Probe, capacity, largest_rate, stability_rate
from serving.commands import capacity_command as command
from serving.slo import Slo, read_slo
from serving.sustained_runs import steadiness
from tests.kvopt.conftest import Refused
from tests.oracles.draws import instance_of


@given(st.floats(LOWEST, HIGHEST * 0.999), st.floats(LOWEST, HIGHEST), st.floats(0.01, 0.5))
def test_the_search_ends_around_the_rate(most: float, start: float, precision: float) -> None:
    low, high = largest_rate(lambda rate: rate <= most, start, precision)
    assert low <= most < high <= low * (1 + precision) * (1 + 1e-12)


def test_a_rate_beyond_those_looked_at() -> None:
    """All are kept, or none is."""
    assert largest_rate(lambda _: True, 1.0, 0.1) == (HIGHEST, math.inf)
    assert largest_rate(lambda _: False, 1.0, 0.1) == (0.0, LOWEST)


def test_the_stability_rate_by_hand() -> None:
    """M = 2, s = o = 1: g = 1; a round with 2 tokens held is of two requests, 100 + 2 · 150 ms."""
    instance = Instance("two", 2, tuple(Request(i, 0, 1, 1) for i in range(2)))
    model = read_batch_time("linear(base=100,prefill=150)")
    found = stability_rate(instance, model)
    assert found.rate == pytest.approx(5.0)
    assert str(found) == "M / (b E[g]) = 2 / (0.4 s * 1) = 5 a second"
    # M = 4, o = 2: g = 1 + 2, so 4 / 3 of a request are held: 100 + 4 / 3 · 150 ms.
    longer = Instance("one", 4, (Request(0, 0, 1, 2),))
    assert str(stability_rate(longer, model)) == "M / (b E[g]) = 4 / (0.3 s * 3) = 4.445 a second"
    assert found.error == 0.0
    # Works 1 and 3: deviation √2, mean 2; two standard errors are 2 · √2 / 2 / √2.
    two = instance_of(4, (0, 1, 1), (0, 3, 1))
    assert stability_rate(two, read_batch_time("linear(prefill=1)")).error == pytest.approx(1)
    assert stability_rate(longer, model).error == math.inf


def test_the_error_sees_drift() -> None:
    """Blocks of 1, 1, 1, 1, 1, 3, 3, 3, 3, 3 have mean 2 and deviation √(10 / 9): 2 / 2 / 3.

    Independent requests would have 2 / 2 / √1000; in random order the error is about that.
    """
    values = np.repeat([1.0, 3.0], 500)
    assert module.blockwise_error(values) == pytest.approx(1 / 3)
    draws = map(np.random.default_rng, range(50))
    shuffled = [module.blockwise_error(each.permutation(values)) for each in draws]
    assert np.mean(shuffled) == pytest.approx(1 / 1000**0.5, rel=0.1)


def test_requests_arrive_again_and_again() -> None:
    """A pass is a copy of the last, n / rate later, with the gaps of one pass in proportion."""
    instance = Instance("three", 9, tuple(Request(i, 0, 1, 1 + i) for i in range(3)))
    drawn = redraw_arrivals(instance, 2.0, 7, 4)
    times = drawn.arrival_times.reshape(4, 3)
    assert (np.diff(times, axis=0) == 1_500_000_000).all()
    assert times[0].tolist() == redraw_arrivals(instance, 2.0, seed=7).arrival_times.tolist()
    rows = [(each.id, each.output) for each in drawn.requests]
    assert rows == [(i, 1 + i % 3) for i in range(12)]


def test_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line a method, the table as JSON, and what no scheduler reaches."""
    most = {"svf": 4.0, "vllm-v1": 0.0}

    def probe(rate: float, drawn: Instance, method: Method, *_: object) -> Probe:
        assert len(drawn) == 3 * 400
        share = 1.0 if rate <= most[method.text] or method.text == "svf" else 0.5
        metrics: dict[str, float | None] = {"throughput": rate, "output_throughput": 1.0}
        metrics |= {"mean_ttft_ms": 30.0, "p99_ttft_ms": 40.0}
        metrics |= {"mean_tpot_ms": 5.0, "p99_tpot_ms": 6.0}
        return Probe(rate, share, rate <= most[method.text], metrics=metrics)

    monkeypatch.setattr(module, "_probe", probe)
    out, store = tmp_path / "capacity.json", tmp_path / "runs.sqlite"
    asked = ["chat", "--set", "n=20", "--slo", "ttft:10ms,tpot:60ms", "--methods", "svf,vllm-v1"]
    asked += ["--export", str(out), "--store", str(store), "--gpu", "h100-80"]
    asked += ["--model", "llama3.1-8b"]
    # vllm-v1 keeps it at no rate.
    assert command.main(asked) == 1
    shown = capsys.readouterr()
    told = shown.out.splitlines()
    assert told[1].split()[:6] == ["svf", "4", "4.177", "burst", "76.57", "100.0"]
    assert told[2].split()[:2] == ["vllm-v1", "0"]
    assert told[3] == (
        "vllm-v1: 0.001 a second, the lowest rate, does not keep ttft:10ms,tpot:60ms: a request "
        "takes 0.030 s TTFT (p99 0.040), 0.005 s TPOT (p99 0.006)"
    )
    computed = "simulated; computed, not measured: batch time (docs/gpus.md)"
    assert told[-2:] == ["arrivals are drawn (Poisson, seed 0)", computed]
    assert "svf at 8: 100.0 % keep it, a burst: 8 are completed" in shown.err
    svf, vllm = json.loads(out.read_text())
    assert (svf["capacity"], svf["burst"], vllm["capacity"]) == (4.0, True, 0.0)
    assert svf["not_kept"] <= 4.0 * 1.05
    assert svf["stability_rate"] == pytest.approx(76.57, abs=0.01)


@pytest.mark.parametrize(
    ("probe", "says"),
    [
        (
            Probe(1, math.nan, detail="too small"),
            "no schedule at 0.001 a second, the lowest rate: too",
        ),
        (
            Probe(1, 1.0, False, metrics={"mean_ttft_ms": 30.0, "p99_ttft_ms": 40.0}),
            "0.001 a second, the lowest rate, is not sustained: a request takes 0.030 s TTFT",
        ),
    ],
)
def test_why_no_rate_is_kept(
    probe: Probe, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not each lowest rate misses the objective: a run may fail, or be a burst."""
    monkeypatch.setattr(module, "_probe", lambda rate, *_: replace(probe, rate=rate))
    asked = ["chat", "--set", "n=400", "--slo", "ttft:10s", "--methods", "svf", "--quiet"]
    assert command.main(asked) == 1
    assert f"svf: {says}" in capsys.readouterr().out


def test_a_wrong_run_ends_the_search(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what is wrong, and no rate is shown."""
    monkeypatch.setattr(module, "alarms", lambda runs: [f"{runs[0].run}: refused"])
    asked = ["chat", "--set", "n=400", "--slo", "ttft:10ms", "--methods", "svf", "--quiet"]
    assert command.main([*asked, "--store", str(tmp_path / "runs.sqlite")]) == 5
    shown = capsys.readouterr()
    assert "A METHOD IS WRONG: svf on chat_" in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")


def test_a_run_is_as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its passes are doubled until it is sustained, fails, or grows after 20 times in service."""
    runs: list[tuple[float, int]] = []

    def probe(rate: float, drawn: Instance, *_: object) -> Probe:
        passes = len(drawn) // 100
        runs.append((rate, passes))
        sustained = rate < 2 if passes > (30 if rate < 2 else 80) else None
        return Probe(rate, 0.5 if 1 < rate < 2 else 1.0, sustained)

    monkeypatch.setattr(module, "_probe", probe)
    wishes = Wishes(batch_time=read_batch_time("linear(base=1)"))
    hundred = Instance("hundred", 10**6, tuple(Request(i, 0, 1, 1) for i in range(100)))
    table, _ = capacity(hundred, [read_method("svf")], wishes, Slo(tpot=1), precision=0.42)
    line = table.iloc[0]
    assert (line["capacity"], line["not_kept"], line["burst"]) == (1.0, 2**0.5, False)
    assert [passes for rate, passes in runs if rate == 1] == [12, 24, 48]
    assert [passes for rate, passes in runs if rate == 2] == [12, 24, 48, 96]
    assert [passes for rate, passes in runs if rate == 2**0.5] == [12]


def test_the_export_has_all_columns_without_a_kept_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of workloads with and without a kept rate can be joined."""
    monkeypatch.setattr(module, "_probe", lambda rate, *_: Probe(rate, 0.0))
    one = Instance("one", 10, (Request(0, 0, 1, 1),))
    table, _ = capacity(one, [read_method("svf")], Wishes(), Slo(tpot=1))
    assert table[["share", "goodput", "p99_e2el_ms"]].isna().all(axis=None)


def test_a_burst_does_not_count(tmp_path: Path) -> None:
    """Tokens come in time at any rate, so the limit on TPOT alone is kept by a burst, too."""
    instance = Instance("six", 12, tuple(Request(i, 0, 2, 1 + i % 3) for i in range(6)))
    wishes = Wishes(batch_time=read_batch_time("affine(base=100,token=10)"))
    asked = partial(capacity, store=tmp_path / "runs.sqlite", precision=0.5)
    table, runs = asked(instance, [read_method("fcfs")], wishes, read_slo("tpot:10s"))
    line = table.iloc[0]
    most = stability_rate(instance, read_batch_time("affine(base=100,token=10)")).rate
    assert most / 2 < line["capacity"] <= most
    assert line["burst"]
    assert line["throughput"] == pytest.approx(line["capacity"], rel=0.02)
    assert (runs["share"] == 1).all()


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ([], "slo"),
        (["--slo", "tpop:1"], "tpop"),
        (["--slo", "ttft:1s", "--share", "0"], "expected percent above 0, at most 100"),
        (["--slo", "ttft:1s", "--export", "x.txt"], "expected a name with .csv or .json"),
        (["--slo", "ttft:1s", "--gpu", "h100-80"], "found no --model"),
        (["--slo", "ttft:1s", "--methods", ","], "expected a method"),
        (["--slo", "ttft:1s", "--methods", "bound"], "expected one that makes schedules"),
    ],
)
def test_bad_usage(asked: list[str], says: str, refused: Refused, tmp_path: Path) -> None:
    assert says in refused(command.main, "chat", *asked, "--store", tmp_path / "runs.sqlite")


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=2, max_size=8),
    st.sampled_from(["svf", "fcfs", "vllm-v1"]),
    st.floats(1.1, 4.0),
)
def test_no_policy_sustains_more_than_the_stability_rate(
    lengths: list[tuple[int, int]], policy: str, factor: float
) -> None:
    """Of these requests, which arrive again and again."""
    instance = instance_of(12, *((0, *each) for each in lengths))
    model = read_batch_time("linear(base=20,prefill=30,decode=5)")
    rate = stability_rate(instance, model).rate * factor
    drawn = redraw_arrivals(instance, rate, passes=3 * (400 // len(lengths)))
    values = {"block": 1} if policy == "vllm-v1" else None
    schedule = run_policy(policies()[policy], drawn, RunSetting(values, batch_time=model))
    assert steadiness(make_timeline(drawn, schedule)).grows
