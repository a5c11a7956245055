"""Time of the local search where starts are dense, against lists decoded by ends alone."""

import time

import numpy as np
from pytest_benchmark.fixture import BenchmarkFixture

from heuristics.list_search import ListSearch, by_volume, columns_of
from heuristics.simulator import run_in_order
from instances.families import mix80_20

#: Rounds by which a list may be worse.
TEMPERATURE = 5.0
MOVES = 400_000


def test_tokens_where_starts_are_dense_against_ends_everywhere(benchmark: BenchmarkFixture) -> None:
    """The same walk over 1,000 requests of a mix, smallest volume first, step for step."""
    instance = mix80_20.generate(n=1_000, seed=3)
    order = by_volume(columns_of(instance))
    starts = np.array(run_in_order(instance, order, "volumes").starts, np.int64)

    def walking(*, by_ends: bool) -> tuple[float, int]:
        search = ListSearch(columns_of(instance), instance.memory, starts, seed=0)
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
