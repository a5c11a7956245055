"""Many draws of policies against their transcriptions."""
import sys
from hypothesis import given, settings, strategies as st, Phase
import numpy as np
from tests.heuristics.test_reference import *
def go(name,n):
    served=[0,0]
    @given(data=st.data(), seed=st.integers(0, 20))
    @settings(max_examples=n, deadline=None, database=None, phases=[Phase.generate])
    def t(data,seed):
        instance = data.draw(predicted(10, 24)); values = data.draw(values_of(name))
        setting = RunSetting(values=values, seed=seed)
        try: expected = twin(name, instance, values, seed)
        except UnservableError:
            with pytest.raises(NotApplicableError): run_policy(policies()[name], instance, setting)
            return
        served[0]+=1
        served[1]+=bool(expected.attempts and any(expected.attempts))
        assert run_policy(policies()[name], instance, setting) == expected
        assert check_schedule(instance, expected).valid
    t(); print(name,n,"served, with evictions:",served, flush=True)
for name in sys.argv[2:]: go(name,int(sys.argv[1]))
