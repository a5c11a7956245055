"""Policies of serving engines and their kin: against literal transcriptions and by hand."""

from fractions import Fraction

import numpy as np
import pytest

from heuristics.arrival_queue import exact_fraction
from heuristics.policies.sglang_ratio import ReservationRatio
from heuristics.policy import Forecast, NotApplicableError
from heuristics.policy_registry import policies
from heuristics.predictions import PredictionModel
from heuristics.round_driver import EndlessLoopError
from heuristics.simulator import RunSetting, run_policy
from instances import Instance, Request
from instances.batch_time import parse_batch_time
from kvopt.methods.grammar import read_method
from schedules import Schedule
from tests.heuristics.contract import runs_of
from tests.oracles.draws import instance_of


def run(call: str, instance: Instance, seed: int = 0, high: int = 0) -> Schedule:
    """Run a policy given as on the command line; ``high`` predicts up to max(output, high)."""
    read = read_method(call).call
    assert read is not None
    setting = RunSetting(
        values=read.values,
        prediction=PredictionModel("upper", "", lambda o, _, __: Forecast(o, np.maximum(o, high))),
        seed=seed,
    )
    return run_policy(read.policy, instance, setting, method=read.policy.name)


def test_parameters_are_read_as_decimals() -> None:
    """0.1 means one tenth: (1 − 0.9) · 10 is 1 token, where floats would give 0."""
    assert int((1 - 0.9) * 10) == 0
    assert int((1 - exact_fraction(0.9)) * 10) == 1


def test_alpha_greedy_by_hand() -> None:
    """The threshold holds requests back, memory is never exceeded, the third waits."""
    # M = 10, α = 0.4: up to 6 tokens.  At 0: 2 + 1 = 3, then 6, the third would make 9.
    # At 1 the two will hold 4 + 4 = 8 > 6, at 2 they hold 5 + 5 = 10 and complete at 3.
    instance = instance_of(10, (0, 2, 3), (0, 2, 3), (0, 2, 1))
    assert run("alpha-greedy(alpha=0.4)", instance).starts == (0, 0, 3)
    # α = 0.5: a prompt of 8 > 5 waits for an empty worker, at 2.
    instance = instance_of(10, (0, 0, 2), (0, 8, 2), (0, 0, 1))
    assert run("alpha-greedy(alpha=0.5)", instance).starts == (0, 2, 4)


def test_alpha_greedy_clears_everything() -> None:
    """On overflow all active requests lose their tokens, and the arrival order is kept."""
    # M = 6, α = 0: at 0 requests 0 and 1 hold 1 + 1 next; request 2 arrives at 1 and is admitted
    # with 2 + 2 + 2 = 6 tokens (s = 1).  At 2 the three would hold 3 + 3 + 3 = 9 > 6 (request 2
    # completes at 3): cleared with 2, 2 and 1 tokens.  Then 1 + 1 + 2 = 4 are admitted again at 2,
    # hold 2 + 2 + 3 = 7 > 6 next at 3, and so on: cleared for ever.
    instance = instance_of(6, (0, 0, 3), (0, 0, 3), (1, 1, 2))
    with pytest.raises(EndlessLoopError):
        run("alpha-greedy(alpha=0)", instance)
    # M = 8: at 2 still 9 > 8, cleared and admitted at 2; 7 tokens at time 4, request 2 completes
    # at 4; then 3 + 3 tokens at time 5, both complete.
    schedule = run("alpha-greedy(alpha=0)", instance_of(8, *((0, 0, 3), (0, 0, 3), (1, 1, 2))))
    assert schedule.starts == (2, 2, 2)
    assert schedule.attempts == (((0, 2),), ((0, 2),), ((1, 1),))


def test_vllm_counts_as_the_engine() -> None:
    """The newest token has no slot yet, and one block is the null block."""
    # M = 7 in tokens: a prompt of 2 and two output tokens hold 3 and 4, two such 6 and 8 > 7.
    # In the engine they hold 2 and 3, which are 4 and 6 of the 7 - 1 blocks.
    pair = instance_of(7, (0, 2, 2), (0, 2, 2))
    assert run("vllm-v1", pair).attempts == ((), ((0, 1),))
    schedule = run("vllm-v1(accounting=engine,block=1)", pair)
    assert schedule.starts == (0, 0)
    assert schedule.engine_accounting
    with pytest.raises(NotApplicableError, match=r"2 blocks of 2 tokens \(one more is"):
        run("vllm-v1(accounting=engine,block=2)", instance_of(7, (0, 5, 1)))
    # An empty prompt, which the engine refuses, holds as much as one of a token.
    empty = run("vllm-v1(accounting=engine,block=1)", instance_of(3, (0, 0, 2), (0, 0, 2)))
    assert empty.attempts == ((), ((0, 1),))


