"""Policies that know the machine: their orders and exchanges by hand."""

from heuristics.machine_time import machine_time
from heuristics.policy_registry import policies
from heuristics.simulator import RunSetting, run_policy
from instances import Instance, Request
from instances.batch_time import Batch, parse_batch_time
from schedules import Schedule, check_schedule
from tests.oracles.draws import instance_of


def _run(name: str, instance: Instance, batch_time: str = "", **values: float) -> Schedule:
    model = parse_batch_time(batch_time) if batch_time else None
    schedule = run_policy(policies()[name], instance, RunSetting(values=values, batch_time=model))
    assert check_schedule(instance, schedule).valid
    return schedule


def test_machine_time_adds_up_round_by_round() -> None:
    """Each token's share of the base, and what a batch of one takes beyond it."""
    model = parse_batch_time("linear(base=7,prefill=3,square=2,decode=5,read=11)")
    for memory in (10, 33):
        for held in (0, 3):
            for tokens in (1, 4):
                batches = [Batch(((0, held),), 0, 0)]
                batches += [Batch((), 1, held + j) for j in range(1, tokens)]
                loads = sum(1000 * model.nanoseconds(each) - model.base for each in batches)
                shares = sum(model.base * (held + j) for j in range(1, tokens + 1))
                new = machine_time(model, memory, held, tokens, prefilled=False)
                assert new == shares + memory * loads
                again = model.prefill_load(held) - model.decode_load(held)
                there = machine_time(model, memory, held, tokens, prefilled=True)
                assert new - there == memory * again


def test_a_long_prompt_is_much_work_where_prefills_are_dear() -> None:
    """Volumes 9 + 1 = 10 and 3 + 4 + 5 + 6 = 18, but a prefill of 9 costs 9 s, of 2 it costs 2."""
    # Only one fits into M = 10.  ``svf`` begins with the long prompt, ``swf`` with the short one.
    instance = instance_of(10, (0, 9, 1), (0, 2, 4), time_unit="second")
    dear = "linear(base=1,prefill=1000,square=0,decode=1,read=0)"
    assert _run("svf", instance, dear).starts == (0, 1)
    assert _run("swf", instance, dear).starts == (4, 0)
    assert _run("swf", instance, "unit").starts == _run("svf", instance, "unit").starts


#: (0, 8) holds 1 to 8 of M = 8; (3, 1) arrives at 4 and does not fit next to it then.
EXCHANGE = Instance("exchange", 8, (Request(0, 0, 0, 8), Request(1, 4, 3, 1)))


def test_who_has_much_less_left_goes_first() -> None:
    """At 4 the first has 5 + 6 + 7 + 8 = 26 left, the second 4: they exchange up to factor 6."""
    # The second does not fit at 4 (5 + 4 > 8 tokens).  It ends at 5, the other goes on with
    # the 4 tokens that it kept and ends at 9: 9 + 1 = 10.  Without an exchange 8 + 5 = 13.
    exchanged = _run("srpt", EXCHANGE, factor=6)
    assert (exchanged.tel, exchanged.kept) == (10, ((0, 4), (0,)))
    assert _run("srpt", EXCHANGE, factor=7).tel == 13
    # The middle of no interval is the output.
    assert _run("srpt-predicted", EXCHANGE, factor=6).tel == 10


def test_who_has_had_much_goes() -> None:
    """At 4 the first has had 1 + 2 + 3 + 4 = 10, the second would have 4: up to a factor of 2."""
    assert _run("las", EXCHANGE, factor=2).tel == 10
    # At 5 it has had 15, so it is one round later.
    assert _run("las", EXCHANGE, factor=3).tel == 9 + 2


def test_the_local_search_compares_lists_on_the_clock() -> None:
    """Never worse than the best of its simple orders there, here that of the least work."""
    instance = instance_of(10, (0, 9, 1), *[(0, 2, 4)] * 3, time_unit="second")
    dear = "linear(base=1,prefill=1000,square=0,decode=1,read=0)"
    simple = ("fcfs", "mc-sf", "mc-sf-total", "svf", "swf", "output-peak")
    tels = {name: _run(name, instance, dear).tel for name in simple}
    assert tels["swf"] < tels["svf"]
    assert _run("local-search", instance, dear, moves=0).tel == min(tels.values())
