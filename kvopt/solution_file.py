"""Schedules from the solution files of solvers outside, of a model that ``--write-model`` wrote.

A model's name tells formulation and instance.  Of a solution only the start variables are read:
x(i_t) is 1 where request i of the instance starts at round t.  Every format that is read has a
variable's name followed by its value:

- Gurobi: ``x(3_17) 1``, comments begin with ``#`` (its reference manual, "SOL format");
- HiGHS: the same, in the section of primal values, before that of dual values
  (``write_solution_to_file`` in the raw style, its default);
- SCIP: ``x(3_17) 1 (obj:17)`` (its documentation of ``reader_sol.h``);
- CBC: ``20 x(3_17) 1 17``, the index before and the reduced cost behind, ``**`` in front where the
  solution breaks a row (Pyomo's reader of it);
- XML, as CPLEX's: ``<variable name="x(3_17)" index="20" value="1"/>`` (SCIP's ``reader_sol.h``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from instances import Instance
from schedules import Schedule, make_schedule
from support.inputs import open_input
from support.jsonfile import FileError, read_bytes

_MODEL_NAME = re.compile(r"(?:NAME\s+|model name=)(\S+)_of_([0-9a-f]{64})\b")
#: Bytes in which the name of a model stands; what follows may be gigabytes.
_HEAD = 4096
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BEFORE = r'^(?:\*\*)?[ \t]*(?:\d+[ \t]+|<variable[ \t][^>\n]*name=")?'
_BETWEEN = r'(?:[ \t]+|"[^>\n]*[ \t]value=")'
_START = re.compile(
    rf'{_BEFORE}x\((\d{{1,9}})_(\d{{1,18}})\){_BETWEEN}({_NUMBER})(?=[\s"]|$)', re.MULTILINE
)
_DUAL_VALUES = "\n# Dual solution values"


def name_of_model(formulation: str, instance: Instance) -> str:
    """Return the name that an exported model has."""
    return f"{formulation}_of_{instance.sha256}"


def schedule_of_solution(
    model: str | Path, solution: str | Path, instances: Mapping[str, Instance], by: str = ""
) -> Schedule:
    """Return the schedule of a solution file, unchecked.

    Parameters
    ----------
    instances
        Those of which the model may be, by hash.
    by
        What found the solution; a solver of the model's formulation where that is not told.

    Raises
    ------
    FileError
        If a file cannot be read, the model is of none of the instances, or there is no solution.
    """
    formulation, sha256 = read_model_name(model)
    if sha256 not in instances:
        raise FileError(f"{model}: expected the model of {_named(instances)}, found another one")
    instance = instances[sha256]
    starts = read_solution(solution, instance)
    try:
        return make_schedule(instance, starts, by or f"a solver of {formulation}")
    except ValueError as error:  # as a name with a line break
        raise FileError(f"{solution}: {error}") from None


def _named(instances: Mapping[str, Instance]) -> str:
    if len(instances) > 1:
        return "an instance of the library"
    return repr(next(iter(instances.values())).name)


def read_model_name(path: str | Path) -> tuple[str, str]:
    """Return the formulation of an exported model, and the hash of its instance.

    Raises
    ------
    FileError
        If the file cannot be read, or its name is not that of :func:`name_of_model`.
    """
    try:
        with open_input(path, largest=1 << 62) as file:
            head = file.read(_HEAD).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    found = _MODEL_NAME.search(head)
    if found is None:
        raise FileError(
            f"{path}: expected a model that --write-model wrote, found none by its name"
        )
    return found[1], found[2]


def read_solution(path: str | Path, instance: Instance) -> list[int]:
    """Return the start round of each request by a solution file.

    A variable counts as 1 beyond a half: solvers meet integers within a tolerance, and whoever
    reads the starts checks them.

    Raises
    ------
    FileError
        If the file cannot be read, or a request starts nowhere or twice.
    """
    try:
        text = read_bytes(path).decode("utf-8", "replace")
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
    starts: list[int | None] = [None] * len(instance)
    for request, start, value in _START.findall(text.partition(_DUAL_VALUES)[0]):
        if float(value) <= 0.5:
            continue
        position = int(request)
        if position >= len(starts):
            raise FileError(
                f"{path}: x({request}_{start}): expected a request below {len(starts)}, found "
                f"{request}"
            )
        if starts[position] is not None:
            raise FileError(f"{path}: expected one start, request {position} of the model has two")
        starts[position] = int(start)
    found = [start for start in starts if start is not None]
    if len(found) < len(starts):
        missing = starts.index(None)
        raise FileError(
            f"{path}: expected a start of each request, found no x({missing}_t) above a half: "
            "no solution, that of a relaxation, or of another model"
        )
    return found
