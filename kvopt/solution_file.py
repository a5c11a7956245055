"""Schedules from the solution files of solvers outside, of a model that ``--write-model`` wrote.

A model's name has its formulation and its instance.  The start variables alone are read: x(i_t) is
1 where request i of the instance starts at round t.  Formats:

- Gurobi: ``x(3_17) 1``, comments begin with ``#`` (its reference manual, "SOL format");
- HiGHS: the same, before the section of dual values (its raw and sparse styles); or a table with
  the name behind the value (its pretty style);
- SCIP: ``x(3_17) 1 (obj:17)`` (its documentation of ``reader_sol.h``);
- CBC: ``20 x(3_17) 1 17``, the index before and the reduced cost behind, ``**`` in front where the
  solution breaks a row (Pyomo's reader of it);
- GLPK: ``20 x(3_17) * 1 0 1``, a long name on a separate line (``glpsol --output``);
- XML, as CPLEX's: ``<variable name="x(3_17)" index="20" value="1"/>`` (SCIP's ``reader_sol.h``).
"""

import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from instances import Instance
from schedules import Schedule, make_schedule
from support.input_files import GZIP, open_input, read_text
from support.json_files import FileError

_MODEL_NAME = re.compile(r"(?:NAME\s+|model name=)(\S+)_of_([0-9a-f]{64})\b")
#: Bytes that hold the name of a model; the rest may be gigabytes.
_HEAD = 4096
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BEFORE = r'^(?:\*\*)?[ \t]*(?:\d+[ \t]+|<variable[ \t][^>\n]*name=")?'
_BETWEEN = r'(?:(?:[ \t]+|[ \t]*\n[ \t]+)(?:(?:\*|B|N[LUFS])[ \t]+)?|"[^>\n]*[ \t]value=")'
_NAME = r"x\((\d{1,9})_(\d{1,18})\)"
_START = re.compile(rf'{_BEFORE}{_NAME}{_BETWEEN}({_NUMBER})(?=[\s"]|$)', re.MULTILINE)
#: HiGHS' pretty style: index, status, bounds, value, dual value, type, name.
_PRETTY = re.compile(
    rf"^ +\d+ +(?:[A-Z]+ +)?\S+ +\S+ +({_NUMBER}) +(?:{_NUMBER} +)?[A-Z][a-z]\S* +{_NAME}$",
    re.MULTILINE,
)
_DUAL_VALUES = "\n# Dual solution values"


def name_of_model(formulation: str, instance: Instance) -> str:
    """Return the name that an exported model has."""
    return f"{formulation}_of_{instance.sha256}"


def schedule_of_solution(
    model: str | Path,
    solution: str | Path,
    instance_of: Callable[[str], Instance],
    by: str = "",
    of: str = "an instance of the library",
) -> Schedule:
    """Return the schedule of a solution file, unchecked, or raise a FileError.

    ``instance_of`` returns the instance of a hash or raises KeyError; ``of`` names its instances.
    ``by`` names the solver (by default the model's formulation).
    """
    formulation, sha256 = read_model_name(model)
    try:
        instance = instance_of(sha256)
    except KeyError:
        raise FileError(f"{model}: expected the model of {of}, found another one") from None
    starts = read_solution(solution, instance)
    try:
        return make_schedule(instance, starts, by or f"a solver of {formulation}")
    except ValueError as error:  # a name with a line break, say
        raise FileError(f"{solution}: {error}") from None


def read_model_name(path: str | Path) -> tuple[str, str]:
    """Return formulation and instance hash of an exported model, or raise a FileError."""
    try:
        with open_input(path, largest=1 << 62) as file:
            head = file.read(_HEAD)
        if head.startswith(GZIP):
            head = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(head, _HEAD)
    except (OSError, ValueError, zlib.error) as error:
        raise FileError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    found = _MODEL_NAME.search(head.decode("utf-8", "replace"))
    if found is None:
        raise FileError(
            f"{path}: expected a model that --write-model wrote, found none by its name"
        )
    return found[1], found[2]


def read_solution(path: str | Path, instance: Instance) -> list[int]:
    """Return the start rounds (variables above a half) of a file, or raise a FileError."""
    starts: list[int | None] = [None] * len(instance)
    values = list(_values(path))
    for request, start, value in values:
        if value <= 0.5:
            continue
        if request >= len(starts):
            expected = f"expected a request below {len(starts)}, found {request}"
            raise FileError(f"{path}: x({request}_{start}): {expected}")
        if starts[request] is not None:
            raise FileError(f"{path}: expected one start, request {request} of the model has two")
        starts[request] = start
    found = [start for start in starts if start is not None]
    if not values:
        raise FileError(
            f"{path}: expected values of x(REQUEST_ROUND) as SCIP, Gurobi, HiGHS (solution style "
            "0 or 1), CBC, CPLEX or GLPK write them, found none"
        )
    if len(found) < len(starts):
        missing = starts.index(None)
        raise FileError(
            f"{path}: expected a start of each request, found no x({missing}_t) above a half: "
            "no solution, that of a relaxation, or of another model"
        )
    return found


def _values(path: str | Path) -> Iterator[tuple[int, int, float]]:
    """Yield request, round and value of the start variables in a solution file."""
    try:
        text = read_text(path, errors="replace").replace("\r\n", "\n").partition(_DUAL_VALUES)[0]
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    for request, start, value in _START.findall(text):
        yield int(request), int(start), float(value)
    for value, request, start in _PRETTY.findall(text):
        yield int(request), int(start), float(value)
