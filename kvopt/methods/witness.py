"""What a proof rests on: the solver of a method, the code of its model, and its argument."""

from __future__ import annotations

from functools import cache

from formulations.choice import defaults
from formulations.registry import Formulation
from formulations.search.exact_search import ExactSearch
from kvopt.engines.parts.pyomo_options import KNOWN
from kvopt.methods.engines import named_engines, proofs
from kvopt.methods.fingerprint import proof_fingerprint
from kvopt.methods.grammar import MethodError, read_method, refuse_invented
from kvopt.methods.knowledge import method_of_row
from kvopt.methods.method import Method
from kvopt.methods.options import bound_only, read_formulation
from kvopt.methods.sources import import_closure, module_file, read_source
from schedules.evidence import CERTIFICATE, Argument, Witness

#: What every model is told and judged by: the instance, and the checker of schedules.
TRUSTED = ("instances", "schedules", "support")
#: What evaluates each kind, and its argument.
_CERTIFIERS = {
    "volumes": ("formulations.valid.volumes", Argument.AREA),
    "prices": ("formulations.lagrangian.certificate", Argument.MEMORY_PRICES),
    "sweep": ("formulations.lagrangian.backward", Argument.BACKWARD),
    "parts": ("formulations.lagrangian.certificate", Argument.PARTS),
}


@cache
def is_own(method: str) -> bool:
    """Tell whether a method is one of one's own; so counts one that the project no longer has."""
    read = method_of_row(method)
    return read is None or read.kind == "file"


@cache
def recorded_method(text: str) -> Method:
    """Return the method that a row or the registry says a value is of.

    Raises
    ------
    MethodError
        If there is no such method, or no such solver.
    """
    read = read_method(text, planned=True)
    refuse_invented(read)
    return read


@cache
def word_counts(method: str) -> bool:
    """Tell whether a method is a solver whose own report of a bound counts.

    That is one of the project's, or one of Pyomo's whose tolerances are known: of any other no
    bound was ever taken for a proof (``kvopt.engines.parts.pyomo_options``).
    """
    read = method_of_row(method)
    if read is None or read.kind not in ("auto", "engine"):
        return False
    return read.solver in {*named_engines(), *KNOWN}


@cache
def engine_witness(method: str, value: int) -> Witness:
    """Return the witness that an engine's own search is.

    Only an engine that works alone on one formulation is one.  Without a formulation others work
    before it and beside it, and what it rests on is not told by its text; our own search, which
    begins with itself and has one formulation, is ``search:layers`` then.

    Raises
    ------
    MethodError
        If the method is not that of an engine alone.
    """
    read = read_method(method, planned=True)
    if read.solves is None:
        raise MethodError(f"{method}: expected a method of an engine")
    if read.solver not in proofs():
        raise MethodError(f"{method}: {read.solver} proves no bound")
    if read.model is None and read.solves != "search":
        raise MethodError(f"{method}: expected SOLVER:FORMULATION, since others work beside it")
    model, options = read.model, read.options
    if model is None:
        model, options = read_formulation(defaults(read.solves)[0])
    if bound_only(model, options)[0]:
        raise MethodError(f"{method}: a relaxation makes a bound and proves no optimum")
    code = model_code(model.built(options).module)
    return Witness(read.text, value, read.solver, code, _argument(model))


def _argument(model: Formulation) -> Argument:
    if isinstance(model.declared, ExactSearch):
        return model.declared.argument
    return Argument.CONSTRAINTS if model.kind == "cp" else Argument.BRANCH_AND_BOUND


def certificate_witness(kind: str, value: int) -> Witness:
    """Return the witness that a certificate is; its value has been evaluated."""
    module, argument = _CERTIFIERS[kind]
    return Witness(f"{CERTIFICATE}{kind}", value, CERTIFICATE, model_code(module), argument, kind)


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
        # Of an engine alone: one that others work beside begins with windows from their schedule.
        witness = engine_witness(method, tel)
    except MethodError:
        return None
    return witness if proofs().get(witness.solver) == source else None


@cache
def made_by(method: str) -> str:
    """Return the digest of what a proof by a method rests on today.

    A proof under another digest is stale (:func:`kvopt.methods.fingerprint.proof_fingerprint`).

    Raises
    ------
    MethodError
        If there is no such method.
    """
    return proof_fingerprint(read_method(method, planned=True))


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
