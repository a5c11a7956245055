"""Methods as objects, which ``kvopt.methods.grammar`` reads from texts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from formulations.formulation_registry import Formulation
from formulations.formulation_registry import Kind as FormulationKind
from heuristics.policy import AdvisedPolicy
from kvopt.methods.custom_declaration import OwnCall
from kvopt.methods.engine_table import engine_of
from kvopt.methods.option_values import OptionValues, format_formulation
from kvopt.methods.policy_call import PolicyCall
from kvopt.project_paths import is_own_file

Kind = Literal["auto", "engine", "policy", "file"]


@dataclass(frozen=True)
class Method:
    """A method that can be run.

    Rows and tables name it by its canonical ``text``; a file outside the project has no folder.

    An engine has a ``solver`` and a ``formulation`` with its options, empty where the size decides;
    ``model`` is the declaration of that formulation, ``options`` are those that are no defaults.
    A policy has a ``call``.  A custom file has a ``path``, None for the text of a stored row, and
    ``own``, its declaration and call, None without one.  A ``grouped`` method, named as one of
    many, is left out where it does not apply.
    """

    text: str
    kind: Kind
    solver: str = ""
    formulation: str = ""
    model: Formulation | None = None
    options: OptionValues = field(default_factory=dict)
    call: PolicyCall | None = None
    path: Path | None = None
    own: OwnCall | None = None
    grouped: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return self.text

    @property
    def own_name(self) -> str:
        """Name that a custom file gives itself; empty for others."""
        return "" if self.own is None else self.own.policy.name

    @property
    def task_path(self) -> str:
        """Path of a custom file outside the project, for the line of a task."""
        return "" if self.path is None or is_own_file(self.path) else str(self.path)

    @property
    def advised(self) -> bool:
        """Return whether the method is a policy that needs a solved relaxation."""
        if self.call is not None:
            return isinstance(self.call.policy, AdvisedPolicy)
        return self.own is not None and self.own.policy.advised

    def document(self) -> dict[str, Any]:
        """Return JSON for :func:`kvopt.methods.grammar.method_of_document`."""
        own = None if self.own is None else self.own.policy.document()
        return {"text": self.text, "path": self.task_path, "own": own}

    @property
    def solves(self) -> FormulationKind | None:
        """Kind of formulation that its engine takes, or None."""
        return engine_of(self.solver).solves if self.kind == "engine" else None

    @property
    def joined(self) -> bool:
        """Return whether the methods of ``auto`` run next to it: a solver without a formulation."""
        return self.model is None and self.solves in ("mip", "cp")

    @property
    def alone(self) -> bool:
        """Return whether an engine proves alone: a named formulation, and a search of kvopt."""
        return self.model is not None or self.solves == "search"

    @property
    def looks_at_the_clock(self) -> bool:
        """Return whether the method ends by itself at its limit, and may report then."""
        return self.call is None or self.advised

    @property
    def seeded(self) -> bool:
        """Return whether another seed can give another result."""
        called = self.call or self.own
        if called is None:
            return True
        drawn = called.prediction is not None and called.prediction.draws
        return called.policy.randomised or drawn or self.advised

    def on(self, formulation: Formulation, options: OptionValues | None = None) -> Method:
        """Return the engine alone on a formulation, with those options that are no defaults."""
        shown = format_formulation(formulation, options or {})
        return replace(
            self,
            text=f"{self.solver}:{shown}",
            formulation=shown,
            model=formulation,
            options=options or {},
        )