def test_sglang_ratio_decays_by_hand() -> None:
    """The ratio falls from 0.7 to 14 % of it in 600 rounds, and is raised by a retraction."""
    ratio = ReservationRatio(Fraction(1))
    assert ratio.value() == Fraction(7, 10)
    # One step is (0.7 - 0.098) / 600 = 0.602 / 600; half-way it is 0.7 - 0.301 = 0.399.
    ratio.decode(300)
    assert ratio.value() == Fraction(399, 1000)
    ratio.decode(300)
    assert ratio.value() == Fraction(98, 1000)
    ratio.decode(10**6)
    assert ratio.value() == Fraction(98, 1000)
    # Two requests remain, with 30 of 99 tokens made: (30 + 20·2) / (99 + 1).
    ratio.retract(30, 2, 99)
    assert ratio.value() == Fraction(7, 10)
    # (1 + 20) / (999 + 1) is below the last value, which the next decode round restores.
    ratio.retract(1, 1, 999)
    assert ratio.value() == Fraction(21, 1000)
    ratio.decode(1)
    assert ratio.value() == Fraction(98, 1000)
    ratio.idle()
    assert ratio.value() == Fraction(7, 10)
    assert ReservationRatio(Fraction(2)).value() == 1


def test_sglang_admission_by_hand() -> None:
    """A new request is charged in full, a running one by the ratio."""
    # M = 100, ratio 0.7.  At 0 both are new: 2·(1 + 49) = 100 fits.  A third waits: its head is
    # tried again only when something ends, at 49.
    three = instance_of(100, *[(0, 1, 49)] * 3)
    assert run("sglang-ratio", three).starts == (0, 0, 49)
    # If it arrives at 10 instead, nothing has failed before.  The running two hold 2·11 = 22
    # then, and rounds 1..9 have each taken 0.602/600 off the ratio: nine steps.
    # 22 + 2·39·(0.7 - 0.00903) = 75.9, so 24 more tokens fit (s = 1, o = 23) and 25 do not.
    late = (10, 1, 23)
    assert run("sglang-ratio", instance_of(100, (0, 1, 49), (0, 1, 49), late)).starts[2] == 10
    longer = (10, 1, 24)
    assert run("sglang-ratio", instance_of(100, (0, 1, 49), (0, 1, 49), longer)).starts[2] == 49


def test_sglang_retracts_the_fewest_tokens() -> None:
    """When memory runs out the youngest run goes, keeps its tokens and joins the tail."""
    # M = 12, no reservation for running requests (conservativeness 0), s = 0.  At 0: o = 8 is
    # charged in full.  At 1 it holds 1, the second is charged 8 + 1 = 9.  At 2 it is 2 + 1 held,
    # the third (o = 5) is charged 3 + 5 = 8.  Next tokens at 2: 3 + 2 + 1 = 6, at 3: 9, at 4: 12,
    # at 5: 15 > 12.  Made then: 5, 4, 3.  The third is retracted with 3 tokens; 6 + 5 = 11 fits.
    instance = instance_of(12, (0, 0, 8), (1, 0, 8), (2, 0, 5))
    schedule = run("sglang-ratio(conservativeness=0)", instance)
    assert schedule.attempts is not None
    assert schedule.attempts[2] == ((2, 3),)
    assert schedule.kept is not None
    assert schedule.kept[2] == (0, 3)
    # Then 6 + 5 = 11 at time 6 and 7 + 6 = 13 > 12 at time 7: at 6 the second is retracted with 5
    # tokens and queues behind the third.
    assert schedule.attempts[1] == ((1, 5),)
    runs = runs_of(instance, schedule)
    assert runs[2][1][0] < runs[1][1][0]


