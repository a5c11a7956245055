"""The largest rate that keeps an objective: the search, what no scheduler reaches, the command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.registry import policies
from heuristics.simulator import Setting, run_policy
from instances import Instance, Request
from instances.arrivals import at_rate
from instances.batch_time import read_batch_time
from kvopt.commands import capacity as command
from kvopt.suites import Section
from kvopt.sweeps import capacity as module
from kvopt.sweeps.capacity import HIGHEST, LOWEST, Probe, capacity_bound, largest_rate
from schedules.real_time.serving import good
from schedules.real_time.slo import read_slo
from schedules.real_time.timeline import timeline
from tests.kvopt.conftest import Refused


@given(st.floats(LOWEST, HIGHEST * 0.999), st.floats(LOWEST, HIGHEST), st.floats(0.01, 0.5))
def test_the_search_ends_around_the_rate(most: float, start: float, precision: float) -> None:
    """Wherever it begins."""
    low, high = largest_rate(lambda rate: rate <= most, start, precision)
    assert low <= most < high <= low * (1 + precision) * (1 + 1e-12)


def test_a_rate_beyond_those_looked_at() -> None:
    """All are kept, or none is."""
    assert largest_rate(lambda _: True, 1.0, 0.1) == (HIGHEST, math.inf)
    assert largest_rate(lambda _: False, 1.0, 0.1) == (0.0, LOWEST)


def test_the_bound_by_hand() -> None:
    """Two requests of work 2 · 100 ms each; both are to be complete 0.3 s after their arrival.

    M = 2, s = 1, o = 1: the share h / M of 100 ms is 50 ms with h = s = 1, and a prompt token takes
    150.  The sum, 400 ms, exceeds 300 by 100, and the second arrives at g: r ≤ g / 0.1 s.
    """
    instance = Instance("two", 2, tuple(Request(i, 0, 1, 1) for i in range(2)))
    model = read_batch_time("linear(base=100,prefill=150)")
    (_, gap) = at_rate(instance, 1.0).arrival_times.tolist()
    for slo in ("e2el:0.3s", "ttft:0.3s"):
        found = capacity_bound(instance, model, read_slo(slo), 1.0)
        assert found == pytest.approx(gap / 0.1e9, rel=1e-6)
    # One of both: 200 ms are within the limit at any rate.
    assert capacity_bound(instance, model, read_slo("e2el:0.3s"), 0.5) == math.inf
    assert capacity_bound(instance, model, read_slo("tpot:0.3s"), 1.0) == math.inf


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=2, max_size=8),
    st.sampled_from(["e2el:0.5s", "ttft:0.2s,tpot:0.05s", "ttft:0.15s"]),
    st.floats(0.5, 1.0),
    st.floats(1.0001, 4.0),
)
def test_no_policy_keeps_it_above_the_bound(
    lengths: list[tuple[int, int]], slo: str, share: float, factor: float
) -> None:
    """At a larger rate fewer requests keep it, under any policy."""
    requests = tuple(Request(i, 0, *each) for i, each in enumerate(lengths))
    instance = Instance("drawn", 12, requests)
    model = read_batch_time("linear(base=20,prefill=30,decode=5)")
    most = capacity_bound(instance, model, read_slo(slo), share)
    if not 1e-6 < most * factor < 1e6:
        return
    drawn = at_rate(instance, most * factor)
    for name in ("svf", "fcfs", "vllm-v1"):
        schedule = run_policy(policies()[name], drawn, Setting(batch_time=model))
        kept = good(timeline(drawn, schedule), read_slo(slo))
        assert kept.sum() < math.ceil(share * len(instance) - 1e-9)


def test_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line a method, the table as JSON, and what no scheduler reaches."""
    most = {"svf": 4.0, "vllm-v1": 0.0}

    def probe(rate: float, section: Section, *_: object) -> Probe:
        (method,) = section.methods
        share = 1.0 if rate <= most[method.text] else 0.5
        return Probe(rate, share, {"goodput": rate, "p99_ttft_ms": 10.0, "output_throughput": 1.0})

    monkeypatch.setattr(module, "_probe", probe)
    out, store = tmp_path / "capacity.json", tmp_path / "runs.sqlite"
    asked = ["chat", "--set", "n=20", "--slo", "ttft:0.2s,tpot:0.06s", "--methods", "svf,vllm-v1"]
    asked += ["--export", str(out), "--store", str(store)]
    # vllm-v1 keeps it at no rate.
    assert command.main(asked) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[1].split()[:4] == ["svf", "4", "4.177", "100.0"]
    assert told[2].split()[:2] == ["vllm-v1", "0"]
    svf, vllm = json.loads(out.read_text())
    assert (svf["capacity"], vllm["capacity"]) == (4.0, 0.0)
    assert svf["not_kept"] <= 4.0 * 1.05


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
    """One line and 2."""
    assert says in refused(command.main, "chat", *asked, "--store", tmp_path / "runs.sqlite")
