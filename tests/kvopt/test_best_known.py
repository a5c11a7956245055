"""Best-known values: merged, never made worse, and every lie in them is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import TypeAdapter

from formulations.bounds import tree_search
from formulations.lagrangian import backward_levels
from formulations.lagrangian.certificate import evaluate
from formulations.lagrangian.certificate_file import (
    Certificate,
    CertificateError,
    certificate_document,
    read_certificate,
)
from formulations.valid.volumes import volume_bound
from instances import Instance, Request
from instances.files import instance_document
from instances.ladder import Rung, ladder
from instances.named import FOLDER
from kvopt.best_known import __main__ as command
from kvopt.best_known import again, claims, known_values, prove, read_registry, verify
from kvopt.best_known.claims import Claims
from kvopt.best_known.entry import ENTRIES, Certified, Proof
from kvopt.best_known.files import format_registry
from kvopt.best_known.library import LibraryInstance
from kvopt.best_known.rebuild import read_all
from kvopt.best_known.rule import decide
from kvopt.best_known.verify import faults, stale_proofs
from kvopt.methods import fingerprint as module
from kvopt.methods import sources
from kvopt.methods.fingerprint import fingerprint, proof_fingerprint, versions
from kvopt.methods.grammar import MethodError, read_method
from kvopt.methods.witness import engine_witness, made_by
from kvopt.running.task import Finished, Task
from kvopt.store import Store
from schedules import make_schedule
from schedules.evidence import independent_pair
from schedules.files import schedule_document
from tests.pins import as_pinned
from tests.reports.synthetic import record_of
from tests.tiers import spread

#: M = 5, s = 1, o = (1, 1, 3, 3): shortest first has TEL 13, the optimum is 12 with starts
#: 0, 1, 0, 3 (docs/errata.md, E1).
FOUR = Instance(
    "four",
    5,
    (Request(0, 0, 1, 1), Request(1, 0, 1, 1), Request(2, 0, 1, 3), Request(3, 0, 1, 3)),
)
OPTIMAL, WORSE = [0, 1, 0, 3], [0, 0, 1, 4]
#: Two that never fit together: the second waits for the first, 1 + 2 rounds by construction.
PAIR = Instance(
    "pair",
    3,
    (Request(0, 0, 2, 1), Request(1, 0, 2, 1)),
    known_optimum=3,
    known_optimum_reason="only one fits at a time",
)
LIBRARY = {each.sha256: LibraryInstance(f"{each.name}.json", each) for each in (FOUR, PAIR)}
COUNTER = iter(range(10**6))

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture(autouse=True)
def _small_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (command, prove):
        monkeypatch.setattr(each, "library_by_hash", lambda: dict(LIBRARY))


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
        document = None if schedule is None else schedule_document(schedule)
        store.put(Finished(record, document, certificate, instance_document(instance)))
        store.close()

    def merge(self, *more: str) -> int:
        """Run the command on the store."""
        return command.main(["--store", str(self._path), "--folder", str(self.folder), *more])

    def check(self) -> int:
        """Verify the registry from its files."""
        return command.main(["--check", "--folder", str(self.folder)])

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


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    """A store in which ``pair`` is proved by its volumes, and no registry."""
    found = Sweep(tmp_path)
    found.run(PAIR, "svf", [0, 1], 3, "volumes")
    return found


@pytest.fixture
def proved(sweep: Sweep) -> Sweep:
    """``four`` is reported by two solvers as proved."""
    sweep.run(FOUR, "cpsat:cpsat", OPTIMAL, 12, "CP-SAT")
    sweep.run(FOUR, "highs:ilp", OPTIMAL, 12, "HiGHS", day=2)
    assert sweep.merge() == 0
    return sweep


#: Prices on memory that prove more than the volumes of ``four`` (10): their sum is 10.45.
PRICES = {"kind": "prices", "value": 11, "denominator": 20, "memory": [0, 6, 0, 12, 1]}


def test_an_optimum_by_two_engines(proved: Sweep) -> None:
    """The entry names schedule, bound, both proofs, the best certified bound and the history."""
    entry = proved.entry()
    assert entry["standing"] == "opt"
    assert entry["reason"] == "solver-reported by cpsat:cpsat and highs:ilp"
    assert (entry["upper"]["value"], entry["lower"]["value"]) == (12, 12)
    assert [proof["method"] for proof in entry["proofs"]] == ["cpsat:cpsat", "highs:ilp"]
    assert entry["lower"]["kind"] == "solver-reported"
    assert entry["lower"]["certified"]["value"] == volume_bound(FOUR)
    assert entry["history"]["upper"] == [
        {"value": 12, "method": "cpsat:cpsat", "date": "2026-11-01"}
    ]
    # Each of pair holds 3 token-rounds of 3: completions at 1 and 2 at the earliest.
    pair = "one argument only: area and parallel-machine bound (certificate: volumes, construction)"
    assert (proved.entry("pair")["standing"], proved.entry("pair")["reason"]) == (
        "one argument",
        pair,
    )


def test_reports_do_not_pass_as_certified(
    proved: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two proofs that anyone could have typed in: counted apart, named, and an exit code apart."""
    assert proved.check() == 3
    out, err = capsys.readouterr()
    assert "1 optimal by two independent proofs (0 certified, 1 solver-reported only)" in out
    assert "1 closed by one argument only" in out
    assert "best bounds: 1 certified, 0 by construction, 1 solver-reported" in out
    assert err == (
        "python -m kvopt.best_known: four: NOT CERTIFIED: bound 12 is solver-reported by "
        "cpsat:cpsat; 10 is certified; solver-reported by cpsat:cpsat and highs:ilp\n"
    )


