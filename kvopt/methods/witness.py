"""What a proof rests on: the solver of an engine's method, and the code of its model."""

from __future__ import annotations

from functools import cache

from formulations.choice import defaults
from formulations.registry import formulations
from kvopt.methods.engines import proofs
from kvopt.methods.grammar import MethodError, read_method
from kvopt.methods.sources import import_closure, module_file, read_source
from schedules.evidence import CERTIFICATE, Witness

#: What every model is told and judged by: the instance, and the checker of schedules.
TRUSTED = ("instances", "schedules")
#: What evaluates each kind.
_CERTIFIERS = {
    "volumes": "formulations.valid.volumes",
    "prices": "formulations.lagrangian.certificate",
    "patterns": "formulations.lagrangian.certificate",
    "tree": "formulations.lagrangian.tree",
    "sweep": "formulations.lagrangian.swept",
}


def is_own(method: str) -> bool:
    """Tell whether a method is one of one's own; so counts one that the project no longer has."""
    try:
        return read_method(method, planned=True).kind == "file"
    except MethodError:
        return True


@cache
def engine_witness(method: str, value: int) -> Witness:
    """Return the witness that an engine's own search is.

    Where the size decides on the formulation, it rests on the code of every one that it may be.

    Raises
    ------
    MethodError
        If it is no engine's method.
    """
    read = read_method(method, planned=True)
    if read.solves is None:
        raise MethodError(f"{method}: expected a method of an engine")
    by_size = [formulations()[name] for name in defaults(read.solves)]
    models = by_size if read.model is None else [read.model]
    code = frozenset().union(*(model_code(each.module) for each in models))
    return Witness(method, value, read.solver, code)


def certificate_witness(kind: str, value: int) -> Witness:
    """Return the witness that a certificate is; its value has been evaluated."""
    code = model_code(_CERTIFIERS[kind])
    return Witness(f"{CERTIFICATE}{kind}", value, CERTIFICATE, code, kind)


def search_witness(
    method: str, status: str, tel: int | None, lower_bound: int | None, source: str
) -> Witness | None:
    """Return the witness that a run is whose engine's own search met its own schedule, or None.

    Parameters
    ----------
    tel, lower_bound, source
        Of the run (rounds), and what its bound is said to rest on.
    """
    if status != "optimal" or tel is None or tel != lower_bound:
        return None
    if source not in proofs().values():
        return None
    try:
        witness = engine_witness(method, tel)
    except MethodError:
        return None
    return witness if proofs().get(witness.solver) == source else None


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
