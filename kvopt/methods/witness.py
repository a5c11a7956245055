"""Witnesses: a proof rests on the solver of a method, the code of its model, and its argument.

Code is named by its rooms in ``formulations``, which the contracts of pyproject.toml keep: two
models without a room in common share no code.
"""

from functools import cache

from formulations.dp.exact_search import ExactSearch
from formulations.formulation_choice import defaults
from formulations.formulation_registry import Formulation
from kvopt.engines.parts.pyomo_options import KNOWN
from kvopt.methods.engine_table import named_engines, proofs
from kvopt.methods.fingerprint import proof_fingerprint
from kvopt.methods.grammar import MethodError, read_method, refuse_invented
from kvopt.methods.method import Method
from kvopt.methods.method_names import method_of_row
from kvopt.methods.option_values import bound_only, read_formulation
from schedules.evidence import CERTIFICATE, ProofArgument, Witness

#: Rooms of code, without the instance and the checker, which all models share.
_WINDOWS, _STRONG = {"windows", "volumes"}, {"windows", "volumes", "separation"}
_SEARCH = {"search", "multipliers"}
_CODE = {
    "formulations.mip.ilp": {"mip"} | _WINDOWS,
    "formulations.mip.ilp_sparse": {"mip"} | _WINDOWS,
    "formulations.mip.ilp_xy": {"mip"} | _WINDOWS,
    "formulations.mip.ilp_with_cuts": {"mip"} | _STRONG,
    "formulations.mip.ilp_sparse_with_cuts": {"mip"} | _STRONG,
    "formulations.cp.cpsat_model": {"cp", "separation"},
    "formulations.cp.cpsat_strong": {"cp", "separation"} | _STRONG,
    "formulations.dp.counts": {"search"},
    "formulations.dp.forward": _SEARCH | _STRONG,
    "formulations.dp.backward": _SEARCH | _WINDOWS,
    "formulations.dp.bidirectional": _SEARCH | _STRONG,
    "volumes": {"volumes"},
    "prices": {"multipliers", "backward"} | _STRONG,
    "parts": {"multipliers", "backward"} | _STRONG,
    "sweep": {"backward"},
}
#: Rooms of a model that is not listed.
_ALL = frozenset().union(*_CODE.values())
#: Each kind of certificate has its argument.
_ARGUMENTS = {
    "volumes": ProofArgument.AREA,
    "prices": ProofArgument.MEMORY_PRICES,
    "sweep": ProofArgument.BACKWARD,
    "parts": ProofArgument.PARTS,
}


@cache
def is_own(method: str) -> bool:
    """Return whether a method is custom, or one that the project no longer has."""
    read = method_of_row(method)
    return read is None or read.kind == "file"


@cache
def recorded_method(text: str) -> Method:
    """Return the method of a value in a row or the registry, or raise a MethodError."""
    read = read_method(text, planned=True)
    refuse_invented(read)
    return read


@cache
def trusts_solver(method: str) -> bool:
    """Return whether a method is a solver, ours or of known tolerances, whose bound counts."""
    read = method_of_row(method)
    if read is None or read.kind not in ("auto", "engine"):
        return False
    return read.solver in {*named_engines(), *KNOWN}


@cache
def engine_witness(method: str, value: int) -> Witness:
    """Return the witness of an engine alone on one formulation, or raise a MethodError."""
    read = read_method(method, planned=True)
    if read.solves is None:
        raise MethodError(f"{method}: expected a method of an engine")
    if read.solver not in proofs():
        raise MethodError(f"{method}: {read.solver} proves no bound")
    if read.model is None and read.solves != "search":
        raise MethodError(f"{method}: expected SOLVER:FORMULATION, since others work next to it")
    model, options = read.model, read.options
    if model is None:
        model, options = read_formulation(defaults(read.solves)[0])
    if bound_only(model, options)[0]:
        raise MethodError(f"{method}: a relaxation makes a bound and proves no optimum")
    code = model_code(model.built(options).module)
    return Witness(read.text, value, read.solver, code, _argument(model))


def _argument(model: Formulation) -> ProofArgument:
    if isinstance(model.declared, ExactSearch):
        return model.declared.argument
    return ProofArgument.CONSTRAINTS if model.kind == "cp" else ProofArgument.BRANCH_AND_BOUND


def certificate_witness(kind: str, value: int) -> Witness:
    """Return the witness of a certificate, whose value has been evaluated."""
    name, argument = f"{CERTIFICATE}{kind}", _ARGUMENTS[kind]
    return Witness(name, value, CERTIFICATE, model_code(kind), argument, kind)


def search_witness(
    method: str, status: str, tel: int | None, lower_bound: int | None, source: str
) -> Witness | None:
    """Return the witness of a run whose search met its schedule by ``source``, or None."""
    if status != "optimal" or tel is None or tel != lower_bound:
        return None
    try:
        witness = engine_witness(method, tel)
    except MethodError:
        return None
    return witness if proofs().get(witness.solver) == source else None


@cache
def made_by(method: str) -> str:
    """Return today's digest of the support of a method's proofs; others are stale."""
    return proof_fingerprint(read_method(method, planned=True))


def model_code(name: str) -> frozenset[str]:
    """Return the rooms of the code of a model, by its module, or of a kind of certificate."""
    return frozenset(_CODE.get(name, _ALL))
