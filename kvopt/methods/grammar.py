"""Methods as text: engines, policies and files of one's own, with one canonical spelling each."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from formulations.registry import Formulation, formulations
from formulations.spec import FormulationError, format_formulation, read_formulation
from heuristics.policy import AdvisedPolicy
from heuristics.registry import policies
from heuristics.spec import SpecError
from kvopt.methods.policy import PolicyCall, read_policy_call
from kvopt.methods.sources import ROOT

#: What each of the project's own solvers solves.
SOLVERS: dict[str, str] = {"bound": "bound", "cpsat": "cp", "highs": "mip", "search": "search"}

Kind = Literal["auto", "engine", "policy", "file"]

_ENGINE = re.compile(r"([A-Za-z0-9_.+-]+)(?::(.*))?", re.DOTALL)
# A path may hold commas; it ends with .py.
_PIECE = re.compile(r"\s*(file:.*?\.py(?=\s*(?:,|$))|(?:[^,(]|\([^)]*\)?)*)\s*(?:,|$)", re.DOTALL)

#: Asks Pyomo in a process of its own, since loading it takes a second and may load engines.
_ASK_PYOMO = """\
import sys
from pyomo.environ import SolverFactory
name = sys.argv[1]
known = name in list(SolverFactory)
try:
    available = known and bool(SolverFactory(name).available(exception_flag=False))
except Exception:
    available = False
print("available" if available else "missing" if known else "unknown")
"""


class MethodError(ValueError):
    """A method is unknown or its parameters are not right; the message is one line."""


@dataclass(frozen=True)
class Method:
    """A method that a sweep can run.

    Attributes
    ----------
    text
        The canonical text, by which the method is stored and named in tables.
    solver, formulation
        Of an engine; the formulation with its options, empty where the size decides.
    call
        Of a policy.
    path
        Of a file of one's own.
    """

    text: str
    kind: Kind
    solver: str = ""
    formulation: str = ""
    call: PolicyCall | None = None
    path: Path | None = None

    @property
    def folder(self) -> Path | None:
        """Where a file of one's own may import further modules from."""
        return None if self.path is None else self.path.parent

    @property
    def takes_formulation(self) -> bool:
        """Whether its engine solves a formulation."""
        return self.kind == "engine" and self.solver not in ("improve", "repair")

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
    """Return the methods of texts that may hold several each, every method once."""
    methods = (read_method(piece) for text in texts for piece in split_methods(text))
    return list({method.text: method for method in methods}.values())


@cache
def read_method(text: str, planned: bool = False) -> Method:
    """Read a method.

    ``auto``; a solver (``highs``, ``cpsat``, ``search``, ``bound``, or a name that Pyomo knows),
    with a formulation as in ``highs:ilp-strong``; a policy with parameters and prediction, as in
    ``a-min with interval(1,1000)``; ``file:PATH.py``, whose path is taken from the current folder
    where it exists there, else from the project's.

    Parameters
    ----------
    planned
        The method was read before: whether Pyomo has its solver need not be found out again,
        which takes seconds.

    Raises
    ------
    MethodError
        If there is no such method.
    """
    text = text.strip()
    if text == "auto":
        return Method("auto", "auto", solver="auto")
    if text in ("improve", "repair"):
        return Method(text, "engine", solver=text)
    if text.startswith("file:"):
        return _read_file(text.removeprefix("file:"))
    name = re.split(r"[(\s]", text, maxsplit=1)[0]
    if name in policies():
        return _read_policy(text)
    match = _ENGINE.fullmatch(text)
    if match is None:
        raise _unknown(text)
    solver, formulation = match.groups()
    if solver not in SOLVERS and not planned:
        _ask_pyomo(solver, text)
    if formulation is None:
        return Method(solver, "engine", solver=solver)
    return _read_engine(solver, formulation)


def listing() -> str:
    """Return one line for every form of a method."""
    return "\n".join(
        [
            "methods",
            "  auto                     bound, local search and exact engine side by side, by size",
            "  highs, cpsat, search     an exact engine; highs:FORMULATION names the model",
            "  bound                    lower bounds, as in bound:bound-dual",
            "  NAME                     any other solver that Pyomo finds on this machine",
            "  POLICY                   a policy, as in alpha-beta(alpha=0.2,beta=0.1)",
            "  POLICY with PREDICTION   as in a-min with interval(1,1000)",
            "  file:PATH.py             a method of one's own: solve(instance) in a Python file",
            "",
            "formulations",
            *(f"  {each.name:<24} [{each.kind}] {each.summary}" for each in _formulations()),
            "",
            "policies (parameters: solve.py --list)",
            *(f"  {policy.name:<24} {policy.summary}" for policy in policies().values()),
        ]
    )


def _formulations() -> list[Formulation]:
    return list(formulations().values())


def _read_file(name: str) -> Method:
    try:
        path = Path(name).expanduser()
        here = path.resolve()
        found = here if here.is_file() or path.is_absolute() else (ROOT / path).resolve()
        found.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        # Too long, a NUL, a loop of links, or the home of a user that there is not.
        reason = getattr(error, "strerror", None) or error
        raise MethodError(f"file:{name}: {reason}") from None
    if found.suffix != ".py" or not found.is_file():
        raise MethodError(f"file:{name}: expected a Python file, found none there")
    if not found.as_posix().isprintable():
        raise MethodError(f"file:{name!r}: expected a path without control characters")
    # One spelling wherever the command is called from.
    shown = found.relative_to(ROOT) if found.is_relative_to(ROOT) else found
    return Method(f"file:{shown.as_posix()}", "file", path=found)


def _read_policy(text: str) -> Method:
    spec, _, prediction = (part.strip() for part in text.partition(" with "))
    try:
        call = read_policy_call(spec, prediction or None)
    except SpecError as error:
        raise MethodError(str(error)) from None
    return Method(call.method, "policy", call=call)


def _read_engine(solver: str, text: str) -> Method:
    try:
        formulation, options = read_formulation(text)
    except FormulationError as error:
        raise MethodError(str(error)) from None
    kind = SOLVERS.get(solver, "mip")
    if formulation.kind != kind:
        fitting = ", ".join(each.name for each in _formulations() if each.kind == kind)
        raise MethodError(f"{solver} cannot solve {formulation.name!r}, it takes {fitting}")
    shown = format_formulation(formulation, options)
    return Method(f"{solver}:{shown}", "engine", solver=solver, formulation=shown)


@cache
def _ask_pyomo(solver: str, text: str) -> None:
    # -c and -I: nothing of the current folder may be taken for a part of Pyomo.
    answer = subprocess.run(
        [sys.executable, "-I", "-c", _ASK_PYOMO, solver], capture_output=True, text=True, timeout=60
    ).stdout.strip()
    if answer == "missing":
        raise MethodError(f"solver {solver!r} is not installed (highs and cpsat come with kvopt)")
    if answer != "available":
        raise _unknown(text)


def _unknown(text: str) -> MethodError:
    return MethodError(
        f"unknown method {text!r}, expected auto, {', '.join(SOLVERS)} (with :FORMULATION), "
        f"file:PATH.py, a solver of Pyomo's, or a policy: {', '.join(policies())}"
    )
