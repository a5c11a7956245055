"""Every policy against its transcription, found by name: a new policy without one is named."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.policy import NotApplicableError
from heuristics.policy_registry import policies
from heuristics.reference import EndlessError, ManyRoundsError, UnservableError
from heuristics.round_driver import EndlessLoopError
from heuristics.simulator import RunSetting, run_policy
from schedules import check_schedule
from tests.heuristics.twins import halves, twin, twins, values_of
from tests.oracles.draws import predicted
from tests.tiers import a_few

#: States no algorithm of a paper or of an engine, and says so.
WITHOUT = {"local-search"}
#: Requests and memory: few where the transcription goes through all subsets, many where several
#: swaps follow each other, or samples have many sizes.
SIZES = {
    "sorted-f-exact": (7, 24),
    "sorted-f-amin": (8, 24),
    "sorted-f-swap": (14, 40),
    "sorted-f-quantile": (40, 60),
}
#: Draws of each policy; more where ties, arrivals and evictions at the last token meet rarely.
ENGINES = [name for name in twins() if re.match("vllm|ascend|sglang|trtllm", name)]
DRAWS = [*((name, 40) for name in twins()), *((name, 400) for name in ENGINES)]


def test_every_policy_has_a_transcription() -> None:
    """Those that have none are named here, and nothing is transcribed that is no policy."""
    assert set(policies()) - set(twins()) == WITHOUT
    assert set(twins()) <= set(policies())


@pytest.mark.parametrize(("name", "draws"), a_few(DRAWS, len(twins())))
def test_a_policy_equals_its_transcription(name: str, draws: int) -> None:
    """Heaps, tables and skipped rounds change neither starts nor attempts nor kept tokens."""

    @given(data=st.data(), seed=st.integers(0, 20))
    @settings(max_examples=draws, deadline=None)
    def equal(data: st.DataObject, seed: int) -> None:
        _compare(name, data, seed)

    equal()


def _compare(name: str, data: st.DataObject, seed: int) -> None:
    instance = data.draw(predicted(*SIZES.get(name, (10, 24))))
    values = data.draw(values_of(name))
    advice = data.draw(halves(len(instance)))
    setting = RunSetting(values=values, seed=seed, advice=np.array(advice))
    try:
        expected = twin(name, instance, values, seed, advice)
    except ManyRoundsError:
        # Clearing at random may need very many rounds until a request as large as M survives.
        assert name == "alpha-beta"
    except EndlessError:
        with pytest.raises(EndlessLoopError):
            run_policy(policies()[name], instance, setting)
    except UnservableError:
        with pytest.raises(NotApplicableError):
            run_policy(policies()[name], instance, setting)
    else:
        assert run_policy(policies()[name], instance, setting) == expected
        verdict = check_schedule(instance, expected)
        assert verdict.valid, verdict.reason
