"""Lists a second of the local search: with numba's memory runtime, and decoded by ends alone."""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import heuristics.compiled
from heuristics import annealing
from heuristics.local_search import Search, by_volume, columns_of
from heuristics.simulator import run_in_order
from instances.families import am1, mix80_20, planted, uniform

#: Rounds by which a list may be worse.
TEMPERATURE = 5.0
MOVES = 400_000


def _walking(instance: Any, moves: int, anneal: Any) -> tuple[float, int]:
    """Return seconds and Σ starts of so many moves, the first half not timed."""
    order = np.arange(len(instance))
    starts = np.array(run_in_order(instance, order, "first").starts, np.int64)
    search = Search(columns_of(instance), instance.memory, starts, seed=0)
    search._as_run = lambda _: anneal
    search.anneal(moves, TEMPERATURE)
    began = time.perf_counter()
    search.anneal(moves, TEMPERATURE)
    return time.perf_counter() - began, search.total


def _counting(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the walk's kernel compiled as kernels are by default."""
    from numba import njit

    spec = importlib.util.spec_from_file_location("counting", annealing.__file__)
    assert spec is not None
    assert spec.loader is not None
    with monkeypatch.context() as patch:
        patch.setattr(heuristics.compiled, "filling_kernel", heuristics.compiled.kernel)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    # Makes what waits in the list known to the compiler.
    heuristics.compiled.compiled(heuristics.compiled.kernel(lambda: 0))
    # Not cached: both are of one file.
    return njit(nogil=True)(module.anneal)


@pytest.mark.parametrize("family", ["am1", "uniform", "planted"])
def test_against_counting_references(
    family: str, benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same walk, step for step."""
    if not benchmark.enabled:
        pytest.skip("compiles for half a minute")
    instance = {
        "am1": lambda: am1.generate(seed=3),
        "uniform": lambda: uniform.generate(n=100, seed=3),
        "planted": lambda: planted.generate(seed=3),
    }[family]()
    here, counting = heuristics.compiled.compiled(annealing.anneal), _counting(monkeypatch)
    _walking(instance, 1, counting)
    seconds, total = benchmark.pedantic(
        lambda: _walking(instance, MOVES, here), rounds=3, warmup_rounds=1
    )
    old_seconds, old_total = min(_walking(instance, MOVES, counting) for _ in range(3))
    assert total == old_total
    benchmark.extra_info["lists a second"] = MOVES / seconds
    benchmark.extra_info["times as many as with references counted"] = old_seconds / seconds


def test_tokens_where_starts_are_dense_against_ends_everywhere(benchmark: BenchmarkFixture) -> None:
    """The same walk over 1,000 requests of a mix, smallest volume first, step for step."""
    instance = mix80_20.generate(n=1_000, seed=3)
    order = by_volume(columns_of(instance))
    starts = np.array(run_in_order(instance, order, "volumes").starts, np.int64)

    def walking(*, by_ends: bool) -> tuple[float, int]:
        search = Search(columns_of(instance), instance.memory, starts, seed=0)
        assert len(search._trial.tokens) > 0
        if by_ends:
            search._trial = search._trial._replace(tokens=np.zeros(0, np.int32))
        search.anneal(1_000, TEMPERATURE)
        began = time.perf_counter()
        search.anneal(MOVES // 10, TEMPERATURE)
        return time.perf_counter() - began, search.total

    seconds, total = benchmark.pedantic(
        walking, kwargs={"by_ends": False}, rounds=3, warmup_rounds=1
    )
    alone, same = min(walking(by_ends=True) for _ in range(3))
    assert total == same
    benchmark.extra_info["times as fast as by ends everywhere"] = alone / seconds
