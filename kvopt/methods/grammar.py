"""Methods as text, in one grammar wherever a method is named, each with one canonical text::

    NAME[:FORMULATION][(option=value, ...)][ with PREDICTION(...)]   or   file:PATH.py

NAME is an engine or a policy.  The options are those of the formulation or of the policy.  Case
does not count in names, nor does ``_`` for ``-``, nor do blanks around signs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from formulations.registry import Formulation, formulations
from formulations.registry import Kind as FormulationKind
from heuristics.policy import AdvisedPolicy, NotApplicableError, Policy
from heuristics.predictions import PREDICTIONS, Prediction
from heuristics.registry import policies
from instances.checkout import ROOT
from instances.inputs import note
from instances.telling import did_you_mean, find_name, unknown_name
from kvopt.methods.engines import default_engine, engine_of, named_engines
from kvopt.methods.options import (
    MethodError,
    OptionValues,
    changed_values,
    format_call,
    format_formulation,
    read_values,
)
from kvopt.methods.policy import PolicyCall
from kvopt.methods.sources import read_source
from kvopt.places import is_own_file, shown

__all__ = [
    "Method",
    "MethodError",
    "every_policy",
    "read_formulation",
    "read_method",
    "read_methods",
    "refuse_namesakes",
    "split_methods",
    "with_prediction",
]

Kind = Literal["auto", "engine", "policy", "file"]
#: What a name is looked for among: a method is a solver, a policy or a file.
Among = Literal["method", "solver", "policy"]

FILE = "file:"
#: How a method is written, for messages.
FORM = "NAME[:FORMULATION][(option=value,...)][ with PREDICTION(...)] or file:PATH.py"

_NAME = r"[A-Za-z0-9_.+-]+"
_CALL = re.compile(rf"\s*({_NAME})\s*(?:\(([^()]*)\)\s*)?")
_METHOD = re.compile(
    rf"\s*(?P<name>{_NAME})\s*(?::\s*(?P<formulation>{_NAME})\s*)?(?:\((?P<inside>[^()]*)\)\s*)?"
    r"(?:(?<=[\s)])with\s(?P<prediction>.*))?",
    re.DOTALL | re.IGNORECASE,
)
# A path may hold commas; it ends with .py.
_PIECE = re.compile(r"\s*(file:.*?\.py(?=\s*(?:,|$))|(?:[^,(]|\([^)]*\)?)*)\s*(?:,|$)", re.DOTALL)

#: Asks Pyomo in a process of its own, since loading it takes a second and may load engines.  Of a
#: name that it does not list its factory would look for a program.
_ASK_PYOMO = """\
import json, sys
from pyomo.environ import SolverFactory
names = [name for name in SolverFactory if not name.startswith("_")]
folded = {name.casefold().replace("_", "-"): name for name in names}
asked = sys.argv[1]
name = asked if asked in names else folded.get(asked.casefold().replace("_", "-"))
try:
    there = name is not None and bool(SolverFactory(name).available(exception_flag=False))
except Exception:
    there = False
print(json.dumps({"name": name, "there": there, "names": names}))
"""
_ASK_SECONDS = 60
#: Least similarity of a name that Pyomo lists; it has many that nobody means.
_PYOMO_ALIKE = 0.75


@dataclass(frozen=True)
class Method:
    """A method that can be run.

    Attributes
    ----------
    text
        The canonical text, by which the method is stored and named in tables.  A file outside the
        project is named without its folder, so that tables show the method and not somebody's
        disk; two files of one name differ by the digest of their sources, as an edited file does.
    solver, formulation
        Of an engine; the formulation with its options, empty where the size decides.
    model, options
        That formulation as it is declared, and those options that differ from their defaults.
    call
        Of a policy.
    path
        Of a file of one's own.
    """

    text: str
    kind: Kind
    solver: str = ""
    formulation: str = ""
    model: Formulation | None = None
    options: OptionValues = field(default_factory=dict)
    call: PolicyCall | None = None
    path: Path | None = None

    @property
    def folder(self) -> Path | None:
        """Where a file of one's own may import further modules from."""
        return None if self.path is None else self.path.parent

    @property
    def task_path(self) -> str:
        """The path that a task must carry beside the text, since the text does not lead to it."""
        return "" if self.path is None or is_own_file(self.path) else str(self.path)

    @property
    def solves(self) -> FormulationKind | None:
        """The kind of formulation that its engine takes, None if it takes none or is no engine."""
        return engine_of(self.solver).solves if self.kind == "engine" else None

    @property
    def looks_at_the_clock(self) -> bool:
        """Whether it ends by itself when its time is over, and may have something to tell then.

        A policy has nothing to tell before its end, but its relaxation may be found too slow.
        """
        return self.call is None or isinstance(self.call.policy, AdvisedPolicy)

    @property
    def seeded(self) -> bool:
        """Whether another seed can give another result."""
        if self.call is None:
            return True
        policy, prediction = self.call.policy, self.call.prediction
        drawn = prediction is not None and prediction.name == "noise"
        return policy.randomised or drawn or isinstance(policy, AdvisedPolicy)


