"""Refuted statements of J1, derived a second time by sums and queues alone."""

from collections.abc import Sequence
from itertools import product

import pytest

from papers.ledger.check_results import arriving, by_policy, by_starts, together
from papers.ledger.checks import j1
from schedules import check_schedule, make_schedule
from tests.oracles.brute_force import brute_force_optimum

#: Requests (1, 3): tokens held 1, 2, 3 rounds after the start.
HELD = (2, 3, 4)


def held(starts: Sequence[int], time: int) -> int:
    """Return the tokens of requests (1, 3) at a time."""
    return sum(HELD[time - start - 1] for start in starts if 1 <= time - start <= 3)


def lockstep(arrivals: Sequence[int]) -> list[int]:
    """Return the starts of pairs of which each runs alone, in order of arrival."""
    starts: list[int] = []
    for arrival in arrivals:
        starts.append(max(arrival, starts[-1] + 3 if starts else 0))
    return starts


def test_a_third_does_not_fit_beside_a_pair() -> None:
    """11 tokens at p + 3 if it starts at p + 1, 10 if at p + 2, of 9; one a round holds 9."""
    assert held((0, 0, 1), 3) == 11
    assert held((0, 0, 2), 3) == 10
    assert max(held(range(100), time) for time in range(110)) == 9


@pytest.mark.parametrize("seed", range(4))
def test_the_regret_grows(seed: int) -> None:
    """MC-SF is the queue of pairs with service 3, whose delay grows like 0.2 a round.

    Pairs arrive 0.4 a round and leave every 3: after T rounds 0.4·3·T − T = 0.2 T are behind.
    """
    instance = j1.pairs_in(400, seed)
    arrivals = [int(arrival) for arrival in instance.arrivals[::2]]
    starts = lockstep(arrivals)
    latencies = sum(2 * (start + 3 - a) for start, a in zip(starts, arrivals, strict=True))
    assert by_policy("mc-sf", instance).tel == latencies
    late = [int(arrival) for arrival in j1.pairs_in(40_000, seed).arrivals[::2]]
    assert lockstep(late)[-1] - late[-1] == pytest.approx(0.2 * 40_000, rel=0.15)


def test_a_burst_shows_it() -> None:
    """Pairs at 0..5: MC-SF serves one in three rounds, 2·Σ(2k + 3) = 96; one a round 72."""
    assert j1.theorem_5_3().lines[-1].endswith("MC-SF 96, one a round 72")
    assert sum(2 * (2 * k + 3) for k in range(6)) == 96
    assert sum(i + 3 - i // 2 for i in range(12)) == 72


def test_one_start_a_round_is_stable() -> None:
    """Two arrive with chance 0.4, one leaves a round: 2 wait on average, so 3 + 2/0.8 rounds.

    For L' = max(L + A − 1, 0) the mean of L + A is E[A] + E[A(A − 1)]/(2(1 − E[A])) = 0.8 + 2, of
    which one is served: by Little's law the wait to the start is (0.8 + 2 − 0.8)/0.8 rounds.
    """
    instance = j1.pairs_in(40_000, 0)
    schedule = j1.one_a_round(instance)
    assert schedule.tel / len(instance) == pytest.approx(3 + 2 / 0.8, rel=0.1)


def test_off_couple_holds_eleven_of_nine() -> None:
    """OC starts at 0, 0, 3, 3; the optimum its fifth at 4, and at 6 they hold 4 + 4 + 3."""
    assert brute_force_optimum(together(9, *[(1, 3)] * 5)) == sum(range(3, 8)) == 25
    couple = (0, 0, 3, 3)
    assert all(held(couple, time) <= 9 for time in range(10))
    # OC may add no third at 1 or 2, so both come at 3.
    assert min(held((0, 0, start), 3) for start in (1, 2)) > 9
    assert held((*couple, 4), 6) == 11


def test_identical_requests_gain_by_pace() -> None:
    """Five of (1, 3): pairs give 3 + 3 + 6 + 6 + 9 = 27, one a round 3 + 4 + 5 + 6 + 7 = 25.

    With s = 1, L = 49, M = 25·(49 + 49·50/2) = 31,850 MC-SF runs 637 at once, k batches cost
    637·49·k(k + 1)/2; 25 a round fit for ever, and as k grows the ratio tends to 50/26.
    """
    instance = together(9, *[(1, 3)] * 5)
    assert by_policy("mc-sf", instance).tel == 27
    assert brute_force_optimum(instance) == 25
    memory, batches = 25 * (49 + 49 * 25), 6
    many = together(memory, *[(1, 49)] * (637 * batches))
    assert memory == 637 * 50
    assert by_policy("mc-sf", many).tel == 637 * 49 * batches * (batches + 1) // 2
    paced = by_starts(many, [place // 25 for place in range(len(many))], "25 a round")
    assert paced.tel == sum(place // 25 + 49 for place in range(len(many)))
    large = 10**6
    ratio = 637 * 49 * large * (large + 1) / ((637 * large) ** 2 / 25 + 2 * 49 * 637 * large)
    assert ratio == pytest.approx(50 / 26, rel=1e-4)


@pytest.mark.parametrize(
    ("left", "prompt", "burst", "memory", "latencies"),
    [
        # Before the end 2, 1, 0 tokens are free: one of two tokens, none, none; then four.
        (3, 1, 5, 8, [1, 4, 4, 4, 4]),
        # At most two tokens are free before the end, a request needs three.
        (3, 2, 3, 8, [4, 4, 5]),
        (0, 1, 3, 4, [1, 1, 2]),
    ],
)
def test_what_is_left_for_a_burst(
    left: int, prompt: int, burst: int, memory: int, latencies: list[int]
) -> None:
    """Behind a request that holds M − left + k tokens k rounds after the burst, k up to left."""
    assert j1.behind_the_long(left, prompt, burst, memory) == sum(latencies)


def test_a_burst_is_served_no_better_than_so() -> None:
    """A long (2, 6) starts at 0, M = 8, and a burst of (2, 1) comes at 4, two before its end.

    At 5 and 6 the long one holds 7 and 8 tokens, so both wait until 6: latencies 3 and 3.  Brute
    force over all starts of the burst next to the long one has the same.
    """
    instance = arriving(8, [(0, 2, 6), (4, 2, 1), (4, 2, 1)])
    starts = product(range(4, 12), repeat=2)
    tried = [make_schedule(instance, (0, *each), "tried") for each in starts]
    valid = [each.tel - 6 for each in tried if check_schedule(instance, each).valid]
    assert min(valid) == j1.behind_the_long(2, 2, 2, 8) == 6


@pytest.mark.parametrize(
    ("completion", "sums"),
    [
        # At 3 there are two, 3 + 2·3 = 9 tokens; at 5 the new one alone, 1 + 5.
        (5, [(3, 2, 3), (5, 1, 1)]),
        # At 2 both, 3 + 2·2; at 3 as before.
        (2, [(2, 2, 3), (3, 1, 2)]),
        (3, [(3, 2, 3)]),
    ],
)
def test_sums_of_completions(completion: int, sums: list[j1.Sums]) -> None:
    """One runs to 3 with s − p = 2, so 5 tokens then; another with s − p = 1 joins."""
    assert j1.add_completion([(3, 1, 2)], completion, 1) == sums
