"""Every policy against its transcription, found by name: a new policy without one is named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heuristics.policy import NotApplicableError
from heuristics.policy_registry import policies
from heuristics.reference import EndlessError, ManyRoundsError, UnservableError, references
from heuristics.round_driver import EndlessLoopError
from heuristics.simulator import RunSetting, run_policy
from schedules import check_schedule
from tests.heuristics.twins import halves, twin, values_of
from tests.oracles.draws import predicted

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


def test_every_policy_has_a_transcription() -> None:
    """Those that have none are named here, and nothing is transcribed that is no policy."""
    assert set(policies()) - set(references()) == WITHOUT
    assert set(references()) <= set(policies())


@pytest.mark.parametrize("name", references())
@given(data=st.data(), seed=st.integers(0, 20))
@settings(max_examples=40, deadline=None)
def test_a_policy_equals_its_transcription(name: str, data: st.DataObject, seed: int) -> None:
    """Heaps, tables and skipped rounds change neither starts nor attempts nor kept tokens."""
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
