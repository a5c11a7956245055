"""The time limit holds for every method at every size: 40 pairs from 5 requests to 10^6."""

import os
import sys
import time
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from instances import Instance, write_instance
from instances.families import am1, chat_lognormal, uniform
from tests.commands import run_process

ROOT = Path(__file__).resolve().parents[2]

#: Commands by requests: what is asked for, and the limit in seconds.
COMMANDS = {
    5: "@1, --solver highs @2, --solver cpsat @1, --policy fcfs @1, --policy all @3",
    45: "@3, --solver highs @2, --solver cpsat @4.3, --solver search @3, --solver bound @5, "
    "--policy local-search @2, --policy sorted-lp @2",
    100: "@5, --solver highs @3, --solver highs --formulation ilp @5, "
    "--solver cpsat --formulation cpsat-strong @3, --policy svf @1",
    1_000: "@4, --solver highs @5, --solver cpsat @3, --solver bound @4, --policy sorted-f-dp @3, "
    "--policy lp-swap @4, --policy all @4.3",
    10_000: "@5, --solver cpsat @5, --solver bound @4.3, --policy svf @2, --policy alpha-beta @3, "
    "--policy sorted-f-swap @3, --policy all @6",
    100_000: "@1, --policy svf @1, --policy mc-sf @4.3, --solver bound @10, --policy a-min @5",
    1_000_000: "@5, --policy svf @5, --solver highs @10, --policy svf @40",
}
PAIRS = [
    (requests, method.strip(), float(limit))
    for requests, commands in COMMANDS.items()
    for method, _, limit in (each.partition("@") for each in commands.split(", "))
]
#: Those that the test run tries as well, the last of them in the slow tier.
TRIED = [(100, "--policy svf", 1), (45, "--solver cpsat", 4.3), (1_000, "--policy sorted-f-dp", 3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the instances are written once."""
    return tmp_path_factory.mktemp("limits")


def _instance(requests: int) -> Instance:
    if requests <= 100:
        generate = am1.generate if requests <= 45 else uniform.generate
        return generate(seed=1, n=requests)
    return chat_lognormal.generate(n=requests)


@pytest.mark.parametrize(
    ("requests", "method", "limit"),
    [
        pytest.param(*pair, marks=pytest.mark.slow("waits") if pair in TRIED[1:] else ())
        for pair in PAIRS
    ],
)
def test_the_limit_holds(
    requests: int, method: str, limit: float, folder: Path, benchmark: BenchmarkFixture
) -> None:
    """Wall clock of the whole command against limit × 1.1 + 2 s."""
    path = folder / f"{requests}.json"
    command = [sys.executable, str(ROOT / "solve.py"), str(path), "--time-limit", str(limit)]
    if not benchmark.enabled and (requests, method, limit) not in TRIED:
        pytest.skip("in the benchmarks only")
    if not path.exists():
        write_instance(_instance(requests), path)
    began = time.monotonic()
    more = {"env": os.environ | {"PYTHONPATH": str(ROOT)}, "timeout": 600}
    process = benchmark.pedantic(run_process, [*command, *method.split()], more)
    seconds = time.monotonic() - began
    benchmark.extra_info["seconds / limit"] = round(seconds / limit, 2)
    benchmark.extra_info["exit code"] = process.returncode
    assert process.returncode in (0, 4), process.stderr
    assert "Traceback" not in process.stderr
    assert len(process.stderr.splitlines()) <= 1
    assert seconds <= 1.1 * limit + 2
