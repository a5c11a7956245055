"""Methods by their text, in one grammar (``kvopt.methods.syntax``), each with one canonical text::

    NAME[:FORMULATION][(option=value, ...)][ with PREDICTION(...)]

NAME is an engine, a policy, or ``file:PATH``, a custom Python file or program.  Case, ``_`` for
``-`` and blanks around signs do not count.  An engine of models with a formulation runs alone,
without one after our presolve.  Among several methods ``policies``, ``solvers`` and ``answer`` are
groups, and a range, ``mine(beta=0..2 step 0.5)``, is one method for each value
(``kvopt.methods.parameter_ranges``).
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from formulations.formulation_registry import formulations
from heuristics.policy import NotApplicableError, Policy
from heuristics.policy_registry import policies
from heuristics.predictions import PREDICTIONS, PredictionModel
from kvopt.methods.custom_declaration import Described, OwnCall, described, described_of
from kvopt.methods.engine_table import default_engine, engine_of, named_engines
from kvopt.methods.method import Method
from kvopt.methods.option_values import format_call, read_formulation, read_values
from kvopt.methods.parameter_ranges import expand_ranges
from kvopt.methods.policy_call import PolicyCall
from kvopt.methods.python_files import file_digest, is_python, parse_file
from kvopt.methods.syntax import (
    FILE,
    Arguments,
    MethodCall,
    MethodText,
    file_text,
    parse_call,
    parse_method,
    split_methods,
)
from kvopt.methods.syntax import MethodError as MethodError
from kvopt.project_paths import is_own_file, shown_path
from support.message_text import did_you_mean, find_name, unknown_name
from support.project_root import ROOT

#: Kind of a wanted name; a method is a solver, a policy or a file.
Among = Literal["method", "solver", "policy"]

#: Names of groups of methods.
EVERY_POLICY, EVERY_SOLVER, OF_ANSWER = "policies", "solvers", "answer"
#: Methods that answer an instance in seconds (``serving.answer``): vLLM's scheduler, good policies
#: of each class of knowledge, and the bound; the most important first.
ANSWER = (
    "vllm-v1",
    "swf",
    "las",
    "srpt-predicted with bins(100)",
    "srpt-predicted with deciles",
    "a-min with bins(100)",
    "mc-sf-predicted with bins(100)",
    "mc-sf-predicted with deciles",
    *("srpt", "svf", "svf-first-fit", "mc-sf-total", "mc-sf-first-fit"),
    "local-search(moves=200)",
    "bound",
)

#: Asks Pyomo in a separate process: its import takes a second and may load engines.
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
#: Least similarity of a name that Pyomo lists; many of its names are rare.
_PYOMO_ALIKE = 0.75


def read_methods(texts: Iterable[str]) -> tuple[Method, ...]:
    """Return the methods of texts that may hold several each, once, or raise a MethodError."""
    pieces = [
        each for text in texts for piece in split_methods(text) for each in expand_ranges(piece)
    ]
    if not pieces:
        raise MethodError("expected a method (see --list), found none")
    methods = [method for piece in pieces for method in _read_group(piece) or [read_method(piece)]]
    refuse_namesakes(methods)
    return unique_methods(methods)


def _read_group(text: str) -> list[Method]:
    """Return the methods of a group; only ``policies`` takes a prediction."""
    parsed = parse_method(text)
    groups = {EVERY_SOLVER: [*named_engines()], OF_ANSWER: [*ANSWER]}
    name = parsed.name.casefold()
    if parsed.formulation is not None or parsed.arguments is not None:
        return []
    if name == EVERY_POLICY:
        found = every_policy(parsed.prediction)
    else:
        found = [read_method(each) for each in groups.get(name, ()) if not parsed.prediction]
    return [replace(method, grouped=True) for method in found]


def unique_methods(methods: Iterable[Method]) -> tuple[Method, ...]:
    """Return every method once, in the order in which they come first."""
    return tuple({method.text: method for method in methods}.values())


def refuse_namesakes(methods: Iterable[Method]) -> None:
    """Raise a MethodError for two files of one name, which would share rows of tables."""
    paths: dict[str, Path | None] = {}
    for method in methods:
        name = file_text(parse_method(method.text).path)
        if paths.setdefault(name, method.path) != method.path:
            raise MethodError(
                f"{name} is two files, {paths[name]} and {method.path}: "
                "their rows would have one name, rename one"
            )


def with_prediction(policy: str, prediction: str | MethodCall | None) -> str:
    """Return the text of a policy with a prediction, if there is one."""
    return policy if prediction is None else f"{policy} with {prediction}"


def every_policy(prediction: str | MethodCall | None = None) -> list[Method]:
    """Return every policy with its defaults, and with the prediction where that changes it."""
    return [
        read_method(
            name if policy.clairvoyant or policy.blind else with_prediction(name, prediction)
        )
        for name, policy in policies().items()
    ]


def read_method(text: str, planned: bool = False, *, among: Among = "method") -> Method:
    """Read a method, or raise a MethodError that names the kind that was expected (``among``).

    A path is relative to the current folder, or else to the project's.  Another solver must be in
    Pyomo's list.  For a ``planned`` text, of a stored row or read before, neither Pyomo nor a
    custom file is asked.
    """
    if not isinstance(text, str):
        raise MethodError(f"expected the text of a method, found {text!r}")
    parsed = parse_method(text)
    if parsed.path:
        if among == "solver":
            raise MethodError(f"a file is no solver, write --method {parsed}")
        return Method(str(parsed), "file") if planned else _read_file(parsed)
    name, prediction = parsed.name, parsed.prediction
    if among != "solver" and name.endswith(".py"):
        raise MethodError(f"unknown {among} {text!r}; did you mean {FILE}{text.strip()}?")
    known = find_name(name, policies())
    if known is not None and among != "solver":
        if parsed.formulation is not None:
            raise MethodError(f"{known} is a policy: it takes no formulation")
        policy = policies()[known]
        called = _read_call(known, policy, parsed.arguments, prediction, planned)
        return Method(called[-1], "policy", call=PolicyCall(policy, *called))
    solver = _find_solver(name, planned, among)
    if prediction is not None:
        raise MethodError(f"{solver} knows the outputs: it takes no prediction")
    if parsed.formulation is not None:
        return _read_engine(solver, MethodCall(parsed.formulation, parsed.arguments))
    if parsed.arguments is not None:
        raise MethodError(f"{solver}: options go with a formulation, as in highs:ilp(...)")
    return Method(solver, "auto" if solver == "auto" else "engine", solver=solver)


def method_of_document(document: Mapping[str, Any]) -> Method:
    """Return the method of a :meth:`Method.document`; no custom file is read."""
    text = document["text"]
    if not text.startswith(FILE):
        return read_method(text, planned=True)
    parsed = parse_method(text)
    path = Path(document["path"] or ROOT / parsed.path)
    if document["own"] is None:
        return Method(text, "file", path=path)
    return _custom_method(parsed, path, described_of(document["own"]))


def _read_file(parsed: MethodText) -> Method:
    name = parsed.path
    try:
        given = Path(name).expanduser()
        here = given.resolve()
        found = here if here.is_file() or given.is_absolute() else (ROOT / given).resolve()
        found.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MethodError(f"{FILE}{name}: {reason}") from None
    if not found.is_file() or not (is_python(found) or os.access(found, os.X_OK)):
        raise MethodError(f"file:{name}: expected a Python file or a program, found none there")
    if not found.as_posix().isprintable():
        raise MethodError(f"file:{name!r}: expected a path without control characters")
    parsed = replace(parsed, path=shown_path(found) if is_own_file(found) else found.name)
    declared: Described | None = Described(found.name, False)
    fault = ""
    if is_python(found):
        try:
            parse_file(found)
            declared, fault = described(found, file_digest(found))
        except (OSError, SyntaxError) as error:
            raise MethodError(f"file:{found.name}: {' '.join(str(error).split())}") from None
    if declared is not None:
        return _custom_method(parsed, found, declared)
    if parsed.arguments or parsed.prediction is not None:
        raise MethodError(f"{FILE}{parsed.path}: its parameters are not known: {fault}")
    # Its row has the fault.
    return Method(str(parsed), "file", path=found)


def _custom_method(parsed: MethodText, path: Path, declared: Described) -> Method:
    """Return a custom file with its parameters, and the prediction of its policy."""
    name = file_text(parsed.path)
    if parsed.prediction is not None and not declared.is_policy:
        raise MethodError(f"{name}: solve is given the outputs: it takes no prediction")
    called = _read_call(name, declared, parsed.arguments, parsed.prediction)
    return Method(called[-1], "file", path=path, own=OwnCall(declared, *called[:-1]))


def _read_call(
    name: str,
    policy: Policy | Described,
    arguments: Arguments | None,
    prediction: MethodCall | None,
    planned: bool = False,
) -> tuple[dict[str, Any], PredictionModel | None, dict[str, Any], str]:
    """Return the values of a call, its prediction with values, and the canonical text.

    A prediction that changes nothing is refused unless the text is ``planned``.
    """
    values = read_values(name, arguments, policy.parameters)
    text = format_call(name, values, policy.parameters)
    if prediction is None:
        return values, None, {}, text
    if not planned and (policy.clairvoyant or policy.blind):
        why = "knows the outputs" if policy.clairvoyant else "uses nothing of the outputs"
        raise MethodError(f"{name} {why}: it takes no prediction")
    chosen, given, call = read_prediction(prediction)
    return values, chosen, given, f"{text} with {call}"


def read_prediction(text: str | MethodCall) -> tuple[PredictionModel, dict[str, Any], str]:
    """Return a prediction, its values, and its canonical text."""
    call = parse_call(text) if isinstance(text, str) else text
    known = find_name(call.name, PREDICTIONS)
    if known is None:
        raise MethodError(unknown_name("prediction", call.name, PREDICTIONS))
    chosen = PREDICTIONS[known]
    given = read_values(known, call.arguments, chosen.parameters)
    try:  # interval(9,1) predicts no instance
        chosen.predict(np.zeros(0, dtype=np.int64), np.random.default_rng(0), given)
    except NotApplicableError as error:
        raise MethodError(str(error)) from None
    return chosen, given, format_call(known, given, chosen.parameters)


def _find_solver(name: str, planned: bool, among: Among) -> str:
    unknown = f"unknown {among} {name!r}"
    known = find_name(name, named_engines())
    if among != "policy" and (known is not None or planned):
        return known or name
    if known is not None:
        raise MethodError(f"{unknown}, it is a solver")
    if among == "solver" and find_name(name, policies()):
        raise MethodError(f"{unknown}, it is a policy")
    if formulation := find_name(name, formulations()):
        engine = default_engine(formulations()[formulation].kind).name
        raise MethodError(f"{unknown}, it is a formulation; did you mean {engine}:{formulation}?")
    listed: list[str] = []
    if among != "policy":
        solver, there, listed = _ask_pyomo(name)
        if there:
            return solver
        if solver:
            raise MethodError(
                f"solver {solver!r} is not installed (highs and cpsat come with kvopt)"
            )
    near = did_you_mean(name, _known_names(among)) or did_you_mean(name, listed, _PYOMO_ALIKE)
    if near:
        raise MethodError(f"{unknown}{near}")
    others = ", file:PATH" if among == "method" else ""
    others += "" if among == "policy" else " or a solver that Pyomo lists and finds"
    raise MethodError(f"{unknown}, expected {', '.join(_known_names(among))}{others}")


def _known_names(among: Among) -> list[str]:
    return [
        *(named_engines() if among != "policy" else ()),
        *(policies() if among != "solver" else ()),
    ]


def _read_engine(solver: str, call: MethodCall) -> Method:
    formulation, options = read_formulation(str(call))
    kind = engine_of(solver).solves
    if kind is None:
        raise MethodError(f"{solver} takes no formulation, found {formulation.name!r}")
    if formulation.kind != kind:
        fitting = ", ".join(each.name for each in formulations().values() if each.kind == kind)
        raise MethodError(f"{solver} cannot solve {formulation.name!r}, it takes {fitting}")
    return Method(solver, "engine", solver).on(formulation, options)


def refuse_invented(method: Method) -> None:
    """Raise MethodError for an engine that is neither ours nor one that Pyomo lists."""
    known = method.kind != "engine" or method.solver in named_engines()
    # One question for all names: each takes seconds.
    if not known and method.solver not in _ask_pyomo("")[2]:
        raise MethodError(f"unknown solver {method.solver!r}")


@cache
def _ask_pyomo(name: str) -> tuple[str, bool, list[str]]:
    """Return Pyomo's spelling of a solver, empty without one; if it is installed; all names."""
    # -I: nothing of the current folder is imported.
    asked = [sys.executable, "-I", "-c", _ASK_PYOMO, name]
    try:
        run = subprocess.run(asked, capture_output=True, text=True, timeout=_ASK_SECONDS)
        answer = json.loads(run.stdout.strip().splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        raise MethodError(f"solver {name!r}: Pyomo did not say whether it has it") from None
    return answer["name"] or "", answer["there"], answer["names"]