def test_wait_gathers_its_threshold() -> None:
    """A class waits for its threshold while the worker is busy, not when it is empty."""
    # M = 20, scale 1.  Request 0 (o = 8, volume 36) starts at 0 on an empty worker.  Request 1
    # (o = 1, volume 1) arrives at 1: its class has 1 of 2 arrivals, n = ceil(20·1/37) = 1: starts.
    pair = ((0, 0, 8), (1, 0, 1))
    assert run("wait", instance_of(20, *pair)).starts == (0, 1)
    # Scale 5: n = ceil(100/37) = 3 > 1, so it waits for the end of request 0, at 8.
    assert run("wait(scale=5)", instance_of(20, *pair)).starts == (0, 8)
    # With two more at 2 and 3: at 3 its class has 3 of 4, V = 39, n = ceil(100·3/39) = 8.
    many = (*pair, (2, 0, 1), (3, 0, 1))
    assert run("wait(scale=5)", instance_of(20, *many)).starts == (0, 8, 8, 8)
    # Scale 2: alone at 1, n = ceil(40/37) = 2; at 2 two wait, n = ceil(40·2/38) = 3; at 3 three
    # wait, n = ceil(40·3/39) = 4; a fourth at 4: n = ceil(40·4/40) = 4 start together.
    assert run("wait(scale=2)", instance_of(20, *many, (4, 0, 1))).starts == (0, 4, 4, 4, 4)


def test_nested_wait_leaves_at_the_end_of_its_segment() -> None:
    """A survivor goes on without a gap where it may, else it waits and keeps its tokens."""
    # Alone: segments end at 2, 4 and 8; at each end the worker is empty, so it goes on.
    alone = run("nested-wait(segment=2)", instance_of(20, (0, 1, 7)))
    assert alone.starts == (0,)
    assert alone.attempts == (((0, 2), (0, 4)),)
    assert alone.kept == ((0, 2, 4),)
    # M = 8, s = 0, o = 4 and 3, segment 2, scale 1.  Volumes up to the end of segment 1 are
    # 1 + 2 = 3 each: n_1 = ceil(8·2/6) = 3 > 2, but the worker is empty: both start at 0.  At 2
    # both leave with 2 tokens and enter segment 2 (3 + 4 = 7 each): n_2 = ceil(8·2/20) = 1, the
    # first goes on (4 at its end), the second would make 8 next to it: 4 + 4 fits M = 8, but only
    # one may start in a round.  At 3: 4 + 3 = 7, then the second alone: starts, a round late.
    both = run("nested-wait(segment=2)", instance_of(8, (0, 0, 4), (0, 0, 3)))
    assert both.starts == (0, 1)
    assert both.kept == ((0, 2), (0, 2))


def preempted_at_2(call: str, instance: Instance) -> list[int]:
    """Return the positions of the requests that lose their run from 0 to 2."""
    attempts = run(call, instance).attempts
    assert attempts is not None
    return [position for position, runs in enumerate(attempts) if (0, 2) in runs]


def test_each_victim_by_hand() -> None:
    """The first request needs a token, is spared, and another one goes."""
    # M = 17: at 2 the four hold 3 + 3 + 7 + 4 = 17 tokens, and the first needs one more.  The last
    # is 3, the fewest tokens has 1, the most has 2.  Where 4, 4, 4 tokens are left, the last
    # admitted of the others goes; where 2, 4, 3 are left, the third.
    instance = instance_of(17, (0, 1, 6), (0, 1, 6), (0, 5, 6), (0, 2, 6))
    assert preempted_at_2("vllm-v1", instance) == [3]
    assert preempted_at_2("vllm-v1(victim=fewest-computed)", instance) == [1]
    assert preempted_at_2("vllm-v1(victim=largest)", instance) == [2]
    assert preempted_at_2("vllm-most-left", instance) == [3]
    uneven = instance_of(17, (0, 1, 9), (0, 1, 4), (0, 5, 6), (0, 2, 5))
    assert preempted_at_2("vllm-most-left", uneven) == [2]


def test_the_priority_is_the_estimate() -> None:
    """The middle of an interval decides, not its upper end."""
    # One at a time: the middle of [1, 9] is 5, below 6.
    pair = (Request(0, 0, 1, 3, 1, 9), Request(1, 0, 1, 6, 6, 6))
    schedule = run_policy(
        policies()["vllm-priority"], Instance("pair", 20, pair), RunSetting({"running": 1})
    )
    assert schedule.starts == (0, 3)


