"""Annealing over lists with delays: exact decoding, never worse, never below OPT, repeatable."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics import annealing, list_search
from heuristics.annealing import RequestColumns, ScheduledList
from heuristics.kernel_compiler import compiled
from heuristics.list_search import ListSearch, SearchBudget, columns_of, improve_starts
from heuristics.policy import Ints
from heuristics.simulator import run_in_order
from instances import Instance, Request
from instances.families import am1, am2
from schedules import check_schedule, make_schedule
from tests.oracles.brute_force import brute_force_optimum, fits, hold
from tests.oracles.draws import instances
from tests.tiers import a_few

#: A threshold, and a number of places, that give up nothing.
ALL = 1 << 60


def decoded(instance: Instance, order: list[int], delays: list[int]) -> list[int]:
    """Return the starts, by place, of a list with delays, by the definition: round after round."""
    held: dict[int, int] = {}
    starts: list[int] = []
    now = 0
    for i in order:
        request = instance.requests[i]
        size = request.prompt, request.output
        now = max(now, int(request.arrival))
        for delay in (0, delays[i]):
            now += delay
            while not fits(held, now, *size, instance.memory):
                now += 1
        hold(held, now, *size, +1)
        starts.append(now)
    return starts


def first(instance: Instance) -> Ints:
    """Return the starts of the requests admitted in their order."""
    return np.array(run_in_order(instance, np.arange(len(instance)), "list").starts)


def searching(instance: Instance, seed: int = 0, **how: Any) -> ListSearch:
    """Return a search from there."""
    return ListSearch(columns_of(instance), instance.memory, first(instance), seed=seed, **how)


def improved(
    instance: Instance, begin: Ints, budget: SearchBudget, **how: Any
) -> tuple[Ints, Ints]:
    """Return the starts and the order that the local search finds."""
    return improve_starts(columns_of(instance), instance.memory, begin, budget, **how)


def walk_of(instance: Instance, order: Ints, delays: Ints) -> tuple[ScheduledList, RequestColumns]:
    """Return a list as the kernels keep it, decoded by the definition."""
    columns = columns_of(instance)
    starts = np.array(decoded(instance, order.tolist(), delays.tolist()), dtype=np.int64)
    ends = starts + instance.outputs[order]
    zero = np.zeros(1, np.int64)
    latest = np.concatenate([zero, np.maximum.accumulate(ends)])
    waits = np.maximum.accumulate(instance.arrivals[order][::-1])[::-1]
    sums = np.concatenate([zero, np.cumsum(starts)])
    waits = np.concatenate([waits, zero])
    return ScheduledList(order, delays, starts, sums, latest, waits), columns


def spaces(n: int, rounds: int) -> annealing.DecodedList:
    """Return what a decoding fills, with tokens by time or, for 0 rounds, without."""
    starts, ends, held = (np.zeros(2 * n + 2, np.int64) for _ in range(3))
    return annealing.DecodedList(starts, ends, held, np.zeros(rounds, np.int32))


@st.composite
def changes(draw: st.DrawFn) -> tuple[Instance, Ints, Ints, Any]:
    """Draw a list with delays, and a move."""
    instance = draw(instances(max_requests=14, max_memory=16, max_output=6, max_arrival=12))
    n = len(instance)
    order = np.array(draw(st.permutations(range(n))), dtype=np.int64)
    delay = st.one_of(st.just(0), st.just(0), st.integers(1, 3))
    delays = np.array(draw(st.lists(delay, min_size=n, max_size=n)), dtype=np.int64)
    a = draw(st.integers(0, n - 1))
    b = draw(st.integers(0, n - 1))
    length = draw(st.integers(1, n - max(a, b)))
    kind = draw(st.sampled_from([annealing.EXCHANGE, annealing.INSERT, annealing.DELAY]))
    return instance, order, delays, (kind, a, b, length if kind == annealing.INSERT else 1)


@pytest.mark.parametrize("rounds", [0, 500])
@given(change=changes())
@settings(max_examples=200, deadline=None)
def test_a_changed_list_is_decoded_as_defined(
    rounds: int, change: tuple[Instance, Ints, Ints, Any]
) -> None:
    """From the first change to where nothing changes any more: Σ starts and all that is kept."""
    # Both ways to keep the worker are held against a decoding round after round that shares
    # nothing.
    instance, order, delays, (kind, a, b, length) = change
    walk, columns = walk_of(instance, order.copy(), delays.copy())
    trial = spaces(len(instance), rounds)
    if kind == annealing.DELAY:
        b = a
        walk.delays[order[a]] = 2 - min(2, walk.delays[order[a]])
    else:
        compiled(annealing.apply_move)(walk.order, kind, a, b, length)
    expected, _ = walk_of(instance, walk.order.copy(), walk.delays.copy())
    total = int(expected.starts.sum())
    first, last = min(a, b), max(a, b) + length - 1
    evaluate, memory = compiled(annealing.evaluate), instance.memory
    arguments = (walk, columns, memory, first, last)
    found, until, shift = evaluate(*arguments, ALL, ALL, trial)
    assert found == total
    compiled(annealing.keep)(walk, columns, first, last, until, shift, trial)
    for name, kept, right in zip(walk._fields, walk, expected, strict=True):
        assert kept.tolist() == right.tolist(), name
    # Above the threshold the value only says that it is above.
    assert evaluate(*arguments, total - 1, ALL, trial)[0] > total - 1


@given(change=changes(), seed=st.integers(0, 99))
@settings(max_examples=200, deadline=None)
def test_an_exchange_by_size_is_with_one_of_the_next_in_size(
    change: tuple[Instance, Ints, Ints, Any], seed: int
) -> None:
    """Wherever it stands: by output or by prompt no more than four requests lie in between."""
    instance, order, _, (_, a, _, _) = change
    sizes = searching(instance)._rules.sizes
    state = np.array([seed], np.uint64)
    place = compiled(annealing.similar_place)(state, order, sizes, a)
    pair = [(int(instance.outputs[i]), int(instance.prompts[i])) for i in (order[a], order[place])]
    every = list(zip(instance.outputs.tolist(), instance.prompts.tolist(), strict=True))
    between = [
        sum(min(two) < each < max(two) for each in all_of)
        for two, all_of in ((pair, every), ([p[::-1] for p in pair], [e[::-1] for e in every]))
    ]
    assert min(between) < annealing.CLOSE


@given(change=changes(), seed=st.integers(0, 9))
@settings(max_examples=80, deadline=None)
def test_a_move_that_is_undone_leaves_the_list_as_it_was(
    change: tuple[Instance, Ints, Ints, Any], seed: int
) -> None:
    """Blocks too, wherever they go; and what is saved before a move is the list without it."""
    instance, order, delays, move = change
    walk, columns = walk_of(instance, order.copy(), delays.copy())
    delay = compiled(annealing.make_move)(walk, columns, move, np.array([seed], np.uint64))
    moved = walk.order.tolist(), walk.delays.tolist()
    if delay < 0:
        return
    best = (np.zeros_like(order), np.zeros_like(order), np.zeros_like(order))
    compiled(annealing.save_before)(walk, best, move, delay)
    assert (walk.order.tolist(), walk.delays.tolist()) == moved
    assert (best[0].tolist(), best[1].tolist()) == (order.tolist(), delays.tolist())
    compiled(annealing.undo_move)(walk, move, delay)
    assert (walk.order.tolist(), walk.delays.tolist()) == (order.tolist(), delays.tolist())


def drawn(rng: np.random.Generator, scales: tuple[int, ...] = (1, 1, 10**6, 10**8)) -> Instance:
    """Draw a small instance: arrivals or none, equal requests or not, tokens up to 10⁹."""
    n = int(rng.integers(2, 8))
    scale = int(rng.choice(scales))
    memory = int(rng.integers(4, 10)) * scale + int(rng.integers(0, 2))
    kinds = [(int(rng.integers(1, memory // 2 + 1)),) for _ in range(int(rng.integers(1, n + 1)))]
    requests = []
    late = int(rng.choice([0, 0, 5])) * scale
    for i in range(n):
        (output,) = kinds[int(rng.integers(len(kinds)))]
        prompt = output % (memory - output + 1)
        requests.append(Request(i, int(rng.integers(0, late + 1)), prompt, output))
    return Instance("drawn", memory, tuple(requests))


@pytest.mark.parametrize("draws", a_few((200, 1000), 1))
def test_hundreds_of_small_schedules_pass_the_checker(draws: int) -> None:
    """Arrivals, equal requests, large tokens: valid, no worse than the start, and Σ as claimed."""
    rng = np.random.default_rng(14)
    for case in range(draws):
        instance = drawn(rng)
        order = rng.permutation(len(instance))
        start = run_in_order(instance, order, "list")
        stated: list[int] = []

        def report(
            starts: Ints, _: Ints, instance: Instance = instance, stated: Any = stated
        ) -> None:
            schedule = make_schedule(instance, starts.tolist(), "stated")
            stated.append(schedule.tel)
            assert check_schedule(instance, schedule).valid

        begin = np.array(start.starts, dtype=np.int64)
        starts, _ = improved(instance, begin, SearchBudget(moves=150), seed=case, on_better=report)
        schedule = make_schedule(instance, starts.tolist(), "found")
        assert check_schedule(instance, schedule).valid
        assert stated == sorted(set(stated), reverse=True)
        assert schedule.tel == min([start.tel, *stated])


@pytest.mark.parametrize(("draws", "most"), a_few([(15, 14), (60, 58)], 1))
def test_never_below_the_optimum_and_mostly_at_it(draws: int, most: int) -> None:
    """A few thousand moves mostly reach what trying all starts finds."""
    rng, reached = np.random.default_rng(3), 0
    for seed in range(draws):
        instance = drawn(rng, scales=(1,))
        starts, _ = improved(instance, first(instance), SearchBudget(moves=3000), seed=seed)
        tel = make_schedule(instance, starts.tolist(), "").tel
        optimum = brute_force_optimum(instance)
        assert tel >= optimum
        reached += tel == optimum
    assert reached >= most


def test_the_same_seed_gives_the_same_schedule_compiled_or_not() -> None:
    """In a number of moves nothing depends on the machine; another seed goes another way."""
    instance = am2.generate(seed=2, n=20)

    def run(seed: int, moves: int, **how: Any) -> tuple[list[int], list[int]]:
        starts, order = improved(
            instance, first(instance), SearchBudget(moves=moves), seed=seed, **how
        )
        return starts.tolist(), order.tolist()

    assert run(5, 300) == run(5, 300, compile_it=False)
    assert run(5, 300, delays=False) == run(5, 300, delays=False, compile_it=False)
    assert run(5, 4000) == run(5, 4000)
    assert len({str(run(seed, 300)) for seed in range(5)}) > 1


def test_without_delays_it_is_the_schedule_of_its_order() -> None:
    """What the policy searches is a list for the common admission, where all arrive together."""
    instance = am1.generate(seed=3)
    begin = first(instance)
    by_start = np.argsort(begin, kind="stable")
    starts, order = improved(
        instance, begin, SearchBudget(moves=5000), order=by_start, seed=1, delays=False
    )
    assert list(run_in_order(instance, order, "list").starts) == starts.tolist()
    assert starts.sum() < begin.sum()


def test_one_request_and_sums_beyond_words_are_left_alone() -> None:
    """There is nothing to exchange in a list of one; what could exceed 64 bits is not searched."""
    one = am1.generate(n=1)
    start = np.zeros(1, np.int64)
    assert improved(one, start, SearchBudget(seconds=0.1), seed=0)[0] is start
    many = np.full(2_000_000, 10**12, np.int64)
    columns = RequestColumns(many, many, many)
    assert not list_search.fits_in_words(columns, many)
    assert improve_starts(columns, 1, many, SearchBudget(seconds=9), seed=0)[0] is many


def test_a_request_may_wait_for_a_later_one() -> None:
    """A schedule that no list has without delays is reached, and its delays are kept."""
    # M = 6.  (s, o) = (2, 2) holds 3, 4 and (1, 3) holds 2, 3, 4: started together the two hold 4 +
    # 3 = 7 tokens in the second round, so the second to be taken waits, whoever it is.
    instance = Instance("wait", 6, (Request(0, 0, 2, 2), Request(1, 0, 1, 3)))
    search = ListSearch(columns_of(instance), 6, np.array([0, 4]), seed=0)
    assert search.total == 4
    assert search._walk.delays.tolist() == [0, 3]
    search.polish()
    assert search.best().tolist() == [0, 1]


def test_luby_lengths() -> None:
    """1, 1, 2, 1, 1, 2, 4, and so on."""
    expected = [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    assert [list_search.luby(k) for k in range(1, 16)] == expected


@pytest.mark.parametrize("compile_it", [False, True])
def test_places_by_time_are_as_likely_as_the_rounds_before_them(compile_it: bool) -> None:
    """Of starts 7, 7, 8, 17 the third has one round of ten, the last nine; with equal ones, any."""
    draw = compiled(annealing.draw_place) if compile_it else annealing.draw_place
    state = np.array([5], dtype=np.uint64)
    counts = np.zeros(4, dtype=np.int64)
    with np.errstate(over="ignore"):
        for _ in range(2_000):
            counts[draw(state, np.array([7, 7, 8, 17]), 1.0)] += 1
        assert counts[:2].tolist() == [0, 0]
        assert 120 < counts[2] < 280  # 200 expected, standard deviation 13
        evenly = [int(draw(state, np.array([7, 7, 8, 17]), 0.0)) for _ in range(200)]
        half = [int(draw(state, np.array([7, 7, 8, 17]), 0.5)) for _ in range(200)]
        assert set(evenly) == set(half) == {0, 1, 2, 3}
        assert 0 <= draw(state, np.array([3, 3, 3]), 1.0) < 3
