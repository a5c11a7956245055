"""What the engine of bounds sends: no certificate that its own evaluation would refuse."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from formulations.bounds import patterns
from formulations.bounds.bound_result import BoundResult
from formulations.certificates import reader_budget
from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import read_certificate
from formulations.certificates.reader_budget import CertificateError
from formulations.lagrangian.state_prices import StatePrices
from instances import Instance, Request
from kvopt.engines import bound
from kvopt.engines.job import EngineJob
from kvopt.runs.events import BoundProved, Event, EventReport, Note

#: Price 1 on every state at times 1 to 3.  The later start is at 1, since TEL ≤ 5, so the two pay
#: 2·2 rounds and 2·2 prices; two states fit at a time: 8 − 3·2 = 2.
TWO = Instance("two", 3, (Request(0, 0, 0, 2), Request(1, 0, 0, 2)))
TABLE = StatePrices(
    np.array([1, 3]), np.array([1, 2]), np.array([0, 1]), np.ones((2, 2, 2), dtype=np.int64), 1
)


def _sent() -> tuple[BoundProved, list[str]]:
    def compute_bound(instance: Instance, **_: Any) -> BoundResult:
        assert instance is TWO
        return BoundResult(2, None, None, None, TABLE)

    declared = replace(patterns.FORMULATION, compute=compute_bound)
    deadline, options = time.monotonic() + 60, {"options": patterns.PatternOptions()}
    job = EngineJob(TWO, "bound", declared, True, deadline, 1, 0, [0, 1], 5, options=options)
    events: list[Event] = []
    bound.solve(job, EventReport(events.append))
    (proved,) = (event for event in events if isinstance(event, BoundProved))
    return proved, [event.text for event in events if isinstance(event, Note)]


def test_prices_on_states_come_with_their_certificate() -> None:
    """What is sent proves the value that is sent."""
    proved, notes = _sent()
    assert proved.certificate is not None
    assert evaluate_certificate(TWO, read_certificate(proved.certificate)) == proved.value == 2
    assert notes == []


@pytest.mark.parametrize(
    ("limit", "reason"), [("MOST_STEPS", "steps"), ("MOST_NUMBERS", "numbers")]
)
def test_a_certificate_too_long_to_evaluate_is_not_sent(
    limit: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reader would refuse it; the bound stays, with a line that says so."""
    proved, _ = _sent()
    assert proved.certificate is not None
    monkeypatch.setattr(reader_budget, limit, 5)
    with pytest.raises(CertificateError, match=reason) as refused:
        evaluate_certificate(TWO, read_certificate(proved.certificate))
    proved, notes = _sent()
    assert (proved.value, proved.certificate) == (2, None)
    assert notes == [f"no certificate of this bound is kept: {refused.value}"]
