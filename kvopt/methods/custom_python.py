"""Custom methods in Python: a file, anywhere, that defines ``solve`` or ``POLICY``.

``solve`` returns a start round for each request, in the instance's order, or a
``schedules.Schedule`` (in real time: with a clock).  It receives the arguments that it names:

- ``instance``, ``seed``, ``threads``, ``batch_time`` (text, empty for an instance in rounds), and
  ``seconds``: its time limit, counted from the call;
- ``report``, which sends results before the end: ``report("schedule", starts=[...])``, with
  ``attempts`` and ``kept`` where a run was cancelled, and ``report("bound", value=...,
  source="...", certificate=...)``.  A bound counts at the value that its certificate proves.

Its other parameters, with a number, a text or a truth value for a default, belong to the method.
A ``POLICY``, as in ``heuristics/policies``, is run by the simulator.  It has the parameters that it
declares and, unless it is clairvoyant, a prediction.

A separate process imports the file first and reads its declaration
(``kvopt.methods.custom_declaration``). The run has a process too, which is killed at the limits;
every schedule is checked.
"""

import importlib.util
import inspect
import json
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from formulations.formulation_registry import FormulationOption
from heuristics.policy import AdvisedPolicy, NotApplicableError, Policy, RankError
from heuristics.round_driver import EndlessLoopError
from heuristics.simulator import AdviceError
from kvopt.methods.custom_declaration import Described
from kvopt.methods.method import Method
from kvopt.methods.option_values import LARGEST_KEYWORD, Declared, KeywordParameter, read_values
from kvopt.methods.policy_call import PolicyCall
from kvopt.runs.events import EventReport
from kvopt.runs.task import Task
from schedules import Schedule
from support.message_text import one_line

#: Arguments of ``solve``, each given where it is named.
_GIVEN = frozenset({"instance", "report", "seconds", "seed", "threads", "batch_time"})
#: Characters of a policy's name that tables show.
_LONGEST_NAME = 60
_EXPECTED = "expected a list with one start round a request, a Schedule, or None"


class OwnMethodError(Exception):
    """The file is no method, fails, or sends a wrong result; one line names file and line."""


def load_own(path: Path) -> Policy | Callable[[Task, EventReport], None]:
    """Import a file; return its policy, or a function that runs its ``solve`` on a task."""
    found = _import_method(path)
    return found if isinstance(found, Policy) else _runner(path, found)


def describe_own(path: Path) -> Described:
    """Import a file and return its declaration."""
    found = _import_method(path)
    if isinstance(found, Policy):
        return _describe_policy(found)
    seeded = "seed" in inspect.signature(found).parameters
    return Described(path.stem, False, _read_keywords(found), randomised=seeded)


def _describe_policy(policy: Policy) -> Described:
    # A relaxation has the true outputs of all requests.
    advised = isinstance(policy, AdvisedPolicy)
    return Described(
        one_line(str(policy.name), _LONGEST_NAME),
        True,
        tuple(policy.parameters),
        clairvoyant=policy.clairvoyant or advised,
        blind=policy.blind and not advised,
        offline=policy.offline or advised,
        randomised=policy.randomised,
        advised=advised,
    )


def _import_method(path: Path) -> Policy | Callable[..., Any]:
    """Import a file and return its ``POLICY`` or its ``solve``, or raise an OwnMethodError."""
    module = _import(path)
    solve, policy = getattr(module, "solve", None), getattr(module, "POLICY", None)
    if (solve is None) == (policy is None):
        found = "neither" if solve is None else "both"
        raise OwnMethodError(
            f"{path.name}: expected a function solve(instance) or a POLICY, found {found}"
        )
    if policy is not None:
        if not isinstance(policy, Policy):
            raise OwnMethodError(f"{path.name}: expected POLICY as a Policy, found {policy!r}")
        return policy
    if not callable(solve):
        raise OwnMethodError(f"{path.name}: expected solve as a function, found {solve!r}")
    parameters = inspect.signature(solve).parameters.values()
    unknown = {each.name for each in parameters if each.default is each.empty} - _GIVEN
    if unknown:
        raise OwnMethodError(
            f"{path.name}: solve is given {', '.join(sorted(_GIVEN))}, it asks for "
            f"{', '.join(sorted(unknown))}"
        )
    checked: Callable[..., Any] = solve
    return checked


