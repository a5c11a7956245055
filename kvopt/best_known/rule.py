"""The rule by which a best-known value counts as the optimum (DESIGN section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from formulations.bounds.certificate import Certificate
from formulations.choice import default_formulation
from formulations.registry import formulations
from formulations.windows import start_windows
from instances import Instance
from kvopt.best_known.entry import Value
from kvopt.methods.grammar import MethodError, read_method
from kvopt.methods.sources import import_closure, module_file, read_source

#: What every model is told and judged by: the instance, and the checker of schedules.
TRUSTED = ("instances", "schedules")
CONSTRUCTION = "construction"
#: What stands before the kind of a certificate where it is named among the engines.
CERTIFICATE = "certificate: "
#: What evaluates each kind.
_CERTIFIERS = {
    "volumes": "formulations.bounds.volume",
    "prices": "formulations.bounds.certificate",
    "patterns": "formulations.bounds.certificate",
    "tree": "formulations.bounds.tree",
}


@dataclass(frozen=True)
class Verdict:
    """Whether the value is the optimum, and one line that says by what."""

    opt: bool
    reason: str


def decide(
    instance: Instance,
    upper: int,
    lower: int,
    proofs: Sequence[Value],
    certificate: Certificate | None,
) -> Verdict:
    """Decide whether the TEL of a checked schedule counts as the optimum.

    It does if the bound meets it and one of these holds:

    1. two engines proved it whose solvers differ and whose models share no code
       (:func:`model_code`).  A certificate that meets it is an engine in this sense: it is
       evaluated anew in integers each time the registry is checked, by
       :mod:`formulations.bounds.certificate` and what that imports;
    2. one engine proved it, and the instance has it as its optimum by construction.

    The reason says what it rests on: files that are evaluated here, or words, the engines' own that
    they have proved it; nobody can check words.

    Parameters
    ----------
    upper, lower
        TEL of the best checked schedule and the best bound, rounds.
    proofs
        Runs of engines that proved ``upper`` optimal.
    certificate
        That of the best certified bound, evaluated before; None without one.
    """
    if lower < upper:
        return Verdict(False, "open")
    one = [proof.method for proof in proofs]
    files = certificate is not None and certificate.value == upper
    if certificate is not None and files:
        one.append(f"{CERTIFICATE}{certificate.kind}")
    pair = independent_pair(instance, one)
    if pair is None and not one:
        return Verdict(False, "by construction alone")
    if pair is None and instance.known_optimum != upper:
        return Verdict(False, f"one witness only: {', '.join(one)}")
    engines = [method for method in pair or () if not method.startswith(CERTIFICATE)]
    witnesses = " and ".join(engines) if pair else "construction"
    if certificate is not None and files:
        return Verdict(True, f"proved by its files ({certificate.kind}), as by {witnesses}")
    if pair:
        return Verdict(True, f"two engines' words: {witnesses}")
    return Verdict(True, f"construction and the word of {one[0]}")


def independent_pair(instance: Instance, methods: Iterable[str]) -> tuple[str, str] | None:
    """Return the first two methods with other solvers and no model code in common, or None."""
    models = [(method, *model_of(instance, method)) for method in dict.fromkeys(methods)]
    for (first, solver, module), (second, other_solver, other) in combinations(models, 2):
        if solver != other_solver and not model_code(module) & model_code(other):
            return first, second
    return None


def model_of(instance: Instance, method: str) -> tuple[str, str]:
    """Return the solver of an engine's method and the module of its model, or of a certificate.

    Raises
    ------
    MethodError
        If it is no engine's method.
    """
    if method.startswith(CERTIFICATE):
        return CERTIFICATE, _CERTIFIERS[method.removeprefix(CERTIFICATE)]
    read = read_method(method)
    if read.solves is None:
        raise MethodError(f"{method}: expected a method of an engine")
    windows = start_windows(instance)
    model = read.model or formulations()[default_formulation(read.solves, instance, windows)]
    return read.solver, model.module


@cache
def model_code(module: str) -> frozenset[str]:
    """Return the modules that a model's file imports, directly or not, without the trusted ones.

    Packages that hold nothing but a docstring are no code.
    """
    return frozenset(
        name
        for name in import_closure(module)
        if name.partition(".")[0] not in TRUSTED and not _is_empty(name)
    )


def _is_empty(module: str) -> bool:
    path = module_file(module)
    assert path is not None
    source = read_source(path)
    return path.name == "__init__.py" and not source.imports and not source.words