def test_orders_of_vllm_ascend_by_hand() -> None:
    """Short prompts first; or one of the first three, then the longest prompt that fits."""
    one = "running=1,budget=30"
    short = instance_of(20, (0, 3, 2), (0, 2, 2), (0, 1, 2))
    assert run(f"ascend-srf(threshold=2,{one})", short).starts == (4, 0, 2)
    # The first three by prompt as it first came: 1, 1, then 9.  M less 2 is the room: 18 fits.
    lengths = instance_of(20, *((0, prompt, 1) for prompt in (1, 9, 1, 2, 18, 19)))
    assert run(f"ascend-lpt({one})", lengths).starts == (0, 2, 1, 4, 3, 5)
    with pytest.raises(NotApplicableError, match="more than 2 blocks"):
        run("ascend-lpt", instance_of(2, (0, 1, 1)))


def test_sglang_orders_by_hand() -> None:
    """The response ratio, the shortest prefill, and arrival differ; one fits at a time."""
    # Request 0 ends at 8, after 4 prefilled tokens.  Nobody has waited for tokens since: request 1
    # is first of equals, for 9 rounds.  Its 9 tokens are 9/3 of request 3, and 9/8 of request 2.
    instance = instance_of(20, (0, 4, 8), (1, 9, 9), (1, 8, 9), (1, 3, 9))
    assert run("sglang-ratio(order=hrrn)", instance).starts == (0, 8, 26, 17)
    assert run("sglang-ratio(order=shortest-prefill-first)", instance).starts == (0, 26, 17, 8)
    assert run("sglang-ratio", instance).starts == (0, 8, 17, 26)


def test_hrrn_sorts_128_requests_at_most() -> None:
    """Of 132 equal requests four go in order of arrival, the others by position as a text."""
    schedule = run("sglang-ratio(order=hrrn)", instance_of(2, *[(0, 1, 1)] * 132))
    order = sorted(range(132), key=schedule.starts.__getitem__)
    assert order == [0, 1, 2, 3, *sorted(range(4, 132), key=str)]


def test_ageing_by_hand() -> None:
    """The longer prompt that has waited goes first, in rounds and in seconds; without it second."""
    # At 9 the keys are 4·(1 − 0.9) = 0.4 and 3·(1 − 0.1) = 2.7.
    requests = ((0, 1, 9), (0, 4, 6), (8, 3, 7))
    instance = instance_of(10, *requests)
    assert run("trtllm-sjf(fade=0.1)", instance).starts == (0, 9, 15)
    assert run("trtllm-sjf(fade=0)", instance).starts == (0, 16, 9)
    timed = instance_of(10, *requests, time_unit="second")
    setting = RunSetting({"fade": 0.1}, batch_time=parse_batch_time("affine(1000,0)"))
    assert run_policy(policies()["trtllm-sjf"], timed, setting).starts == (0, 9, 15)


def test_prefix_caching_of_a_huge_memory_is_refused() -> None:
    """Each free block would be kept: of 10^9 blocks that is all memory of the machine."""
    instance = instance_of(10**9, (0, 10**8, 2), (0, 1, 1))
    assert run("vllm-v1", instance).tel == 3
    with pytest.raises(NotApplicableError, match="at most 10,000,000 blocks, found 1,000,000,000"):
        run("vllm-v1(resume=cached)", instance)
    assert run("vllm-v1(resume=cached,block=4096)", instance).tel == 3


def test_lpt_chooses_nobody_without_a_budget() -> None:
    """The budget of 11 ends at 5 + 4 + 2 tokens: in round 4 the prompt of 2 fits best, not of 1."""
    instance = instance_of(20, (0, 5, 5), (0, 4, 4), (0, 2, 4), (0, 1, 1))
    assert run("ascend-lpt(budget=11)", instance).tel == 20


def test_a_boost_without_bound() -> None:
    """The smallest numbers leave the order of arrival among equal boosts."""
    instance = instance_of(4, (0, 1, 2), (0, 1, 2))
    assert run("gamma-boost(gamma=1e-200,token=1e-200)", instance).tel == 5


def test_the_ratio_after_a_retraction_divides_by_one_more() -> None:
    """At 11 the room is 60 - 11 - 48 * 30 / 60 = 25, just what the retracted request needs."""
    instance = instance_of(60, (0, 0, 59), (1, 40, 19), (10, 20, 5))
    assert run("sglang-ratio(conservativeness=0)", instance).tel == 133
