"""Command: make the certificate of an optimum that is solver-reported, or run stale proofs again.

The tree (``formulations.lagrangian.tree``) is written as it grows, and with ``--stale`` each proof
as it ends, so that the same command goes on where it was stopped, however.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from formulations.bounds.tree_search import BetterScheduleError, grow
from formulations.lagrangian.certificate import evaluate
from formulations.lagrangian.certificate_file import (
    Certificate,
    CertificateError,
    certificate_document,
    read_certificate,
)
from formulations.lagrangian.tree import TreeError, TreeNode
from instances import Instance
from instances.checkout import require_checkout
from instances.jsonfile import FileError, read_object, write_text
from instances.named import FOLDER
from instances.usage import Parser, UsageError, complain
from kvopt.best_known.again import prove_again
from kvopt.best_known.claims import Claims
from kvopt.best_known.entry import Certified
from kvopt.best_known.files import RegistryError
from kvopt.best_known.merge import Known, merge
from kvopt.best_known.rebuild import read_all, write_all
from kvopt.best_known.verify import DamagedError, LibraryInstance, library_by_hash
from kvopt.methods.grammar import MethodError, read_method
from kvopt.ranges import read_seconds

EXIT_OK = 0
EXIT_OPEN = 1
EXIT_BAD_USAGE = 2

_PROGRAM = "python -m kvopt.best_known.prove"
_SCHEMA = "kvopt.unfinished_tree/1"
_SECONDS_BETWEEN_SAVES = 10
_EPILOG = """\
exit codes: 0 all of them have a certificate, or with --stale were proved again; 1 the time was up
before, a tree comes down to a better schedule, or a stale proof did not hold; 2 bad usage, or a
registry or file that cannot be read or written
"""


def _parser() -> Parser:
    parser = Parser(
        prog=_PROGRAM,
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="INSTANCE",
        help="default: all optima that are solver-reported, or all with a stale proof",
    )
    parser.add_argument(
        "--stale",
        action="store_true",
        help="run the proofs again that other sources or solvers than today's have made, one after "
        "the other and each with one thread, and enter those that hold",
    )
    parser.add_argument(
        "--drop",
        action="store_true",
        help="with --stale: what does not hold any more leaves the registry",
    )
    parser.add_argument(
        "--by",
        metavar="METHOD",
        default="",
        help="run SOLVER:FORMULATION as one more proof of each INSTANCE, and enter it if it holds",
    )
    parser.add_argument(
        "--each",
        type=read_seconds,
        default=600.0,
        metavar="S",
        help="with --stale or --by: of each run (default: 600)",
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="default: instances/")
    parser.add_argument(
        "--work",
        type=Path,
        default=Path("results/trees"),
        help="where unfinished trees are kept (default: results/trees)",
    )
    parser.add_argument(
        "--time-limit", type=read_seconds, default=float("inf"), metavar="S", help="of all together"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        options = _parser().parse_args(arguments)
        if options.folder == FOLDER:
            require_checkout("--folder names another folder")
        if options.by and not options.names:
            raise UsageError("--by: expected the instances that are to be proved")
        if options.stale or options.by:
            return _again(options)
        return _prove(options.names, options.folder, options.work, options.time_limit)
    except (
        UsageError,
        RegistryError,
        DamagedError,
        FileError,
        CertificateError,
        TreeError,
        MethodError,
    ) as error:
        return _fail(str(error), EXIT_BAD_USAGE)
    except OSError as error:
        return _fail(" ".join(str(error).split()), EXIT_BAD_USAGE)
    except KeyboardInterrupt:
        return _fail("interrupted; the same command goes on", EXIT_OPEN)


def _again(options: argparse.Namespace) -> int:
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
    library = library_by_hash()
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
        date=datetime.now(UTC).date().isoformat(),
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