def split_methods(text: str) -> list[str]:
    """Split ``a,b(x=1,y=2)`` at the commas that stand outside of parentheses."""
    pieces = []
    position = 0
    while position < len(text):
        match = _PIECE.match(text, position)
        assert match is not None
        pieces.append(match.group(1).strip())
        position = match.end()
    return [piece for piece in pieces if piece]


def read_methods(texts: Sequence[str]) -> list[Method]:
    """Return the methods of texts that may hold several each, every method once.

    Raises
    ------
    MethodError
        If there is no such method, or two files have one name.
    """
    methods = [read_method(piece) for text in texts for piece in split_methods(text)]
    refuse_namesakes(methods)
    return list({method.text: method for method in methods}.values())


def refuse_namesakes(methods: Iterable[Method]) -> None:
    """Refuse two files of one name: their rows could not be told apart in a table.

    Raises
    ------
    MethodError
        If there are.
    """
    paths: dict[str, Path] = {}
    for method in methods:
        if method.path is not None and paths.setdefault(method.text, method.path) != method.path:
            raise MethodError(
                f"{method.text} is two files, {paths[method.text]} and {method.path}: "
                "their rows would have one name, rename one"
            )


def with_prediction(policy: str, prediction: str | None) -> str:
    """Return the text of a policy that is told a prediction, if there is one."""
    return policy if prediction is None else f"{policy} with {prediction}"


def every_policy(prediction: str | None = None) -> list[Method]:
    """Return every policy with default parameters, told the prediction unless it is clairvoyant.

    Raises
    ------
    MethodError
        If there is no such prediction.
    """
    return [
        read_method(name if policy.clairvoyant else with_prediction(name, prediction))
        for name, policy in policies().items()
    ]


def read_method(
    text: str, planned: bool = False, *, path: str = "", among: Among = "method"
) -> Method:
    """Read a method.

    As in ``auto``; ``highs`` or ``highs:ilp-strong(fixing=yes)``; ``a-min with interval(1,1000)``;
    ``file:PATH.py``, whose path is taken from the current folder where it exists there, else from
    the project's.  A solver that is none of the project's must be one that Pyomo lists.

    Parameters
    ----------
    planned
        The method was read before: whether Pyomo has its solver need not be found out again,
        which takes seconds.
    path
        What a task carries beside the text (:attr:`Method.task_path`).
    among
        What kind of method is expected.

    Raises
    ------
    MethodError
        If there is no such method.
    """
    if not isinstance(text, str):  # of a caller from Python
        raise MethodError(f"expected the text of a method, found {text!r}")
    text = text.strip()
    if text.startswith(FILE) and among == "method":
        return _read_file(text.removeprefix(FILE), path)
    match = _METHOD.fullmatch(text)
    if match is None:
        found = text.partition("(")[0].strip()
        near = did_you_mean(found, _names(among)) if found else ""
        raise MethodError(f"unknown {among} {text!r}, expected {FORM}{near}")
    name, formulation, inside, prediction = match.group(
        "name", "formulation", "inside", "prediction"
    )
    known = find_name(name, policies())
    if known is not None and among != "solver":
        if formulation is not None:
            raise MethodError(f"{known} is a policy: it takes no formulation")
        return _read_policy(policies()[known], inside, prediction)
    solver = _solver(name, planned, among)
    if prediction is not None:
        raise MethodError(f"{solver} knows the outputs: it takes no prediction")
    if formulation is None:
        if inside is not None:
            raise MethodError(f"{solver}: options go with a formulation, as in {_example(solver)}")
        return Method(solver, "auto" if solver == "auto" else "engine", solver=solver)
    return _read_engine(solver, formulation, inside)


def read_formulation(text: str) -> tuple[Formulation, OptionValues]:
    """Return a formulation and those of its options that differ from their defaults.

    Raises
    ------
    MethodError
        If the text is no formulation, or an option or a value is unknown.
    """
    name, inside = _read_call("formulation", text)
    known = find_name(name, formulations())
    if known is None:
        raise MethodError(unknown_name("formulation", name, formulations()))
    formulation = formulations()[known]
    values = read_values(known, inside, formulation.options)
    return formulation, changed_values(values, formulation.options)


def _read_call(what: str, text: str) -> tuple[str, str]:
    match = _CALL.fullmatch(text)
    if match is None:
        raise MethodError(f"{what}: expected NAME or NAME(option=value,...), found {text!r}")
    return match.group(1), match.group(2) or ""


