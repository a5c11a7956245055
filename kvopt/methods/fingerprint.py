"""What decides a method's result besides its parameters: sources and versions of libraries.

The digest covers every file of the project that the method can reach: its own, those that these
import, and those that a registry finds for it by name.  So an edit reruns what it can change and
nothing else.  Of the sweep's machinery only what calls the method and judges it is part of it, and
of ``support`` only what a result of kvopt's own methods can depend on.  What reads these sources is
none of it: another digest of the same sources would be seen in every row.

A file of the user's may use anything: its digest covers the whole suite and its own neighbours
(``kvopt.methods.neighbours``).
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.metadata
import pkgutil
import platform
import re
import secrets
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

import heuristics.policies
from formulations.choice import defaults
from formulations.registry import formulations
from heuristics.policy import AdvisedPolicy
from heuristics.registry import policies
from kvopt.engines.start import warm_start_policies
from kvopt.methods.engines import engine_of, engines
from kvopt.methods.method import Method
from kvopt.methods.neighbours import MOST_BYTES, MOST_FILES, TooMuchError, neighbours
from kvopt.methods.options import read_formulation
from kvopt.methods.sources import foreign, module_file, package_files, reachable, read_source
from kvopt.runs.batch_time import ENGINES

#: Libraries whose version changes no schedule and no bound.
_BESIDE = {"psutil", "pydantic", "matplotlib"}
#: Call, bound and judge every method.  Their own lines count, not what they import for others.
_AROUND = (
    "kvopt.runs.worker",
    "kvopt.runs.preparing",
    "kvopt.runs.first_answer",
    "kvopt.runs.advice",
    "kvopt.runs.state",
    "kvopt.methods.own",
    "kvopt.methods.policy",
    "formulations.valid.loads",
    "formulations.valid.volumes",
)
#: Of what knows nothing of the problem, what a result can depend on: when time is over, and how
#: kernels are compiled.
_SUPPORTING = {"support.clock", "support.compiling"}
#: Reads sources, which decides no result.
_READING = "kvopt.methods.sources"
#: What a proof rests on beside the checker.
_PROVING = ("formulations.", "kvopt.engines.")
#: Run every policy.
_SIMULATION = ("heuristics.simulator", "heuristics.predictions")
#: What a file of the user's may use, and of it what imports the libraries that decide a result.
_SUITE = ("support", "instances", "schedules", "formulations", "heuristics", "kvopt")
_COMPUTING = ("formulations", "heuristics", "kvopt/engines")
#: Begins the code of a file whose neighbours are too many: no other call returns the same.
UNREAD = "unread-"


def fingerprint(method: Method, outputs: Collection[str] = ()) -> str:
    """Return the digest of the sources that a method can reach.

    Parameters
    ----------
    outputs
        Absolute paths of what the command writes, which is no source of a file of the user's.

    Raises
    ------
    OSError
        If a file of the method cannot be read.
    """
    lines, found = [], _files(method)
    if method.path is not None:
        try:
            lines.append(neighbours(method.path, outputs).digest)
        except TooMuchError:
            return UNREAD + secrets.token_hex(4)
    return _digest(lines + [f"{name} {read_source(path).digest}" for name, path in found.items()])


def unread_neighbours(methods: Iterable[Method], outputs: Collection[str] = ()) -> list[str]:
    """Return one line for each file of the user's with too many neighbours."""
    return [
        f"{method.text}: its folder has more than {MOST_FILES:,} files or {MOST_BYTES / 1e9:g} GB, "
        "so that it runs again each time: give it a folder of its own"
        for method in methods
        if method.path is not None and fingerprint(method, outputs).startswith(UNREAD)
    ]


def proof_fingerprint(method: Method) -> str:
    """Return the digest of what a proof by an engine rests on.

    That is what the engine and its model reach of the formulations and the engines, which holds the
    tolerances and how an engine is begun, and the versions of the libraries that the engine's own
    file imports.  Not policies, whose schedules are checked, nor the sweep's machinery, so that
    their edits leave a proof as it is.
    """
    engine = engine_of(method.solver).module
    lines = [
        f"{name} {read_source(path).digest}"
        for name, path in reached(method).items()
        if name.startswith(_PROVING)
    ]
    file = module_file(engine)
    assert file is not None
    libraries = foreign([file]) - _BESIDE - {"numpy"}
    return _digest([*lines, *(f"{name} {_version(name)}" for name in libraries)])


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]


def versions(method: Method, outputs: Collection[str] = ()) -> dict[str, str]:
    """Return the versions of Python and of the libraries that a method's sources import.

    Nothing is imported for it.  A library that is not installed is left out: then the method has
    none of its results either.
    """
    found = {"python": platform.python_version()}
    if method.path is None:
        libraries = foreign(reached(method).values())
    else:
        libraries = foreign(package_files(_COMPUTING).values())
        with contextlib.suppress(TooMuchError):
            libraries |= neighbours(method.path, outputs).modules
    for library in sorted(libraries - _BESIDE):
        version = _version(library)
        if version is not None:
            found[library] = version
    return found


def _files(method: Method) -> dict[str, Path]:
    if method.path is not None:
        return package_files(_SUITE)
    around = {module: module_file(module) for module in _AROUND}
    found = reached(method) | {module: path for module, path in around.items() if path}
    return {
        module: path
        for module, path in found.items()
        if module in _SUPPORTING or (module.partition(".")[0] != "support" and module != _READING)
    }


def reached(method: Method) -> dict[str, Path]:
    """Return the files of the project that a method of the project can reach, by module."""
    if method.call is not None:
        policy = method.call.policy
        modules = [_policy_modules()[policy.name], *_SIMULATION]
        return reachable([*modules, *(_advice() if isinstance(policy, AdvisedPolicy) else ())])
    warm_starts = [_policy_modules()[policy.name] for policy in warm_start_policies()]
    modules = ["kvopt.engines.start", engine_of(method.solver).module, *warm_starts]
    if method.kind == "auto" or method.joined:
        auto = engine_of("auto").module
        modules += [auto, *_named_in(auto)]
    if method.solver in ENGINES:
        modules.append("kvopt.engines.in_seconds")
    if method.model is not None:
        modules.append(method.model.built(method.options).module)
    elif method.solves is not None:
        chosen = map(read_formulation, defaults(method.solves))
        modules += ["formulations.choice", *(each.built(values).module for each, values in chosen)]
    return reachable(modules)


def _advice() -> list[str]:
    """Return the modules that solve the relaxation that some policies are advised by."""
    return ["kvopt.runs.advice", *_named_in("kvopt.runs.advice")]


def _named_in(module: str) -> list[str]:
    """Return the modules of the engines, formulations and policies that a module names."""
    path = module_file(module)
    assert path is not None
    # A name may stand with others and with options: solver:formulation(option=value).
    words = {piece for word in read_source(path).words for piece in re.split("[:(]", word)}
    return [
        *(each.module for name, each in engines().items() if name in words),
        *(each for name in formulations().keys() & words for each in formulations()[name].modules),
        *(_policy_modules()[name] for name in policies() if name in words),
    ]


@cache
def _policy_modules() -> dict[str, str]:
    modules = [
        f"heuristics.policies.{info.name}"
        for info in pkgutil.iter_modules(heuristics.policies.__path__)
    ]
    return {importlib.import_module(module).POLICY.name: module for module in modules}


@cache
def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        # Another name than that of its module, as with yaml of PyYAML; to look for it takes long.
        names = importlib.metadata.packages_distributions().get(library, ())
        return ", ".join(map(importlib.metadata.version, names)) or None
