"""A process without engines: the oracle's optimum, and the policies of one instance.

Run as ``python -m tools.attack.plain``: one question a line on standard input, one answer a line.
"""

import json
import sys
from typing import Any

import numpy as np

from heuristics.policy import AdvisedPolicy, NotApplicableError
from heuristics.round_driver import EndlessLoopError
from heuristics.simulator import RunSetting, run_policy
from instances import Instance
from instances.instance_files import parse_instance
from kvopt.methods.grammar import read_method, with_prediction
from schedules import check_schedule
from tests.child import open_answers
from tests.heuristics.contract import MAY_LOOP
from tests.heuristics.twins import twin
from tools.attack.oracle import best_first_optimum

#: The transcriptions go round by round, so only where arrivals are not far.
LITERAL_UP_TO = 2_000
#: Policies with a transcription for prompts and outputs of any size.
TRANSCRIBED = {"fcfs", "mc-benchmark", "mc-sf", "mc-sf-total", "svf"}


def answer(instance: Instance, calls: list[list[Any]]) -> dict[str, Any]:
    """Return the optimum with its starts (null where it was not found), and one row a policy."""
    found = best_first_optimum(instance)
    rows = [] if found is None else [_run(instance, found[0], *call) for call in calls]
    return {"optimum": found and found[0], "starts": found and found[1], "runs": rows}


def _run(
    instance: Instance, optimum: int, method: str, prediction: str | None, seed: int
) -> dict[str, Any]:
    """Run one policy; return its row with its faults."""
    call = read_method(with_prediction(method, prediction)).call
    assert call is not None
    advice = None
    if isinstance(call.policy, AdvisedPolicy):
        # Any numbers will do to test how the policy uses them.
        advice = np.random.default_rng(seed).random(len(instance)) * 100
    row: dict[str, Any] = {"method": method, "prediction": prediction, "faults": []}
    setting = RunSetting(call.values, call.prediction, call.prediction_values, seed, advice)
    try:
        schedule = run_policy(call.policy, instance, setting, call.method)
    except (NotApplicableError, EndlessLoopError) as error:
        row["refused"] = type(error).__name__
        may_loop = call.policy.name in MAY_LOOP or call.values.get("beta") == 1
        if isinstance(error, EndlessLoopError) and not may_loop:
            row["faults"].append(f"loops for ever: {error}")
        return row
    row["tel"] = schedule.tel
    verdict = check_schedule(instance, schedule)
    if not verdict.valid:
        row["faults"].append(f"the checker refuses its schedule: {verdict.reason}")
    keeps = getattr(call.policy, "keeps_tokens", False)
    if schedule.tel < optimum and not keeps:
        row["faults"].append(f"TEL {schedule.tel} is below the optimum {optimum}")
    near = max(int(request.arrival) for request in instance.requests) <= LITERAL_UP_TO
    if method in TRANSCRIBED and near and schedule.starts != twin(method, instance).starts:
        row["faults"].append("differs from its transcription")
    return row


def main() -> None:
    """Answer until standard input ends."""
    answers = open_answers()
    for line in sys.stdin:
        question = json.loads(line)
        found = answer(parse_instance(question["instance"]), question["calls"])
        print(json.dumps(found), file=answers)


if __name__ == "__main__":
    main()
