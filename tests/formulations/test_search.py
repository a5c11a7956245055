"""Our own search against brute force: whatever the prices."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.dp import forward
from formulations.dp.forward import ForwardPass, search
from formulations.lagrangian.priced_starts import start_costs
from formulations.valid.windows import start_windows
from instances import Instance
from instances.families import am1
from kvopt.engines.job import tel_of
from schedules import check_schedule, make_schedule
from tests.formulations.forward_pass import pass_of
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of, instances
from tests.tiers import a_few

SMALL = instances(max_requests=5, max_memory=12, max_arrival=6, max_output=7)
CROWDED = instances(max_requests=5, max_memory=10, max_arrival=0)


def _search(instance: Instance, prices: list[float], width: int = 50_000) -> ForwardPass:
    return pass_of(instance, width, start_costs(instance, prices, [], []))


@given(instance=st.one_of(SMALL, CROWDED), prices=st.lists(st.floats(0, 0.4), max_size=16))
@settings(max_examples=120, deadline=None)
def test_search_equals_brute_force(instance: Instance, prices: list[float]) -> None:
    """All rules together keep the optimum, under any prices."""
    found = _search(instance, prices)
    optimum = brute_force_optimum(instance)
    assert (found.tel, found.bound, found.complete) == (optimum, optimum, True)
    schedule = make_schedule(instance, found.starts, "search")
    assert check_schedule(instance, schedule).valid
    assert schedule.tel == optimum


@given(
    instance=st.one_of(SMALL, CROWDED),
    width=st.integers(1, 4),
    prices=st.lists(st.floats(0, 0.4), max_size=16),
)
@settings(max_examples=200, deadline=None)
def test_a_narrow_pass_still_bounds(instance: Instance, width: int, prices: list[float]) -> None:
    """With states lost the bound is still a bound, and ``complete`` only where it is the TEL."""
    found = _search(instance, prices, width)
    assert found.bound <= brute_force_optimum(instance) <= found.tel
    assert found.complete == (found.bound == found.tel)


def test_no_pass_is_wider_than_memory_allows() -> None:
    """The same layers as with that width; none where not even one state fits."""
    instance = am1.generate(seed=5, n=12, memory=20)
    narrow = pass_of(instance, 10**9, memory_bytes=3e4)
    assert 1 < narrow.width < 1_000
    assert not narrow.complete
    assert pass_of(instance, narrow.width, memory_bytes=1e9) == narrow
    costs, starts = start_costs(instance, [], [], []), [1000 * i for i in range(12)]
    windows, tel = start_windows(instance), tel_of(instance, starts)
    assert search(instance, windows, costs, (tel, starts), 10**9, memory_bytes=1.0) is None


def test_states_are_the_same_however_often_the_clock_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where layers are full in between."""
    instance = am1.generate(seed=5, n=12, memory=20)
    for width in (40, 100_000):
        monkeypatch.setattr(forward, "AT_ONCE", 10**9)
        whole = pass_of(instance, width, memory_bytes=1e9)
        for states in (1, 7):
            monkeypatch.setattr(forward, "AT_ONCE", states)
            assert pass_of(instance, width, memory_bytes=1e9) == whole


def test_too_many_requests_are_refused() -> None:
    """A set of requests is one 64-bit word."""
    instance = instance_of(5, *[(0, 0, 1)] * 64)
    with pytest.raises(ValueError, match="at most 63 requests, found 64"):
        _search(instance, [])


@pytest.mark.parametrize("width", [0, -1])
def test_a_width_that_keeps_no_state_is_refused(width: int) -> None:
    """Such a pass loses states without noting their bounds, and 4 would count as the optimum.

    One request of one token runs at a time, so the optimum ends at 1 and 2: a TEL of 3.
    """
    instance = instance_of(1, (0, 0, 1), (0, 0, 1))
    costs = start_costs(instance, [], [], [])
    with pytest.raises(ValueError, match=f"a width of at least 1, found {width}"):
        search(instance, start_windows(instance, 4), costs, (4, [0, 2]), width)


@pytest.mark.parametrize("tel", a_few((7 * 10**13, 8_388_613, 1 << 40), 1))
def test_far_incumbents_do_not_overflow(tel: int) -> None:
    """Without prices the bound is the optimum 21, however bad the known schedule is.

    (0, 0, 5) thrice, M = 9: at time 5 the first holds 5 and the others 10 − p_2 − p_3 at most, so
    p_2 + p_3 ≥ 6: 15 + 6.  Scaled by 2⁴⁰ such TELs have more than 64 bits, and what stands for
    "nothing was lost" is a bound of 2⁶² / 2⁴⁰ only.
    """
    instance = instance_of(9, *[(0, 0, 5)] * 3)
    costs = start_costs(instance, [], [], [])
    found = search(instance, start_windows(instance), costs, (tel, [0, 5, tel - 20]), 300)
    assert found is not None
    assert (found.tel, found.bound, found.complete) == (21, 21, True)
    # The known schedule is optimal: all states are dropped, none is lost, and the bound is its TEL.
    alone = instance_of(9, (0, 0, 5))
    costs = start_costs(alone, [], [], [])
    found = search(alone, start_windows(alone), costs, (5, [0]), 300)
    assert found is not None
    assert (found.tel, found.bound, found.complete) == (5, 5, True)
