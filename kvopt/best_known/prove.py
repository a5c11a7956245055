"""Command: make the certificate of an optimum that is solver-reported, or run stale proofs again.

The tree (``formulations.lagrangian.tree``) is written as it grows, and with ``--stale`` each proof
as it ends, so that the same command goes on where it was stopped, however.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from formulations.bounds.tree_search import BetterScheduleError, grow
from formulations.lagrangian.budget import CertificateError
from formulations.lagrangian.certificate import evaluate
from formulations.lagrangian.certificate_file import (
    Certificate,
    certificate_document,
    read_certificate,
)
from formulations.lagrangian.tree import TreeError, TreeNode
from instances import Instance
from instances.named import FOLDER
from kvopt.best_known.again import prove_again
from kvopt.best_known.claims import Claims
from kvopt.best_known.entry import Certified, today
from kvopt.best_known.files import RegistryError
from kvopt.best_known.library import LibraryInstance, WithLadder, library_by_hash
from kvopt.best_known.merge import Known, merge
from kvopt.best_known.rebuild import read_all, write_all
from kvopt.best_known.side_by_side import KilledError
from kvopt.best_known.verify import DamagedError
from kvopt.methods.grammar import MethodError, read_method
from kvopt.ranges import read_seconds
from support.checkout import require_checkout
from support.command import Command, Options, argument, option
from support.jsonfile import FileError, read_object, write_text
from support.usage import UsageError, complain

EXIT_OK = 0
EXIT_OPEN = 1
EXIT_BAD_USAGE = 2

_PROGRAM = "python -m kvopt.best_known.prove"
_SCHEMA = "kvopt.unfinished_tree/1"
_SECONDS_BETWEEN_SAVES = 10


@click.command(
    _PROGRAM,
    cls=Command,
    fails={
        EXIT_BAD_USAGE: (
            RegistryError,
            DamagedError,
            FileError,
            CertificateError,
            TreeError,
            MethodError,
            OSError,
            KilledError,
        )
    },
    interrupted="interrupted; the same command goes on",
    examples=("", "--stale --each 60", "am1_00 --by cpsat:cpsat-strong"),
    codes="0 all have a certificate, or were proved again; 1 the time was up before, a tree comes "
    "down to a better schedule, or a stale proof did not hold; 2 bad usage, or a registry or file "
    "that cannot be read or written",
)
@argument("names", nargs=-1, metavar="[INSTANCE]...")
@option("--stale", is_flag=True, help="run the proofs again that other sources or solvers made")
@option("--drop", is_flag=True, help="with --stale: what does not hold leaves the registry")
@option("--by", metavar="METHOD", default="", help="enter a proof of INSTANCE by this method")
@option(
    "--each",
    type=read_seconds,
    default=600.0,
    metavar="S",
    help="with --stale or --by: seconds of each run (default: 600)",
)
@option("--folder", type=Path, metavar="DIR", default=FOLDER, help="(default: instances/)")
@option(
    "--work",
    type=Path,
    metavar="DIR",
    default=Path("results/trees"),
    help="where unfinished trees are kept (default: results/trees)",
)
@option(
    "--time-limit",
    type=read_seconds,
    default=float("inf"),
    metavar="S",
    help="seconds of all together (default: none)",
)
def main(options: Options) -> int:
    """Make the certificate of an optimum that is solver-reported, or run stale proofs again.

    Without INSTANCE, of all such optima.  A tree is written as it grows and a proof as it ends: the
    same command goes on where it was stopped.
    """
    if options.folder == FOLDER:
        require_checkout("--folder names another folder")
    if options.by and not options.names:
        raise UsageError("--by: expected the instances that are to be proved")
    if options.stale or options.by:
        return _again(options)
    return _prove(options.names, options.folder, options.work, options.time_limit)


def _again(options: Options) -> int:
    code = EXIT_OK
    deadline = time.monotonic() + options.time_limit
    method = read_method(options.by).text if options.by else ""
    for line, held in prove_again(
        options.folder, options.names, options.each, deadline, method, options.drop
    ):
        print(line, flush=True)
        code = code if held else EXIT_OPEN
    return code


def _prove(names: Sequence[str], folder: Path, work: Path, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    library = WithLadder(library_by_hash())
    present = read_all(library, folder)
    named = {each.entry.instance: sha for sha, each in present.items()}
    unknown = [name for name in names if name not in named]
    if unknown:
        return _fail(f"{unknown[0]}: the registry has no such instance", EXIT_BAD_USAGE)
    chosen = [named[name] for name in names] or [
        sha
        for sha, each in present.items()
        if each.entry.opt and not isinstance(each.entry.lower, Certified)
    ]
    code = EXIT_OK
    for sha in chosen:
        instance, known = library[sha].instance, present[sha]
        started = time.monotonic()
        try:
            certificate = _tree(instance, known.entry.upper.value, work, deadline)
        except BetterScheduleError as error:
            code = _fail(f"{instance.name}: {error}", EXIT_OPEN)
            continue
        if certificate is None:
            return _fail(f"{instance.name}: the time is up; the same command goes on", EXIT_OPEN)
        present[sha] = _entered(library[sha], known, certificate, time.monotonic() - started)
        write_all([present[key] for key in library if key in present], library, folder)
        _unfinished(work, instance).unlink(missing_ok=True)
        print(f"{instance.name}: tree of {len(certificate.tree)}; {present[sha].entry.reason}")
    return code


def _entered(
    found: LibraryInstance, known: Known, certificate: Certificate, seconds: float
) -> Known:
    value = Certified(
        value=certificate.value,
        method="tree",
        certificate="tree",
        date=today(),
        seconds=round(seconds, 2),
        solver=f"SciPy {importlib.metadata.version('scipy')}",
    )
    claims = Claims(None, ((value, certificate),), (), (), ())
    merged = merge(found.instance, found.file, known, claims, found.planted)
    assert merged is not None  # it was known before
    return merged


def _tree(instance: Instance, value: int, work: Path, deadline: float) -> Certificate | None:
    """Return the certificate that no TEL is below ``value``; None if time was up before."""
    path = _unfinished(work, instance)
    nodes = _read(path, instance, value)
    saved = time.monotonic()
    try:
        for node in grow(instance, value, tuple(nodes)):
            nodes.append(node)
            now = time.monotonic()
            if now > deadline:
                return None
            if now - saved > _SECONDS_BETWEEN_SAVES:
                _write(path, instance, value, nodes)
                saved = time.monotonic()
    finally:
        _write(path, instance, value, nodes)
    certificate = Certificate("tree", value, tree=tuple(nodes))
    proved = evaluate(instance, certificate)
    if proved < value:
        raise TreeError(f"{path}: it proves {proved}, not {value}: remove this file")
    return certificate


def _unfinished(work: Path, instance: Instance) -> Path:
    return work / f"{instance.sha256[:16]}.json"


def _read(path: Path, instance: Instance, value: int) -> list[TreeNode]:
    if not path.exists():
        return []
    document = read_object(path, _SCHEMA)
    certificate = read_certificate(document.get("certificate"))
    if document.get("instance_sha256") != instance.sha256 or certificate.value != value:
        return []
    return list(certificate.tree)


def _write(path: Path, instance: Instance, value: int, nodes: Sequence[TreeNode]) -> None:
    document = {
        "schema": _SCHEMA,
        "instance": instance.name,
        "instance_sha256": instance.sha256,
        "certificate": certificate_document(Certificate("tree", value, tree=tuple(nodes))),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(document) + "\n")


def _fail(line: str, code: int) -> int:
    complain(_PROGRAM, line)
    return code


if __name__ == "__main__":
    sys.exit(main())
