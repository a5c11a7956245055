"""One instance of the attack: drawn, solved by the oracle, then by policies and engines."""

import json
import random
import time
from typing import Any

from instances import Instance
from instances.instance_files import instance_document
from kvopt.methods.option_values import read_formulation
from kvopt.runs.kernel_compilation import compile_first
from tests.child import Child, ChildError
from tests.engine_batch import WITH_KERNELS, engine_task, one_at_a_time, read_events
from tools.attack.choices import SOLVERS, draw_formulation, draw_policy
from tools.attack.judge import judge
from tools.attack.shapes import draw_instance

#: Engine runs and policy runs of an instance.
ENGINE_RUNS, POLICY_RUNS = 5, 6
#: Limits of a run and of a bound, and the seconds after which it counts as hanging: a process
#: imports at first.
SECONDS, BOUND_SECONDS, LATE = 15.0, 2.0, 45.0
#: Seconds for the oracle and the policies together.
PLAIN_SECONDS = 120.0
#: Draws after which a number is given up, since the oracle solves none of its instances.
DRAWS = 20
#: The process of each engine.
ENGINE = ("-m", "tests.engine_batch")


class Crew:
    """The processes of one worker: one an engine, since two cannot share one, and one without."""

    def __init__(self, engine: tuple[str, ...] = ENGINE) -> None:
        compile_first(WITH_KERNELS)
        self.plain = Child("-m", "tools.attack.plain")
        self.engines = {solver: Child(*engine) for solver in SOLVERS.values()}

    def close(self) -> None:
        """End all of them."""
        for child in (self.plain, *self.engines.values()):
            child.close()


def attempt(crew: Crew, seed: int, number: int) -> dict[str, Any]:
    """Return the row of the instance of this number: all runs and all faults."""
    draws = random.Random(f"{seed}:{number}")
    row: dict[str, Any] = {"number": number, "runs": [], "faults": []}
    for _ in range(DRAWS):
        instance = draw_instance(draws, f"attack_{seed}_{number}")
        calls = [[*draw_policy(draws, instance), draws.randrange(1000)] for _ in range(POLICY_RUNS)]
        question = {"instance": instance_document(instance), "calls": calls}
        row["instance"] = question["instance"]
        try:
            plain = json.loads(crew.plain.ask(json.dumps(question) + "\n", PLAIN_SECONDS))
        except ChildError as error:
            row["faults"].append(f"a policy of {calls}, or the oracle, {error}")
            return row
        if plain["optimum"] is not None:
            break
    else:
        return row
    row["optimum"], row["runs"] = plain["optimum"], plain["runs"]
    starts: list[int] = plain["starts"]
    for _ in range(ENGINE_RUNS):
        row["runs"].append(_engine_run(crew, instance, row["optimum"], starts, draws))
    row["faults"] = [f"{run['method']}: {fault}" for run in row["runs"] for fault in run["faults"]]
    return row


def _engine_run(
    crew: Crew, instance: Instance, optimum: int, optimal: list[int], draws: random.Random
) -> dict[str, Any]:
    """Run a drawn formulation from an optimal schedule or from one request at a time."""
    method = draw_formulation(draws)
    solver = SOLVERS[read_formulation(method)[0].kind]
    known = draws.choice((optimal, list(one_at_a_time(instance).starts)))
    seconds = BOUND_SECONDS if solver == "bound" else SECONDS
    task = engine_task(instance, f"{solver}:{method}", seconds, known, draws.randrange(1000))
    began = time.monotonic()
    try:
        events = read_events(crew.engines[solver].ask(task.to_line(), seconds + LATE))
        found = judge(instance, optimum, known, method, events)
    except ChildError as error:
        found = {"method": method, "status": "crashed", "faults": [str(error)]}
    return {"solver": solver} | found | {"seconds": round(time.monotonic() - began, 3)}
