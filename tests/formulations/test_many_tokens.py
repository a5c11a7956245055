"""Models of instances with many tokens: no work and no rows in proportion to them."""

from __future__ import annotations

from hypothesis import given, settings

from formulations.mip import ilp_with_cuts
from formulations.valid.groups import exclusive_groups, window_groups
from formulations.valid.windows import start_windows
from instances import Instance, Request
from tests.oracles.draws import instances

CROWDED = instances(max_requests=6, max_memory=12, max_arrival=3, max_output=5)


def test_group_rows_do_not_grow_with_the_tokens() -> None:
    """Five requests, M = 10^6: rows for at most each start, where there was one for each token.

    Prompts 900,000 and 250,000 differ by 650,000; that was the number of rounds enumerated.
    """
    rows = [(0, 900_000, 2), (0, 300_000, 2), (0, 250_000, 3), (0, 500_000, 1), (1, 550_000, 2)]
    instance = Instance("clq", 10**6, tuple(Request(i, *row) for i, row in enumerate(rows)))
    windows = start_windows(instance, 16)
    model = ilp_with_cuts.build_model(instance, windows, ilp_with_cuts.Options(groups=True))
    assert len(model.group) <= windows.starts * len(instance)


@given(instance=CROWDED)
@settings(max_examples=300, deadline=None)
def test_windows_are_no_longer_than_two_outputs(instance: Instance) -> None:
    """Each window opens less than an output before its start and has a round, for both kinds."""
    most = max(request.output for request in instance.requests)
    for group in [*exclusive_groups(instance), *window_groups(instance)]:
        assert len(group.members) > 1
        for member in group.members:
            assert 0 <= member.before < most
            assert 0 < member.before + member.after <= 2 * most


@given(instance=CROWDED)
@settings(max_examples=100, deadline=None)
def test_every_round_has_a_group_row_that_implies_its_own(instance: Instance) -> None:
    """The starts whose windows hold a round are among those of a row, or of one request."""
    windows = start_windows(instance)
    model = ilp_with_cuts.build_model(instance, windows, ilp_with_cuts.Options(groups=True))
    rows = [{column.index() for column in row.body.linear_vars} for row in model.group.values()]
    for group in exclusive_groups(instance):
        for time in range(-12, windows.horizon + 12):
            own = {
                (member.request, start)
                for member in group.members
                for start in windows.rounds(member.request)
                if start - member.before <= time < start + member.after
            }
            assert len({request for request, _ in own}) < 2 or any(own <= row for row in rows)
