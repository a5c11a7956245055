"""A registry of two instances: a store that is filled by hand, and what is made of it."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from formulations.certificates.certificate_evaluation import evaluate_certificate
from formulations.certificates.certificate_file import Certificate
from instances import Instance, Request
from kvopt.best_known import __main__ as command
from kvopt.best_known import rerun_proofs
from kvopt.best_known.library_and_ladder import LibraryInstance
from kvopt.best_known.registry_entry import ENTRIES, OptimumProof
from kvopt.best_known.registry_files import format_registry
from kvopt.commands import submit
from kvopt.methods.fingerprint import fingerprint, versions
from kvopt.methods.grammar import MethodError, read_method
from kvopt.methods.witness import made_by
from kvopt.runs.task import FinishedRun, Task
from kvopt.store import Store
from schedules import make_schedule
from tests.commands import run_command
from tests.kvopt.sweep_tools import Patch
from tests.reports.synthetic import record_of

#: M = 5, s = 1, o = (1, 1, 3, 3): shortest first has TEL 13, the optimum is 12 with starts
#: 0, 1, 0, 3 (docs/errata.md, E1).
FOUR = Instance(
    "four", 5, (Request(0, 0, 1, 1), Request(1, 0, 1, 1), Request(2, 0, 1, 3), Request(3, 0, 1, 3))
)
OPTIMAL, WORSE = [0, 1, 0, 3], [0, 0, 1, 4]
#: Two that never fit together: the second waits for the first, 1 + 2 rounds by construction.
_ALONE: dict[str, Any] = {"known_optimum": 3, "known_optimum_reason": "only one fits at a time"}
PAIR = Instance("pair", 3, (Request(0, 0, 2, 1), Request(1, 0, 2, 1)), **_ALONE)
LIBRARY = {each.sha256: LibraryInstance(f"{each.name}.json", each) for each in (FOUR, PAIR)}
#: Proves the optimum of ``four``.
SWEEP = {"kind": "sweep", "value": 12, "multipliers": [0, 0]}
COUNTER = iter(range(10**6))
Edit = Callable[[dict[str, Any]], object]


def _key(instance: Instance, method: str, seed: int) -> str:
    """Return the key of a run by the sources that are here."""
    with suppress(MethodError):
        read = read_method(method, planned=True)
        if read.kind == "file":
            return f"{seed:064}"
        told: dict[str, Any] = {"code": fingerprint(read), "versions": versions(read)}
        return Task(instance, instance.name, read, seed=seed, **told).key
    return f"{seed:064}"


class Sweep:
    """A store that is filled by hand, and the registry that is made of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "registry"
        self.folder.mkdir()
        self._path = folder / "runs.sqlite"
        self.out = self.err = ""

    def run(
        self,
        instance: Instance,
        method: str,
        starts: list[int] | None,
        bound: int | None = None,
        source: str = "",
        day: int = 1,
        certificate: dict[str, Any] | None = None,
        status: str | None = None,
        today: bool = True,
        **parts: Any,
    ) -> None:
        """Store a run of today's sources; its status is what it shows unless it is given."""
        schedule = None if starts is None else make_schedule(instance, starts, method, **parts)
        tel = None if schedule is None else schedule.tel
        told = "optimal" if tel is not None and tel == bound else "feasible"
        seed = next(COUNTER)
        record = record_of(
            instance,
            key=_key(instance, method, seed) if today else f"{seed:064}",
            method=method,
            seed=seed,
            status=status or told,
            tel=tel,
            lower_bound=bound,
            found_by=method,
            bound_source=source,
            finished_utc=f"2026-11-{day:02}T01:02:03+00:00",
        )
        store = Store(self._path)
        store.put(FinishedRun(record, schedule, certificate, instance))
        store.close()

    def merge(self, *more: str) -> int:
        """Run the command on the store; ``out`` and ``err`` are what it prints."""
        return self.show("--store", self._path, *more)

    def merged(self, name: str = "four") -> dict[str, Any]:
        """Return the entry of an instance after the store was merged, which must do."""
        assert self.merge() == 0
        return self.entry(name)

    def check(self, *names: str) -> int:
        """Verify the registry from its files; ``out`` and ``err`` are what is printed."""
        return self.show("--check", *names)

    def show(self, *given: object) -> int:
        """Run the command, which prints the values of named instances."""
        run = run_command(command.main, *given, "--folder", self.folder)
        self.out, self.err = run.stdout, run.stderr
        return run.returncode

    def entry(self, name: str = "four") -> dict[str, Any]:
        """Return the entry of an instance as JSON."""
        return next(entry for entry in self.entries() if entry["instance"] == name)

    def entries(self) -> list[dict[str, Any]]:
        """Return all entries as JSON."""
        found: list[dict[str, Any]] = json.loads(self.path.read_text())["instances"]
        return found

    @property
    def path(self) -> Path:
        """The registry's file."""
        return self.folder / "best_known.json"

    def edit(self, edit: Edit, *, sign: bool = True) -> None:
        """Change the entry of ``four`` by hand; with a new digest, as a careful liar would."""
        document = json.loads(self.path.read_text())
        edit(next(entry for entry in document["instances"] if entry["instance"] == "four"))
        if sign:
            entries = ENTRIES.validate_python(document["instances"])
            self.path.write_text(format_registry(entries))
        else:
            self.path.write_text(json.dumps(document))

    def proof(self, kind: str) -> Path:
        """The schedule (``schedules``) or the certificate (``bounds``) of ``four``."""
        return self.folder / "best_known" / kind / "four.json"


#: Prices on memory that prove more than the volumes of ``four`` (10): their sum is 10.45.
PRICES = {"kind": "prices", "value": 11, "denominator": 20, "memory": [0, 6, 0, 12, 1]}


def proof_by(method: str, value: int = 12) -> OptimumProof:
    return OptimumProof(
        value=value, method=method, date="2026-11-01", seconds=1.0, made_by=made_by(method)
    )


def have_library(monkeypatch: Patch, *instances: LibraryInstance | Instance) -> None:
    """Have the library hold these instances and no others."""
    library = {}
    for each in instances:
        found = LibraryInstance(f"{each.name}.json", each) if isinstance(each, Instance) else each
        library[found.instance.sha256] = found
    for module in (command, rerun_proofs, submit):
        monkeypatch.setattr(module, "library_by_hash", lambda: dict(library))


def put(monkeypatch: Patch, instance: Instance, *planted: int) -> None:
    """Have the library hold an instance too, with its planted starts, or in place of an equal."""
    found = LibraryInstance(f"{instance.name}.json", instance, planted or None)
    have_library(monkeypatch, *LIBRARY.values(), found)


def evaluations(monkeypatch: Patch, module: ModuleType) -> list[int]:
    """Return the values of the certificates that a module evaluates from now on."""
    values: list[int] = []

    def counted(instance: Instance, certificate: Certificate) -> int:
        values.append(certificate.value)
        return evaluate_certificate(instance, certificate)

    monkeypatch.setattr(module, "evaluate_certificate", counted)
    return values
