"""The formulations, found in ``mip``, ``cp``, ``dp`` and ``bounds``: one file each.

A file that declares a formulation says so in one object, ``FORMULATION``.  It imports modelling
libraries and engines where a model is built, never at its top, so that listing loads none.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from formulations.bounds.computed_bound import ComputedBound
from formulations.cp.constraint_program import ConstraintProgram
from formulations.dp.exact_search import ExactSearch
from formulations.mip.integer_program import IntegerProgram
from support.module_objects import read_summary
from support.project_root import ROOT

_FOLDERS = (
    "formulations/bounds", "formulations/cp", "formulations/dp", "formulations/mip",
    "serving/bounds",
)  # fmt: skip

Kind = Literal["mip", "cp", "bound", "search"]
#: What a file may declare.
Declared = ComputedBound | ConstraintProgram | ExactSearch | IntegerProgram
#: Marks a file that declares a formulation; others are not imported.
_DECLARES = re.compile(r"^FORMULATION\b", re.MULTILINE)


@dataclass(frozen=True)
class FormulationOption:
    """An option to switch (bool) or set (int, float), its default and its meaning."""

    name: str
    default: bool | int | float
    meaning: str


#: Every integer program has this option, too; no file declares it.
RELAXED = FormulationOption("relaxed", False, "solve its LP relaxation only: a bound")


@dataclass(frozen=True)
class Formulation:
    """A formulation as the command line knows it, declared in the file ``module``.

    The ``kind`` is ``mip`` (a Pyomo model, for HiGHS and every other solver that Pyomo knows),
    ``cp``, ``search`` (a search of kvopt) or ``bound`` (a bound without a model of the whole).
    ``options`` are in the order of the declaration; an integer program has ``relaxed``, too.
    ``strengthened`` builds it where one of its options is on, if that has a separate file.
    """

    name: str
    kind: Kind
    module: str
    summary: str
    options: tuple[FormulationOption, ...]
    declared: Declared
    strengthened: Formulation | None = None

    @property
    def relaxation(self) -> bool:
        """Return whether the formulation yields a bound only."""
        return self.kind == "bound"

    @property
    def in_rounds(self) -> bool:
        """Return whether arrivals are in rounds, not in seconds."""
        return getattr(self.declared, "time_unit", "round") == "round"

    @property
    def modules(self) -> tuple[str, ...]:
        """The files that build it, by whatever options."""
        more = self.strengthened
        return (self.module,) if more is None else (self.module, more.module)

    def built(self, values: Mapping[str, bool | int | float]) -> Formulation:
        """Return the formulation that builds it, given the options that are no defaults."""
        on = values.keys() - {RELAXED.name}
        return self.strengthened if on and self.strengthened else self

    def arguments(self, values: Mapping[str, bool | int | float]) -> dict[str, Any]:
        """Return the keyword argument ``options``, given its options that are no defaults."""
        kind = self.built(values).declared.options
        return {} if kind is None else {"options": kind(**values)}


@cache
def formulations() -> dict[str, Formulation]:
    """Return all formulations by name, sorted; raise TypeError for a file that declares badly."""
    paths = [path for folder in _FOLDERS for path in sorted((ROOT / folder).glob("*.py"))]
    declaring = [path for path in paths if _DECLARES.search(path.read_text(encoding="utf-8"))]
    found = sorted(map(_declared, declaring), key=lambda each: each.name)
    strong = {each.name: each for each in found if getattr(each.declared, "strengthens", None)}
    return {
        each.name: replace(each, options=more.options, strengthened=more)
        if (more := strong.get(each.name))
        else each
        for each in found
        if each not in strong.values()
    }


def _declared(path: Path) -> Formulation:
    """Return the formulation of a file."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    imported = importlib.import_module(module)
    declared = imported.FORMULATION
    if not isinstance(declared, Declared):
        raise TypeError(f"{module}: expected FORMULATION as one of {Declared}, found {declared!r}")
    summary = read_summary(imported)
    if declared.source:
        summary = f"{summary.removesuffix('.')} ({declared.source})."
    own = tuple(_options(declared.options, module)) if declared.options else ()
    if isinstance(declared, IntegerProgram):
        own = (*own, RELAXED)
    return Formulation(declared.name, declared.kind, module, summary, own, declared)


def _options(kind: type[Any], module: str) -> Iterator[FormulationOption]:
    """Yield the fields of a dataclass as options; annotations give the meaning."""
    hints = get_type_hints(kind, include_extras=True)
    for each in fields(kind):
        meaning = get_args(hints[each.name])[1:]
        if each.default is MISSING or not isinstance(each.default, int | float):
            raise TypeError(f"{module}: expected a bool or a number as default of {each.name}")
        if not meaning:
            raise TypeError(f"{module}: expected {each.name} as Annotated with its meaning")
        yield FormulationOption(each.name, each.default, *meaning)
