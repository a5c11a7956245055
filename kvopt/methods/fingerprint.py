"""Digests of the sources that decide a method's result, room by room, and versions of libraries.

A room is a set of files.  A method's result depends on the files of its rooms alone: an edit in a
room repeats the methods of that room, and no other.  The digest of a custom file covers the whole
suite and the file's neighbours (``kvopt.methods.custom_file_sources``).
"""

import contextlib
import hashlib
import importlib.metadata
import platform
import secrets
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

from heuristics.policy import AdvisedPolicy
from kvopt.methods.custom_file_sources import MOST_BYTES, MOST_FILES, TooMuchError, neighbours
from kvopt.methods.engine_table import engine_of, engines
from kvopt.methods.method import Method
from kvopt.methods.python_files import file_digest, module_file
from support.project_root import ROOT

#: Patterns of the files of each room; an engine's file is the room of its name.
ROOMS = {
    "judging": """
        instances/**/*.py schedules/**/*.py support/build_limit.py support/kernel_cache.py
        kvopt/runs/advice.py kvopt/runs/preparation.py kvopt/runs/state.py kvopt/runs/worker.py
        kvopt/runs/serving_imports.py kvopt/methods/custom_python.py kvopt/methods/policy_call.py
        formulations/valid/volume_bounds.py serving/batch_time/**/*.py serving/bounds/loads.py
        serving/deployments.py serving/kv_memory.py serving/metrics.py serving/slo.py
    """,
    "policies": "heuristics/*.py heuristics/policies/*.py heuristics/batching/*.py",
    "formulations": "formulations/**/*.py serving/bounds/*.py",
    "engines": """
        kvopt/engines/*.py kvopt/engines/parts/*.py kvopt/runs/events.py kvopt/runs/task.py
        serving/engine.py serving/waiting_requests.py
    """,
    "team": "kvopt/runs/*.py kvopt/methods/*.py",
}
#: Rooms that an engine runs.
_RUNS = {"auto": ("team", "highs", "bound", "search", "improve")}
#: Draws schedules, and decides no result.
_PICTURE = ROOT / "schedules" / "schedule_picture.py"
#: Engines that relax a model for advised policies.
_ADVISERS = ("highs", "bound")
#: Libraries that decide a result, by room.
_LIBRARIES = {
    "policies": ("numpy", "numba"),
    "formulations": ("scipy",),
    "highs": ("highspy", "pyomo"),
    "pyomo-solver": ("highspy", "pyomo"),
    "cpsat": ("ortools",),
    "bound": ("highspy",),
    "search": ("highspy",),
}
#: The packages that a custom file may use.
_SUITE = ("support", "instances", "schedules", "formulations", "heuristics", "kvopt", "serving")
#: Begins the code of a file whose neighbours are too many: no other call returns the same.
UNREAD = "unread-"


def fingerprint(method: Method, outputs: Collection[str] = ()) -> str:
    """Return the digest of the sources that decide a method's result.

    ``outputs`` are absolute paths of the command's outputs, which are no sources of a custom file.
    """
    if method.path is None:
        return _digest(map(room_digest, rooms_of(method)))
    try:
        own = neighbours(method.path, outputs).digest
    except TooMuchError:
        return UNREAD + secrets.token_hex(4)
    return _digest([own, files_digest(f"{package}/**/*.py" for package in _SUITE)])


def unread_neighbours(methods: Iterable[Method], outputs: Collection[str] = ()) -> list[str]:
    """Return one line for each custom file with too many neighbours."""
    return [
        f"{method.text}: its folder has more than {MOST_FILES:,} files or {MOST_BYTES / 1e9:g} GB, "
        "so that it runs again each time: give it a separate folder"
        for method in methods
        if method.path is not None and fingerprint(method, outputs).startswith(UNREAD)
    ]


def proof_fingerprint(method: Method) -> str:
    """Return the digest of a proof's support: model, engine with tolerances, and libraries."""
    rooms = [room for room in rooms_of(method) if room not in ("judging", "policies", "team")]
    named = (f"{name} {_version(name)}" for name in _libraries(rooms))
    return _digest([*map(room_digest, rooms), *named])


def versions(method: Method, outputs: Collection[str] = ()) -> dict[str, str]:
    """Return the versions of Python and of the installed libraries that decide a result."""
    libraries = _libraries(_LIBRARIES if method.path else rooms_of(method))
    if method.path is not None:
        with contextlib.suppress(TooMuchError):
            libraries |= neighbours(method.path, outputs).modules
    found = {library: _version(library) for library in sorted(libraries)}
    installed = {library: version for library, version in found.items() if version is not None}
    return {"python": platform.python_version()} | installed


def _libraries(rooms: Iterable[str]) -> set[str]:
    return {name for room in rooms for name in _LIBRARIES.get(room, ())}


def rooms_of(method: Method) -> tuple[str, ...]:
    """Return the rooms of a method of the project."""
    if method.call is not None:
        if not isinstance(method.call.policy, AdvisedPolicy):
            return "judging", "policies"
        ran: tuple[str, ...] = _ADVISERS
    elif method.kind == "auto" or method.joined:
        ran = ("auto", engine_of(method.solver).name)
    else:
        ran = (engine_of(method.solver).name,)
    used = dict.fromkeys(name for each in ran for name in (each, *_RUNS.get(each, ())))
    return ("judging", "policies", "formulations", "engines", *used)


@cache
def room_files(room: str) -> list[Path]:
    """Return the files of a room, in order."""
    own = {name: module_file(each.module) for name, each in engines().items()}
    if (file := own.get(room)) is not None:
        return [file]
    found = {path for pattern in ROOMS[room].split() for path in ROOT.glob(pattern)}
    return sorted(found - ({*own.values()} if room == "engines" else {_PICTURE}))


def room_digest(room: str) -> str:
    """Return the digest of a room."""
    return _of_files(room_files(room))


def files_digest(patterns: Iterable[str]) -> str:
    """Return the digest of the files of the project that patterns name."""
    return _of_files(path for pattern in patterns for path in ROOT.glob(pattern))


def _of_files(paths: Iterable[Path]) -> str:
    return _digest(f"{path.relative_to(ROOT).as_posix()} {file_digest(path)}" for path in paths)


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]


@cache
def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        # The package has another name than its module, as PyYAML; a slow search.
        names = importlib.metadata.packages_distributions().get(library, ())
        return ", ".join(map(importlib.metadata.version, names)) or None
