"""Methods of one's own: a Python file, anywhere, with a function ``solve``.

The smallest one returns a start round for each request, in the instance's order::

    def solve(instance):
        ...
        return starts

``solve`` is given whichever of these it asks for by name: ``instance``; ``report``, to send what is
found on the way, as in ``report("schedule", starts=[...])``, with ``attempts`` and ``kept`` where a
run was cancelled, and ``report("bound", value=..., source="...")``; ``seconds`` (how long it may
take, counted from the call), ``seed`` and ``threads``.  It may import files of its own folder.  It
runs in a process of its own and is killed at the limits; what it sent before is kept, and every
schedule is checked.
"""

from __future__ import annotations

import importlib.util
import inspect
import operator
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kvopt.running.events import Report
from kvopt.running.task import Task


class OwnMethodError(Exception):
    """The file is no method, or sends what cannot be understood; the message is one line."""


def load_own(path: Path) -> Callable[[Task, Report], None]:
    """Import a file and return what runs its ``solve`` on a task and reports.

    Raises
    ------
    OwnMethodError
        If there is no ``solve``, or it asks for something that there is not.
    """
    # After the project's folders: a file there must not be taken for one of the project's.
    sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location("_own_method", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    solve = getattr(module, "solve", None)
    if not callable(solve):
        raise OwnMethodError(f"{path.name}: expected a function solve(instance), found none")
    parameters = inspect.signature(solve).parameters.values()
    wanted = {each.name for each in parameters if each.default is each.empty}
    known = {"instance", "report", "seconds", "seed", "threads"}
    if wanted - known:
        raise OwnMethodError(
            f"{path.name}: solve is given {', '.join(sorted(known))}, it asks for "
            f"{', '.join(sorted(wanted - known))}"
        )
    asked = {each.name for each in parameters} & known

    def run(task: Task, report: Report) -> None:
        sender = _Strict(report)
        given = {
            "instance": task.instance,
            "report": sender,
            "seconds": task.time_limit,
            "seed": task.seed,
            "threads": task.threads,
        }
        starts = solve(**{name: given[name] for name in asked})
        if starts is not None:
            sender("schedule", starts=starts)
        report.done(solver=path.name)

    return run


class _Strict:
    """Lets only schedules, bounds and notes through, and only integers where they belong."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def __call__(self, kind: str, **data: Any) -> None:
        if kind == "schedule":
            self._schedule(**data)
        elif kind == "bound":
            self._bound(**data)
        elif kind == "note":
            self._report.note(str(data.get("text", "")))
        else:
            raise OwnMethodError(f"report takes schedule, bound and note, found {kind!r}")

    def _schedule(
        self,
        starts: Iterable[int],
        attempts: Iterable[Iterable[tuple[int, int]]] | None = None,
        kept: Iterable[Iterable[int]] | None = None,
    ) -> None:
        more: dict[str, Any] = {}
        if attempts is not None:
            more["attempts"] = [[_integers(each) for each in tried] for tried in attempts]
        if kept is not None:
            more["kept"] = [_integers(each) for each in kept]
        self._report.schedule(_integers(starts), found_by="own method", **more)

    def _bound(self, value: int, source: str = "own method") -> None:
        self._report.bound(operator.index(value), str(source)[:200])


def _integers(values: Iterable[int]) -> list[int]:
    # NumPy's integers pass, floats do not: 2.0 may have been 1.9999 a moment before.
    return [operator.index(value) for value in values]