def _read_keywords(solve: Callable[..., Any]) -> tuple[Declared, ...]:
    """Return the parameters of a function that a user may give."""
    found: list[Declared] = []
    for each in inspect.signature(solve).parameters.values():
        number = isinstance(each.default, int | float) and abs(each.default) <= LARGEST_KEYWORD
        if each.name in _GIVEN:
            continue
        if isinstance(each.default, bool):
            found.append(FormulationOption(each.name, each.default, ""))
        elif number or isinstance(each.default, str):
            found.append(KeywordParameter(each.name, each.default))
    return tuple(found)


def as_policy_call(policy: Policy, method: Method) -> PolicyCall:
    """Return the call of a custom policy; an OwnMethodError if it declares something new."""
    own = method.own
    if own is None:
        values = read_values(policy.name, None, policy.parameters)
        return PolicyCall(policy, values, None, {}, method.text)
    if own.policy != _describe_policy(policy):
        raise OwnMethodError(
            f"{method.path and method.path.name}: its POLICY declares something else than before"
        )
    return PolicyCall(policy, own.values, own.prediction, own.prediction_values, method.text)


def _import(path: Path) -> ModuleType:
    # The project's folders come first.
    sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location("_own_method", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with naming_line(path):
        spec.loader.exec_module(module)
    return module


def _runner(path: Path, solve: Callable[..., Any]) -> Callable[[Task, EventReport], None]:
    asked = set(inspect.signature(solve).parameters) & _GIVEN

    def run(task: Task, report: EventReport) -> None:
        sender = ResultSender(report)
        given = vars(task) | {"report": sender, "seconds": task.time_limit}
        values = {} if task.method.own is None else task.method.own.values
        with naming_line(path):
            returned = solve(**{name: given[name] for name in asked}, **values)
        if returned is not None:
            try:
                sender("schedule", starts=returned)
            except TypeError as error:
                code = getattr(inspect.unwrap(solve), "__code__", None)
                where = path.name if code is None else f"{path.name}:{code.co_firstlineno}"
                raise OwnMethodError(one_line(f"{where}: solve: {error}")) from error
        report.done(solver=path.name)

    return run


@contextmanager
def naming_line(path: Path) -> Iterator[None]:
    """Raise an OwnMethodError that names the line of the user's file."""
    try:
        yield
    except (MemoryError, NotApplicableError, EndlessLoopError, AdviceError):
        raise
    except RankError as error:
        raise OwnMethodError(f"{path.name}: {error}") from None
    except SyntaxError as error:
        name = Path(error.filename or path).name
        raise OwnMethodError(one_line(f"{name}:{error.lineno}: {error.msg}")) from error
    except (Exception, SystemExit) as error:
        where, trace = path.name, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == str(path):
                where = f"{path.name}:{trace.tb_lineno}"
            trace = trace.tb_next
        raise OwnMethodError(one_line(f"{where}: {type(error).__name__}: {error}")) from error


class ResultSender:
    """Sends schedules, bounds and notes of a custom method; refuses all else."""

    def __init__(self, report: EventReport) -> None:
        self._report = report

    def __call__(self, kind: str, **data: Any) -> None:
        """Send a result of a kind; another kind is an error of the method."""
        if kind == "schedule":
            self._schedule(**data)
        elif kind == "bound":
            self._bound(**data)
        elif kind == "note":
            self._report.note(str(data.get("text", "")))
        else:
            raise ValueError(f"report takes schedule, bound and note, found {kind!r}")

    def _schedule(
        self,
        starts: Iterable[int] | Schedule,
        attempts: Iterable[Iterable[tuple[int, int]]] | None = None,
        kept: Iterable[Iterable[int]] | None = None,
    ) -> None:
        if isinstance(starts, Schedule):
            self._report.found(starts, "own method")
            return
        more: dict[str, Any] = {}
        if attempts is not None:
            more["attempts"] = [list(map(_integers, tried)) for tried in attempts]
        if kept is not None:
            more["kept"] = list(map(_integers, kept))
        try:
            rounds = _integers(starts)
        except TypeError as error:
            raise TypeError(f"{_EXPECTED}, found {repr(starts)[:80]} ({error})") from None
        self._report.schedule(rounds, found_by="own method", **more)

    def _bound(
        self, value: int, source: str = "own method", certificate: dict[str, Any] | None = None
    ) -> None:
        text = json.dumps(None if certificate is None else dict(certificate), allow_nan=False)
        self._report.bound(operator.index(value), str(source)[:200], json.loads(text))


def _integers(values: Iterable[int]) -> list[int]:
    # NumPy's integers pass, floats do not.
    return [operator.index(value) for value in values]
