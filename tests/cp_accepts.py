"""Ask CP-SAT, in a separate process, which schedules CP models accept."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from formulations.cp.constraint_program import ConstraintProgram
from instances import Instance
from instances.instance_files import instance_document, parse_instance
from kvopt.methods.option_values import read_formulation

_ROOT = Path(__file__).resolve().parent.parent


def accepted(
    names: Sequence[str], cases: Sequence[tuple[Instance, int, Sequence[Sequence[int]]]]
) -> dict[str, list[list[bool]]]:
    """Tell for each model which schedules of each (instance, TEL, schedules) it accepts."""
    lines = [json.dumps([instance_document(case[0]), *case[1:]]) for case in cases]
    result = subprocess.run(
        [sys.executable, "-m", "tests.cp_accepts", *names],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        cwd=_ROOT,
        check=True,
    )
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    return {name: [each[position] for each in answers] for position, name in enumerate(names)}


def _main(names: list[str]) -> None:
    """Read cases from standard input, one a line; write the answers of all models as one line."""
    for line in sys.stdin:
        document, known, schedules = json.loads(line)
        instance = parse_instance(document)
        print(json.dumps([_answers(name, instance, known, schedules) for name in names]))


def _answers(
    name: str, instance: Instance, known: int, schedules: Sequence[Sequence[int]]
) -> list[bool]:
    from ortools.sat.python import cp_model  # only here: it cannot be beside another engine

    formulation, values = read_formulation(name)
    program, options = formulation.declared, formulation.arguments(values)
    assert isinstance(program, ConstraintProgram)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.cp_model_presolve = False
    windows = program.windows(instance, known)
    answers = []
    for starts in schedules:
        model, variables = program.build(instance, windows, None, **options)
        for variable, start in zip(variables, starts, strict=True):
            model.add(variable == start)
        answers.append(solver.solve(model) == cp_model.OPTIMAL)
    return answers


if __name__ == "__main__":
    _main(sys.argv[1:])