def test_a_reported_bound_of_an_open_instance_is_named(
    sweep: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    """Merging says what is certified beside it, and the check ends with 3 and the name."""
    sweep.run(FOUR, "cpsat:cpsat", WORSE, 11, "CP-SAT")
    assert sweep.merge() == 0
    told = capsys.readouterr().out
    assert "four: lower new -> 11 (cpsat:cpsat, solver-reported; certified 10)" in told
    assert sweep.check() == 3
    told = "four: NOT CERTIFIED: bound 11 is solver-reported by cpsat:cpsat; 10 is certified; open"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(("today", "code"), [(False, 3), (True, 3)])
def test_a_forged_row_is_named(
    sweep: Sweep, today: bool, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row rewritten as a proof of TEL 13 (the optimum is 12) is a solver's report, no more."""
    sweep.run(FOUR, "cpsat:cpsat", WORSE, 13, "CP-SAT", today=today)
    assert sweep.merge() == 0
    assert sweep.entry()["standing"] == "one witness"
    assert sweep.check() == code
    told = capsys.readouterr().err
    assert "four: NOT CERTIFIED: bound 13 is solver-reported by cpsat:cpsat; 10 is" in told
    # Whoever forges the row can make its key, too, so nothing rests on that.
    assert ("STALE" in told) == (not today)


def test_a_forged_optimum_does_not_pass_as_certified(sweep: Sweep) -> None:
    """An open entry that is given an optimum, two proofs and a new digest is not called proved."""
    sweep.run(FOUR, "svf", WORSE, None)
    assert sweep.merge() == 0
    assert sweep.check() == 0

    def forge(entry: dict[str, Any]) -> None:
        # TEL 13; the optimum is 12.
        proofs = [_document(_proof(method, 13)) for method in ("cpsat:cpsat", "highs:ilp")]
        told = {key: value for key, value in proofs[0].items() if key != "made_by"}
        lower = told | {
            "kind": "solver-reported",
            "source": "CP-SAT",
            "certified": entry["lower"],
        }
        found = [_proof("cpsat:cpsat", 13), _proof("highs:ilp", 13)]
        reason = decide(FOUR, 13, 13, found, ("volumes", 10)).reason
        entry["history"]["lower"].append(
            {"value": 13, "method": "cpsat:cpsat", "date": "2026-11-01"}
        )
        entry.update(standing="opt", reason=reason, lower=lower, proofs=proofs)

    sweep.edit(forge)
    assert sweep.check() == 3


def _document(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = TypeAdapter(type(value)).dump_python(value, exclude_none=True)
    return found


def _prove(sweep: Sweep, *more: str) -> int:
    work = sweep.folder.parent / "trees"
    return prove.main(["--folder", str(sweep.folder), "--work", str(work), *more])


def test_words_become_a_certificate(proved: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    """A tree takes the place of the words, value and history stay, and later merges keep it."""
    before = proved.entry()
    assert _prove(proved) == 0
    entry = proved.entry()
    assert entry["reason"] == "certified (tree), solver-reported by cpsat:cpsat and highs:ilp"
    assert (entry["lower"]["value"], entry["lower"]["method"]) == (12, "tree")
    assert all(entry[key] == before[key] for key in ("standing", "upper", "history", "proofs"))
    assert proved.check() == 0
    assert (
        "1 optimal by two independent proofs (1 certified, 0 solver-reported only)"
        in capsys.readouterr().out
    )
    proved.run(FOUR, "search", OPTIMAL, 12, "search", day=9)
    proved.run(FOUR, "bound:bound-lp", WORSE, 11, "prices", certificate=PRICES, day=9)
    assert proved.merge() == 0
    assert proved.entry()["lower"] == entry["lower"]
    assert proved.check() == 0
    assert not list((proved.folder.parent / "trees").iterdir())


@pytest.mark.parametrize("wrong", [["--zzz"], ["--time-limit", "soon"], ["--folder"]])
def test_bad_usage_of_the_prover_is_one_line(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told like that of the other commands, without a usage before it."""
    assert prove.main(wrong) == 2
    told = capsys.readouterr().err
    assert told.startswith("python -m kvopt.best_known.prove: ")
    assert told.count("\n") == 1


def test_a_tree_is_grown_in_several_steps(
    proved: Sweep, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """When the time is up nothing is entered, and the next command goes on with what was kept."""
    assert _prove(proved, "--time-limit", "1e-9") == 1
    assert "the same command goes on" in capsys.readouterr().err
    [unfinished] = (proved.folder.parent / "trees").iterdir()
    assert proved.entry()["lower"]["method"] == "cpsat:cpsat"
    kept = json.loads(unfinished.read_text())["certificate"]["tree"]
    assert len(kept) == 1
    known = []

    def grow(instance: Instance, value: int, nodes: Any = ()) -> Any:
        known.append(len(nodes))
        return tree_search.grow(instance, value, nodes)

    monkeypatch.setattr(prove, "grow", grow)
    assert _prove(proved, "four") == 0
    assert known == [1]
    assert proved.check() == 0


def test_no_tree_for_what_is_not_the_optimum(
    sweep: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two engines' words for 13, where 12 is possible: the tree comes down to that schedule."""
    sweep.run(FOUR, "cpsat:cpsat", WORSE, 13, "CP-SAT")
    sweep.run(FOUR, "highs:ilp", WORSE, 13, "HiGHS", day=2)
    assert sweep.merge() == 0
    assert _prove(sweep) == 1
    assert "may have a lower TEL" in capsys.readouterr().err
    assert sweep.entry()["lower"]["method"] == "cpsat:cpsat"
    assert _prove(sweep, "five") == 2


def test_the_file_is_valid_by_its_schema(proved: Sweep) -> None:
    """An independent reader of JSON Schema accepts what is written."""
    jsonschema.validate(
        json.loads(proved.path.read_text()), _checked(proved.folder / "best_known.schema.json")
    )


def _checked(file: Path) -> dict[str, object]:
    schema: dict[str, object] = json.loads(file.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def test_certificates_are_valid_by_their_schema() -> None:
    """The smallest of each kind that the library has; what the reader refuses is not."""
    schema = _checked(FOLDER / "best_known.certificate.schema.json")
    by_kind: dict[str, dict[str, object]] = {}
    for file in sorted((FOLDER / "best_known" / "bounds").rglob("*.json"), key=_size):
        if _size(file) < 200_000:
            document = json.loads(file.read_text())
            by_kind.setdefault(document["kind"], document)
    assert len(by_kind) >= 5, "too few kinds to be a test"
    naming = ("schema", "instance", "instance_sha256")
    for document in by_kind.values():
        jsonschema.validate(document, schema)
        for wrong in ({"more": 1}, {"value": -1}, {"denominator": 0}, {"memory": [0.5]}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(document | wrong, schema)
            kept = {key: document[key] for key in document if key not in naming}
            with pytest.raises(CertificateError):
                read_certificate(kept | wrong)


def _size(file: Path) -> int:
    return file.stat().st_size


def test_the_same_runs_again_change_nothing(proved: Sweep) -> None:
    """A second merge leaves every byte as it is, and --check says so."""
    before = {path: path.read_bytes() for path in proved.folder.rglob("*") if path.is_file()}
    # 3: nothing better in the store, and the optimum of ``four`` on words alone.
    assert proved.merge("--check") == 3
    assert proved.merge() == 0
    after = {path: path.read_bytes() for path in proved.folder.rglob("*") if path.is_file()}
    assert before == after


def test_better_replaces_worse_and_never_the_reverse(sweep: Sweep) -> None:
    """UB 13, then 12, then 13 and a weaker bound again: 12 stays, with its history."""
    sweep.run(FOUR, "mc-sf", WORSE, 8, "volumes")
    assert sweep.merge() == 0
    assert sweep.entry()["upper"]["value"] == 13
    sweep.run(FOUR, "cpsat:cpsat", OPTIMAL, 11, "CP-SAT", day=3)
    assert sweep.merge("--check") == 1
    assert sweep.entry()["upper"]["value"] == 13
    assert sweep.merge() == 0
    sweep._path.unlink()
    sweep.run(FOUR, "mc-sf", WORSE, 10, "CP-SAT", day=4)
    sweep.run(FOUR, "cpsat:cpsat-time", WORSE, 10, "CP-SAT", day=4)
    # 3: nothing better in the store, and a bound that is solver-reported.
    assert sweep.merge("--check") == 3
    assert sweep.merge() == 0
    entry = sweep.entry()
    assert (entry["upper"]["value"], entry["lower"]["value"]) == (12, 11)
    assert [step["value"] for step in entry["history"]["upper"]] == [13, 12]
    assert entry["history"]["upper"][1] == {
        "value": 12,
        "method": "cpsat:cpsat",
        "date": "2026-11-03",
    }
    assert (entry["standing"], entry["reason"]) == ("open", "open")


def test_an_equal_value_does_not_replace_an_older_one(proved: Sweep) -> None:
    """Who reached it first keeps it."""
    proved.run(FOUR, "search", OPTIMAL, 12, "search", day=9)
    assert proved.merge() == 0
    entry = proved.entry()
    assert (entry["upper"]["method"], entry["lower"]["method"]) == ("cpsat:cpsat", "cpsat:cpsat")
    assert [proof["method"] for proof in entry["proofs"]] == ["cpsat:cpsat", "highs:ilp", "search"]


def test_a_lying_bound_aborts_loudly(proved: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    """A bound above a checked schedule names both; nothing is written, however good the rest is."""
    proved.run(FOUR, "highs:ilp(groups=yes)", WORSE, 13, "HiGHS", day=5)
    before = proved.path.read_bytes()
    assert proved.merge() == 5
    told = capsys.readouterr().err
    assert "four: lower bound 13 (highs:ilp(groups=yes), 2026-11-05) exceeds" in told
    assert "the checked TEL 12 (cpsat:cpsat, 2026-11-01)" in told
    assert proved.path.read_bytes() == before


def test_a_better_schedule_exposes_an_old_lie(
    sweep: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    """13 was "proved" by two engines; the schedule of 12 shows that both are wrong."""
    sweep.run(FOUR, "cpsat:cpsat", WORSE, 13, "CP-SAT")
    sweep.run(FOUR, "highs:ilp", WORSE, 13, "HiGHS", day=2)
    assert sweep.merge() == 0
    assert sweep.entry()["standing"] == "opt"
    sweep._path.unlink()
    sweep.run(FOUR, "search", OPTIMAL, 9, "search", day=2)
    assert sweep.merge() == 5
    assert "lower bound 13" in capsys.readouterr().err


def test_a_schedule_below_a_known_optimum_aborts(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A proof by construction is a statement like any other: one of the two is wrong."""
    wrong = Instance("wrong", 5, FOUR.requests, known_optimum=13, known_optimum_reason="guessed")
    monkeypatch.setattr(
        command, "library_by_hash", lambda: {wrong.sha256: LibraryInstance("wrong.json", wrong)}
    )
    sweep.run(wrong, "cpsat:cpsat", OPTIMAL, 12, "CP-SAT")
    assert sweep.merge() == 5
    assert "wrong: the optimum by construction, 13 exceeds" in capsys.readouterr().err
    assert not sweep.path.exists()


def test_bounds_that_are_not_believed(sweep: Sweep) -> None:
    """Those of runs that the parent caught, and of methods of one's own without a certificate."""
    sweep.run(FOUR, "svf", WORSE)
    sweep.run(FOUR, "highs:ilp", WORSE, 99, "HiGHS", status="error")
    sweep.run(FOUR, "cpsat:cpsat", WORSE, 99, "CP-SAT", status="refused")
    sweep.run(FOUR, "file:mine.py", WORSE, 99, "own method")
    assert sweep.merge() == 0
    assert sweep.entry()["lower"]["value"] == volume_bound(FOUR)
    assert sweep.entry()["lower"]["method"] == "volumes"


def test_a_certificate_is_taken_from_anyone(sweep: Sweep) -> None:
    """What is evaluated here needs no trust; the value is what it proves, not what it says."""
    assert volume_bound(FOUR) == 10
    sweep.run(FOUR, "file:mine.py", WORSE, 99, "own method", certificate=PRICES | {"value": 99})
    assert sweep.merge() == 0
    lower = sweep.entry()["lower"]
    assert (lower["value"], lower["method"]) == (11, "file:mine.py")
    assert (lower["kind"], lower["certificate"]) == ("certified", "prices")
    assert sweep.check() == 0


def test_a_certificate_of_less_than_nothing_is_one_of_nothing(sweep: Sweep) -> None:
    """Prices too high prove a number below 0; the store is read to its end all the same."""
    prices = {"kind": "prices", "value": 9, "memory": [0, 1000]}
    assert evaluate(FOUR, read_certificate(prices)) < 0
    sweep.run(FOUR, "file:mine.py", WORSE, 9, "own method", certificate=prices)
    assert sweep.merge() == 0
    assert sweep.entry()["lower"]["value"] == volume_bound(FOUR)


def test_a_certificate_that_proves_nothing_is_left_out(
    sweep: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged one, and one that assumes a schedule that nobody knows, are named and dropped."""
    sweep.run(FOUR, "bound:bound-lp", WORSE, 9, "volumes", certificate={"kind": "prices"})
    assumed = PRICES | {"upper_bound": 11}
    sweep.run(FOUR, "bound:bound-dual", WORSE, 9, "volumes", certificate=assumed)
    assert sweep.merge() == 0
    told = capsys.readouterr().err
    assert "certificate of bound:bound-lp: " in told
    assert "it assumes a schedule better than any that is known" in told
    assert sweep.entry()["lower"]["method"] == "volumes"


def _evaluations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the values of the certificates that merges evaluate from now on."""
    values: list[int] = []

    def counted(instance: Instance, certificate: Certificate) -> int:
        values.append(certificate.value)
        return evaluate(instance, certificate)

    monkeypatch.setattr(claims, "evaluate", counted)
    return values


def test_a_sweep_is_evaluated_only_where_it_is_better(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second merge takes no seconds for it, nor the first for a lesser one; more is looked at."""
    values = _evaluations(monkeypatch)
    best = {"kind": "sweep", "value": 12, "multipliers": [0, 0]}
    assert volume_bound(FOUR) < 11
    sweep.run(FOUR, "auto", OPTIMAL, 11, "search", certificate=best | {"value": 11})
    assert sweep.merge() == 0
    assert values == [11]
    assert sweep.merge() == 0
    assert values == [11]
    sweep.run(FOUR, "search:sweep", OPTIMAL, 12, "search", certificate=best, day=2)
    sweep.run(FOUR, "auto", OPTIMAL, 12, "search", certificate=best, day=3)
    assert sweep.merge() == 0
    assert values == [11, 12]
    assert sweep.entry()["lower"]["certificate"] == "sweep"
    assert sweep.check() == 0


def test_a_sweep_that_takes_too_long_is_one_note(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is left out with a line; schedule and claimed bound of the same run are taken."""
    monkeypatch.setattr(backward_levels, "MOST_STEPS", 10)
    certificate = {"kind": "sweep", "value": 12, "multipliers": [0, 0]}
    sweep.run(FOUR, "auto", OPTIMAL, 12, "search", certificate=certificate)
    assert sweep.merge() == 0
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if "takes more than 10 steps" in line] == told[:1]
    entry = sweep.entry()
    assert (entry["upper"]["value"], entry["lower"]["value"]) == (12, 12)
    assert entry["lower"]["certified"]["method"] == "volumes"


def test_ctrl_c_keeps_what_is_merged(sweep: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    """It comes at the second instance: the first one is written, and the same command goes on."""
    sweep.run(FOUR, "cpsat:cpsat", OPTIMAL, 11, "CP-SAT")
    sweep.run(PAIR, "cpsat:cpsat", [0, 1], 3, "CP-SAT")

    def interrupted(instance: Instance, *more: Any) -> Claims:
        if instance.name == "pair":
            raise KeyboardInterrupt
        return claims.collect(instance, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "collect", interrupted)
        assert sweep.merge() == 130
    assert "interrupted" in capsys.readouterr().err
    assert [each["instance"] for each in sweep.entries()] == ["four"]
    assert sweep.merge() == 0
    assert [each["instance"] for each in sweep.entries()] == ["four", "pair"]


def test_a_certified_bound_replaces_an_equal_claim(sweep: Sweep) -> None:
    """Of two equal bounds the one that can be verified stands in the entry."""
    sweep.run(FOUR, "cpsat:cpsat", OPTIMAL, 11, "CP-SAT")
    assert sweep.merge() == 0
    assert sweep.entry()["lower"]["method"] == "cpsat:cpsat"
    sweep.run(FOUR, "bound:bound-lp", WORSE, 11, "prices", certificate=PRICES, day=2)
    assert sweep.merge() == 0
    entry = sweep.entry()
    assert entry["lower"]["method"] == "bound:bound-lp"
    assert entry["lower"]["kind"] == "certified"
    # The value itself did not change.
    assert len(entry["history"]["lower"]) == 1


def test_what_a_policy_kept_is_no_upper_bound(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A policy that keeps tokens over an eviction solves an easier problem: no upper bound."""
    two = Instance("two", 4, (Request(0, 0, 0, 4), Request(1, 0, 1, 3)))
    library = {two.sha256: LibraryInstance("two.json", two)}
    monkeypatch.setattr(command, "library_by_hash", lambda: library)
    sweep.run(two, "svf", [3, 0], None)
    # Request 0 makes 1 token at time 1, then keeps it and makes the other 3 from round 3 on.
    parts: dict[str, Any] = {"attempts": [[(0, 1)], []], "kept": [[0, 1], [0]]}
    sweep.run(two, "vllm-v1", [2, 0], None, **parts)
    assert sweep.merge() == 0
    # Without what was kept request 0 would hold 1 token at time 3 beside the 4 of request 1.
    assert sweep.entry("two")["upper"]["value"] == 7 + 3
    assert capsys.readouterr().err == ""


def test_what_a_policy_kept_contradicts_no_optimum(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that kept tokens may be below the optimum by construction; the merge goes on."""
    # Tokens 1, 2 of request 0 at times 1, 2, of request 1 at 1 and, kept, at 3: TEL 5.  Without
    # that one waits for the other: 2 + 4 = 6.
    requests = (Request(0, 0, 0, 2), Request(1, 0, 0, 2))
    two = Instance("two", 2, requests, known_optimum=6, known_optimum_reason="one by one")
    library = {two.sha256: LibraryInstance("two.json", two)}
    monkeypatch.setattr(command, "library_by_hash", lambda: library)
    sweep.run(two, "vllm-v1", [0, 1], None, attempts=[[], [(0, 1)]], kept=[[0], [0, 1]])
    sweep.run(two, "svf", [0, 2], None)
    assert sweep.merge() == 0
    assert sweep.entry("two")["upper"]["value"] == 6
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        (4, "the optimum by construction, 4 exceeds the checked TEL 3"),
        (2, "lower bound 3 (volumes, 2026-11-01) exceeds the optimum by construction, 2"),
    ],
)
def test_an_optimum_by_construction_is_a_witness(
    proved: Sweep,
    stated: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where the library states another optimum than schedule and bound, the check says so."""
    other = Instance("pair", 3, PAIR.requests, known_optimum=stated, known_optimum_reason="typo")
    library = LIBRARY | {PAIR.sha256: LibraryInstance("pair.json", other)}
    monkeypatch.setattr(command, "library_by_hash", lambda: dict(library))
    assert proved.check() == 1
    assert told in capsys.readouterr().err


def test_a_planted_schedule_is_taken_if_it_is_better(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The schedule of the construction replaces a worse one, and is replaced by none as good."""
    planted = {FOUR.sha256: LibraryInstance("four.json", FOUR, tuple(OPTIMAL))}
    sweep.run(FOUR, "svf", WORSE, day=3)
    assert sweep.merge() == 0
    assert sweep.entry()["upper"]["method"] == "svf"
    monkeypatch.setattr(command, "library_by_hash", lambda: LIBRARY | planted)
    assert sweep.merge() == 0
    upper = sweep.entry()["upper"]
    assert (upper["method"], upper["value"], upper["date"]) == ("construction", 12, "2026-11-03")
    sweep.run(FOUR, "mc-sf", OPTIMAL, day=4)
    assert sweep.merge() == 0
    assert sweep.entry()["upper"] == upper
    assert sweep.check() == 0


def test_a_planted_schedule_is_checked(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that overfills the memory stops the merge."""
    planted = {FOUR.sha256: LibraryInstance("four.json", FOUR, (0, 0, 0, 0))}
    monkeypatch.setattr(command, "library_by_hash", lambda: LIBRARY | planted)
    sweep.run(FOUR, "svf", WORSE)
    with pytest.raises(ValueError, match="four: the planted schedule: "):
        sweep.merge()


def test_cancelled_attempts_are_dropped(sweep: Sweep) -> None:
    """The last attempts alone are a schedule with the same TEL, and that is what is kept."""
    late = [0, 1, 3, 6]
    sweep.run(FOUR, "alpha-greedy", late, None, attempts=[[], [], [(0, 1)], []])
    assert sweep.merge() == 0
    document = json.loads(sweep.proof("schedules").read_text())
    assert document["starts"] == late
    assert "attempts" not in document
    assert sweep.check() == 0


@pytest.mark.parametrize(
    ("edit", "told"),
    spread(
        [
            (lambda e: e["upper"].update(value=11), "TEL 12, the entry says 11"),
            (
                lambda e: e["lower"].update(value=13),
                "lower bound 13 (cpsat:cpsat, 2026-11-01) exceeds the checked TEL 12",
            ),
            (lambda e: e["lower"].update(value=11), "opt (solver-reported by cpsat:cpsat"),
            (lambda e: e["lower"]["certified"].update(value=11), "the entry says 11"),
            (lambda e: e["lower"]["certified"].update(certificate="tree"), "of the kind volumes"),
            (lambda e: e["lower"].update(method="file:mine.py"), "it reports no bound"),
            (lambda e: e["lower"].update(method="svf"), "it reports no bound"),
            (lambda e: e.update(standing="open"), "four: open ("),
            (lambda e: e.update(proofs=e["proofs"][:1]), "one proof only: cpsat:cpsat"),
            (
                lambda e: e["proofs"][1].update(method="cpsat:cpsat-time"),
                "one proof only: cpsat:cpsat, cpsat:cpsat-time",
            ),
            (lambda e: e["proofs"][1].update(method="cpsat:cpsat"), "expected one proof a method"),
            (lambda e: e["proofs"][1].update(method="svf"), "expected a method of an engine"),
            (lambda e: e["proofs"][1].update(method="highs"), "expected SOLVER:FORMULATION"),
            (lambda e: e["proofs"][1].update(method="gurobi:ilp"), "gurobi proves no bound"),
            (lambda e: e["proofs"][1].update(value=11), "11, expected 12"),
            (lambda e: e["history"]["upper"].clear(), "history does not end with 12"),
            (
                lambda e: e["history"]["upper"].insert(0, e["history"]["upper"][0]),
                "does not improve at every step",
            ),
            (lambda e: e.update(n=5), "the library ('four'"),
            (lambda e: e.update(sha256="0" * 64), "the library has no instance of this hash"),
            (lambda e: e["upper"].update(method="svf"), "not what is written of its entry"),
            (lambda e: e["upper"].update(method="construction"), "is not that of the construction"),
        ],
        3,
    ),
)
def test_a_careful_lie_is_found(
    proved: Sweep, edit: Edit, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even with a new digest, no value, proof or flag can be changed unnoticed."""
    proved.edit(edit)
    assert proved.check() == 1
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "x\n", "a/b", ""])
def test_an_entry_leads_to_no_other_folder(
    proved: Sweep, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its files bear the instance's name, which names no folder; who reads it refuses others."""
    text = proved.path.read_text().replace('"instance": "four"', f'"instance": {json.dumps(name)}')
    proved.path.write_text(text)
    assert proved.check() == 1
    assert "field instances.0.instance" in capsys.readouterr().err
    with pytest.raises(ValueError, match="instance"):
        known_values(proved.folder)


@pytest.mark.parametrize("kind", ["schedules", "bounds"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_link_out_of_the_folder_is_not_followed(
    proved: Sweep, kind: str, whole: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a proof nor the folder of proofs may be a link to another place."""
    path = proved.proof(kind).parent if whole else proved.proof(kind)
    elsewhere = proved.folder.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert proved.check() == 1
    assert "a link that leads out of" in capsys.readouterr().err


def test_an_edit_by_hand_is_found(proved: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    """A bound that only an engine stands behind is guarded by the digest."""
    proved.edit(lambda entry: entry["lower"].update(seconds=0.1), sign=False)
    assert proved.check() == 1
    assert "edited by hand?" in capsys.readouterr().err
    assert proved.merge() == 1
    with pytest.raises(ValueError, match="edited by hand"):
        known_values(proved.folder)


@pytest.mark.parametrize("kind", ["schedules", "bounds"])
@pytest.mark.parametrize("damage", ["gone", "half", "other"])
def test_a_damaged_proof_is_named(
    proved: Sweep, kind: str, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing file, half a file and one of another instance: the check names the file."""
    path = proved.proof(kind)
    if damage == "gone":
        path.unlink()
    elif damage == "half":
        path.write_text(path.read_text()[:40])
    else:
        path.write_text(path.with_name("pair.json").read_text())
    assert proved.check() == 1
    assert f"{kind}/four.json" in capsys.readouterr().err
    # Nothing is built on it either.
    assert proved.merge() == 1


def test_an_impossible_schedule_is_named(proved: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    """A start moved by hand overfills the memory, and the checker says where."""
    path = proved.proof("schedules")
    document = json.loads(path.read_text())
    # Requests 2 and 3 together, and 0 beside them: at time 1 they hold 2 + 2 + 2 > 5.
    document.update(starts=[0, 3, 0, 0], tel=11)
    path.write_text(json.dumps(document))
    assert proved.check() == 1
    assert "tokens are held, memory is 5" in capsys.readouterr().err


def test_a_weakened_certificate_is_named(sweep: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    """Prices that were changed no longer reach the bound."""
    sweep.run(FOUR, "bound:bound-lp", WORSE, 9, "prices", certificate=PRICES)
    assert sweep.merge() == 0
    path = sweep.proof("bounds")
    document = json.loads(path.read_text())
    document["memory"] = [0 for _ in document["memory"]]
    path.write_text(json.dumps(document))
    assert sweep.check() == 1
    # Without prices only the outputs are left: 1 + 1 + 3 + 3.
    assert "it proves 8 and states" in capsys.readouterr().err


def test_what_was_proved_is_evaluated_again_only_if_it_changed(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within one process; another certificate, or another claim, is none that was proved."""
    sweep.run(FOUR, "bound:bound-lp", WORSE, 9, "prices", certificate=PRICES)
    assert sweep.merge() == 0
    before = read_all(LIBRARY, sweep.folder)
    registry = read_registry(sweep.folder)
    assert registry is not None
    evaluated: list[str] = []

    def counted(instance: Instance, certificate: Certificate) -> int:
        evaluated.append(instance.name)
        return evaluate(instance, certificate)

    monkeypatch.setattr(verify, "evaluate", counted)
    assert not [*faults(registry, LIBRARY, sweep.folder, before)]
    assert evaluated == []
    path = sweep.proof("bounds")
    document = json.loads(path.read_text())
    document["memory"] = [0 for _ in document["memory"]]
    path.write_text(json.dumps(document))
    assert "it proves 8 and states" in "\n".join(faults(registry, LIBRARY, sweep.folder, before))
    assert evaluated == ["four"]


def test_a_file_left_over_is_named(proved: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing lies in the registry's folder that no entry refers to."""
    (proved.folder / "best_known" / "schedules" / "old.json").write_text("{}")
    assert proved.check() == 1
    assert "best_known/schedules/old.json: no entry refers to it" in capsys.readouterr().err


@pytest.mark.parametrize("file", ["best_known.schema.json", "best_known.certificate.schema.json"])
def test_a_stale_schema_is_named(
    proved: Sweep, capsys: pytest.CaptureFixture[str], file: str
) -> None:
    """The JSON Schemas belong to the registry."""
    (proved.folder / file).write_text("{}")
    assert proved.check() == 1
    assert f"{file}: stale" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("methods", "pair"),
    [
        (["cpsat:cpsat", "highs:ilp"], ("cpsat:cpsat", "highs:ilp")),
        (["highs:ilp", "cpsat:cpsat-time"], ("highs:ilp", "cpsat:cpsat-time")),
        # The search has its windows and groups from where the integer programs have theirs.
        (["search", "highs:ilp"], None),
        (["search", "cpsat:cpsat-time"], ("search", "cpsat:cpsat-time")),
        (["cpsat:cpsat-strong", "highs:ilp"], None),
        # One solver is one witness, whatever the models.
        (["cpsat:cpsat", "cpsat:cpsat-time"], None),
        (["highs:ilp", "highs:ilp-sparse"], None),
        (["search:counts", "highs:ilp"], ("search:counts", "highs:ilp")),
        (["cpsat:cpsat"], None),
        ([], None),
    ],
)
def test_independent_pairs(methods: list[str], pair: tuple[str, str] | None) -> None:
    """Two engines are two witnesses only with other solvers and no model code in common."""
    found = independent_pair([engine_witness(method, 12) for method in methods])
    assert (found and tuple(each.name for each in found)) == pair


def _proof(method: str, value: int = 12) -> Proof:
    return Proof(
        value=value, method=method, date="2026-11-01", seconds=1.0, made_by=made_by(method)
    )


def test_the_rule() -> None:
    """Each way in which a value counts as the optimum, and those in which it does not."""
    bare = read_certificate({"kind": "volumes", "value": 12})
    grouped = read_certificate({"kind": "prices", "value": 12, "upper_bound": 12})
    patterns = read_certificate({"kind": "patterns", "value": 12})
    tree = read_certificate({"kind": "tree", "value": 12})
    weak = read_certificate({"kind": "volumes", "value": 11})
    known = Instance("known", 5, FOUR.requests, known_optimum=12, known_optimum_reason="r")
    cases = [
        (FOUR, 11, ["cpsat:cpsat", "highs:ilp"], bare, (False, "open")),
        (FOUR, 12, [], bare, (False, "one proof only: certificate: volumes")),
        (
            FOUR,
            12,
            ["cpsat:cpsat"],
            bare,
            (True, "certified (volumes), solver-reported by cpsat:cpsat"),
        ),
        # Certificate and integer program take their windows from one file.
        (FOUR, 12, ["highs:ilp"], bare, (False, "one proof only: highs:ilp, certificate")),
        (
            FOUR,
            12,
            ["cpsat:cpsat", "highs:ilp"],
            weak,
            (True, "solver-reported by cpsat:cpsat and highs:ilp"),
        ),
        (
            FOUR,
            12,
            ["cpsat:cpsat", "highs:ilp"],
            tree,
            (True, "certified (tree), solver-reported by cpsat:cpsat"),
        ),
        # A tree shares no code with any model.
        (FOUR, 12, ["search"], tree, (True, "certified (tree), solver-reported by search")),
        (FOUR, 12, ["cpsat:cpsat"], weak, (False, "one proof only: cpsat:cpsat")),
        (FOUR, 12, [], grouped, (False, "one proof only: certificate: prices")),
        (FOUR, 12, [], patterns, (False, "one proof only: certificate: patterns")),
        # The evaluation of prices and cpsat have the separation of pairs in common.
        (
            FOUR,
            12,
            ["cpsat:cpsat"],
            patterns,
            (False, "one proof only: cpsat:cpsat, certificate: patterns"),
        ),
        (
            known,
            12,
            ["cpsat:cpsat"],
            weak,
            (True, "by construction, solver-reported by cpsat:cpsat"),
        ),
        (known, 12, [], grouped, (True, "certified (prices), by construction")),
        (known, 12, [], weak, (False, "by construction alone")),
    ]
    for instance, lower, methods, certificate, (opt, reason) in cases:
        proved = certificate.kind, certificate.value
        verdict = decide(instance, 12, lower, [_proof(method) for method in methods], proved)
        assert (verdict.opt, verdict.reason[: len(reason)]) == (opt, reason)


def test_an_instance_of_the_ladder_is_drawn_and_known(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only what has runs is drawn, no cache is asked, and --check finds the entry right."""
    asked: list[str] = []
    drawing = Rung.draw

    def draw(rung: Rung) -> Instance:
        asked.append(rung.name)
        return drawing(rung)

    monkeypatch.setattr(Rung, "draw", draw)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    rung = ladder()["am1_n5_seed1"]
    drawn = rung.draw()
    sweep.run(drawn, "svf", list(range(0, 500, 100)))
    assert sweep.merge() == 0
    entry = sweep.entry(drawn.name)
    assert (entry["file"], entry["sha256"]) == ("ladder.csv", rung.sha256)
    assert set(asked) == {drawn.name}
    capsys.readouterr()
    sweep.check()
    assert drawn.name not in capsys.readouterr().err


def test_a_ladder_that_cannot_be_drawn_is_named(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where a library rounds otherwise."""
    rung = ladder()["am1_n5_seed1"]
    sweep.run(rung.draw(), "svf", list(range(0, 500, 100)))
    sweep.merge()
    monkeypatch.setattr(Rung, "draw", lambda _: FOUR)
    capsys.readouterr()
    assert sweep.check() == 1
    assert f"{rung.name}: expected sha256" in capsys.readouterr().err


def test_values_for_reports(proved: Sweep) -> None:
    """Reports take values, methods, the standing and the history by hash."""
    told = known_values(proved.folder)[FOUR.sha256]
    assert (told["upper_bound"], told["lower_bound"], told["opt"]) == (12, 12, True)
    assert (told["upper_by"], told["certificate"]) == ("cpsat:cpsat", False)
    assert [step["side"] for step in told["history"]] == ["upper", "lower"]
    assert known_values(proved.folder / "nowhere") == {}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 2),
        (["--nope"], 2),
        (["--store", "/nowhere/at/all.sqlite"], 2),
        (["--check", "--folder", "/nowhere"], 1),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, one line, the exit code that --help tells."""
    assert command.main(arguments) == code
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_every_committed_optimum_is_certified() -> None:
    """They are evaluated in the wheel: tests/test_wheel.py, best-known --check."""
    registry = read_registry()
    assert registry is not None
    assert not [
        entry.instance
        for entry in registry.instances
        if entry.opt and not isinstance(entry.lower, Certified)
    ]


def test_certificates_survive_a_round_trip() -> None:
    """What is written is what is read."""
    certificate = read_certificate(PRICES)
    assert read_certificate(certificate_document(certificate)) == certificate


@as_pinned("highspy", "numba", "ortools", "pyomo", "scipy")
def test_no_committed_proof_is_stale() -> None:
    """``python -m kvopt.best_known.prove --stale`` runs again what an edit has made stale."""
    registry = read_registry()
    assert registry is not None
    assert [(entry.instance, proof.method) for entry, proof in stale_proofs(registry)] == []


@pytest.mark.slow("walks")
def test_a_stale_proof_is_named_and_run_again(
    proved: Sweep, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It stays until a run of today proves the same; one that does not hold stays stale."""
    _sweep_certificate(proved)
    assert proved.check() == 0
    proved.edit(lambda entry: [each.update(made_by="0" * 16) for each in entry["proofs"]])
    assert proved.check() == 3
    stale = "four: STALE: the proof of {} was made by other sources"
    told = capsys.readouterr().err
    assert all(stale.format(method) in told for method in ("cpsat:cpsat", "highs:ilp"))
    arguments = ["--folder", str(proved.folder), "--stale"]
    monkeypatch.setattr(again, "library_by_hash", lambda: dict(LIBRARY))
    with monkeypatch.context() as patch:
        patch.setattr(again, "proof_of", lambda _: None)
        assert prove.main(arguments) == 1
        before = proved.path.read_text()
        assert prove.main([*arguments, "--drop"]) == 1
        assert "proofs" not in proved.entry() or proved.entry()["proofs"] == []
        assert proved.entry()["reason"] == "one proof only: certificate: sweep"
    proved.path.write_text(before)
    assert "NOT PROVED: optimal, TEL 12, bound 12" in capsys.readouterr().out
    assert proved.check() == 3
    # The time of all is up before the first one.
    assert prove.main([*arguments, "--time-limit", "1e-9"]) == 1
    assert "the same command goes on" in capsys.readouterr().out
    assert prove.main(arguments) == 0
    assert [each["made_by"] for each in proved.entry()["proofs"]] == [
        made_by("cpsat:cpsat"),
        made_by("highs:ilp"),
    ]
    assert proved.check() == 0
    assert prove.main(arguments) == 0


def _sweep_certificate(sweep: Sweep) -> None:
    """Certify 12 of ``four``."""
    certificate = {"kind": "sweep", "value": 12, "multipliers": [0, 0]}
    sweep.run(FOUR, "auto", OPTIMAL, 12, "search", certificate=certificate, day=3)
    assert sweep.merge() == 0


def test_one_more_proof_by_name(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A method is run on an instance and entered; a team, or no instance, is bad usage."""
    monkeypatch.setattr(again, "library_by_hash", lambda: dict(LIBRARY))
    sweep.run(FOUR, "svf", OPTIMAL)
    assert sweep.merge() == 0
    arguments = ["--folder", str(sweep.folder), "--by"]
    assert prove.main([*arguments, "search:counts", "four"]) == 0
    assert [each["method"] for each in sweep.entry()["proofs"]] == ["search:counts"]
    assert prove.main([*arguments, "highs", "four"]) == 2
    assert "expected SOLVER:FORMULATION" in capsys.readouterr().err
    assert prove.main([*arguments, "search:counts"]) == 2
    assert prove.main([*arguments, "search:counts", "five"]) == 2


def test_a_registry_that_lacks_an_instance_fails(
    proved: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty registry proves nothing of the library, however sound what it holds."""
    proved.path.write_text(format_registry([]))
    for file in (proved.folder / "best_known").rglob("*.json"):
        file.unlink()
    assert proved.check() == 1
    told = capsys.readouterr().err
    assert all(f"{name}: the registry lacks this instance" in told for name in ("four", "pair"))


def test_a_digest_changes_with_what_a_proof_rests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit of engine, model, tolerances or solver makes a proof stale, one of a policy not."""
    method = read_method("highs:ilp")
    before = proof_fingerprint(method)

    def edited(name: str) -> str:
        def read(path: Path) -> sources.Source:
            found = sources.read_source(path)
            return replace(found, digest="edited") if path.name == name else found

        with monkeypatch.context() as patch:
            patch.setattr(module, "read_source", read)
            return proof_fingerprint(method)

    assert edited("svf.py") == edited("worker.py") == edited("cpsat.py") == before
    changed = [edited(name) for name in ("highs.py", "ilp.py", "tolerances.py", "start.py")]
    monkeypatch.setattr(module, "_version", lambda name: "0.0.1" if name == "highspy" else None)
    changed.append(proof_fingerprint(method))
    assert len({before, *changed}) == 6