def _read_file(name: str, path: str) -> Method:
    try:
        given = Path(path or name).expanduser()
        here = given.resolve()
        found = here if here.is_file() or given.is_absolute() else (ROOT / given).resolve()
        found.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        # Too long, a NUL, a loop of links, or the home of a user that there is not.
        reason = getattr(error, "strerror", None) or error
        raise MethodError(f"file:{name}: {reason}") from None
    if found.suffix != ".py" or not found.is_file():
        raise MethodError(f"file:{name}: expected a Python file, found none there")
    if not found.as_posix().isprintable():
        raise MethodError(f"file:{name!r}: expected a path without control characters")
    # Also what is not read again here; a process of the command runs it.
    note(found)
    try:
        read_source(found)
    except (OSError, SyntaxError) as error:
        raise MethodError(f"file:{found.name}: {' '.join(str(error).split())}") from None
    # One spelling wherever the command is called from.
    name = shown(found) if is_own_file(found) else found.name
    return Method(FILE + name, "file", path=found)


def _read_policy(policy: Policy, inside: str | None, prediction: str | None) -> Method:
    values = read_values(policy.name, inside or "", policy.parameters)
    text = format_call(policy.name, values, policy.parameters)
    if prediction is None:
        return Method(text, "policy", call=PolicyCall(policy, values, None, {}, text))
    if policy.clairvoyant:
        raise MethodError(f"{policy.name} knows the outputs: it takes no prediction")
    model, inside = _read_call("prediction", prediction)
    known = find_name(model, PREDICTIONS)
    if known is None:
        raise MethodError(unknown_name("prediction", model, PREDICTIONS))
    chosen = PREDICTIONS[known]
    told = read_values(known, inside, chosen.parameters)
    _refuse_contradiction(chosen, told)
    text += f" with {format_call(known, told, chosen.parameters)}"
    return Method(text, "policy", call=PolicyCall(policy, values, chosen, told, text))


def _refuse_contradiction(prediction: Prediction, values: dict[str, float]) -> None:
    """Refuse values that no instance could be predicted with, as ``interval(9,1)``."""
    nobody = np.zeros(0, dtype=np.int64)
    try:
        prediction.predict(nobody, np.random.default_rng(0), values)
    except NotApplicableError as error:
        raise MethodError(str(error)) from None


def _solver(name: str, planned: bool, among: Among) -> str:
    """Return the solver's own spelling of a name."""
    if among != "policy":
        known = find_name(name, named_engines())
        if known is not None or planned:
            return known or name
        if among == "solver" and find_name(name, policies()):
            raise MethodError(f"unknown solver {name!r}, it is a policy")
    elif find_name(name, named_engines()):
        raise MethodError(f"unknown policy {name!r}, it is a solver")
    formulation = find_name(name, formulations())
    if formulation is not None:
        engine = default_engine(formulations()[formulation].kind).name
        raise MethodError(
            f"unknown {among} {name!r}, it is a formulation; did you mean {engine}:{formulation}?"
        )
    listed: list[str] = []
    if among != "policy":
        solver, there, listed = _ask_pyomo(name)
        if there:
            return solver
        if solver:
            raise MethodError(
                f"solver {solver!r} is not installed (highs and cpsat come with kvopt)"
            )
    # What Pyomo lists is told only where nothing of ours is near.
    near = did_you_mean(name, _names(among)) or did_you_mean(name, listed, _PYOMO_ALIKE)
    if near:
        raise MethodError(f"unknown {among} {name!r}{near}")
    others = ", file:PATH.py" if among == "method" else ""
    others += "" if among == "policy" else " or a solver that Pyomo lists and finds"
    raise MethodError(f"unknown {among} {name!r}, expected {', '.join(_names(among))}{others}")


def _names(among: Among) -> list[str]:
    return [
        *(named_engines() if among != "policy" else ()),
        *(policies() if among != "solver" else ()),
    ]


def _read_engine(solver: str, name: str, inside: str | None) -> Method:
    formulation, options = read_formulation(name if inside is None else f"{name}({inside})")
    kind = engine_of(solver).solves
    if kind is None:
        raise MethodError(f"{solver} takes no formulation, found {formulation.name!r}")
    if formulation.kind != kind:
        fitting = ", ".join(each.name for each in formulations().values() if each.kind == kind)
        raise MethodError(f"{solver} cannot solve {formulation.name!r}, it takes {fitting}")
    shown = format_formulation(formulation, options)
    text = f"{solver}:{shown}"
    return Method(text, "engine", solver, shown, model=formulation, options=options)


def _example(solver: str) -> str:
    kind = engine_of(solver).solves or "mip"
    fitting = [each for each in formulations().values() if each.kind == kind]
    chosen = next((each for each in fitting if each.options), fitting[0])
    engine = solver if engine_of(solver).solves else default_engine(kind).name
    return f"{engine}:{chosen.name}(...)"


@cache
def _ask_pyomo(name: str) -> tuple[str, bool, list[str]]:
    """Return Pyomo's spelling of a solver, empty if it lists none; whether it is there; all."""
    # -c and -I: nothing of the current folder may be taken for a part of Pyomo.
    try:
        answer = subprocess.run(
            [sys.executable, "-I", "-c", _ASK_PYOMO, name],
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
        ).stdout
        told = json.loads(answer.strip().splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        raise MethodError(f"solver {name!r}: Pyomo did not say whether it has it") from None
    return told["name"] or "", told["there"], told["names"]
