"""Best-known values: merged, never made worse, and every lie in them is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from formulations.bounds import tree_search
from formulations.lagrangian import swept
from formulations.lagrangian.certificate import evaluate
from formulations.lagrangian.certificate_file import (
    Certificate,
    certificate_document,
    read_certificate,
)
from formulations.valid.volumes import volume_bound
from instances import Instance, Request
from instances.files import instance_document
from kvopt.best_known import __main__ as command
from kvopt.best_known import claims, known_values, prove, read_registry
from kvopt.best_known.claims import Claims
from kvopt.best_known.entry import ENTRIES, Value
from kvopt.best_known.files import digest
from kvopt.best_known.rule import decide
from kvopt.best_known.verify import LibraryInstance
from kvopt.methods.witness import engine_witness
from kvopt.running.record import Record
from kvopt.running.task import Finished
from kvopt.store import Store
from schedules import make_schedule
from schedules.evidence import independent_pair
from schedules.files import schedule_document

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
        **parts: Any,
    ) -> None:
        """Store a run; its status is what starts and bound show unless it is given."""
        schedule = None if starts is None else make_schedule(instance, starts, method, **parts)
        tel = None if schedule is None else schedule.tel
        told = "optimal" if tel is not None and tel == bound else "feasible"
        record = Record(
            key=f"{next(COUNTER):064}",
            instance=instance.name,
            instance_sha256=instance.sha256,
            family="",
            n=len(instance),
            memory=instance.memory,
            known_optimum=instance.known_optimum,
            section="",
            method=method,
            seed=0,
            time_limit=60.0,
            memory_limit=None,
            threads=1,
            status=status or told,
            ending="finished",
            tel=tel,
            lower_bound=bound,
            found_by=method,
            bound_source=source,
            seconds=1.5,
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
            document["digest"] = digest(entries)
        self.path.write_text(json.dumps(document))

    def proof(self, kind: str) -> Path:
        """The schedule (``schedules``) or the certificate (``bounds``) of ``four``."""
        return self.folder / "best_known" / kind / "four.json"


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    """An empty store and no registry."""
    return Sweep(tmp_path)


@pytest.fixture
def proved(sweep: Sweep) -> Sweep:
    """``four`` proved by two engines, ``pair`` by its volumes."""
    sweep.run(FOUR, "cpsat:cpsat", OPTIMAL, 12, "CP-SAT")
    sweep.run(FOUR, "highs:ilp", OPTIMAL, 12, "HiGHS", day=2)
    sweep.run(PAIR, "svf", [0, 1], 3, "volumes")
    assert sweep.merge() == 0
    return sweep


#: Prices on memory that prove more than the volumes of ``four`` (10): their sum is 10.45.
PRICES = {"kind": "prices", "value": 11, "denominator": 20, "memory": [0, 6, 0, 12, 1]}


def test_an_optimum_by_two_engines(proved: Sweep) -> None:
    """The entry names schedule, bound, both proofs, the best certified bound and the history."""
    entry = proved.entry()
    assert entry["opt"] is True
    assert entry["reason"] == "two engines' words: cpsat:cpsat and highs:ilp"
    assert (entry["upper"]["value"], entry["lower"]["value"]) == (12, 12)
    assert [proof["method"] for proof in entry["proofs"]] == ["cpsat:cpsat", "highs:ilp"]
    assert entry["lower"].get("certificate") is None
    assert entry["certified"]["value"] == volume_bound(FOUR)
    assert entry["history"]["upper"] == [
        {"value": 12, "method": "cpsat:cpsat", "date": "2026-11-01"}
    ]
    # Each of pair holds 3 token-rounds of 3: completions at 1 and 2 at the earliest.
    pair = "proved by its files (volumes), as by construction"
    assert proved.entry("pair")["reason"] == pair


def test_words_do_not_pass_as_proved(proved: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    """Two proofs that anyone could have typed in: counted apart, named, and an exit code apart."""
    for proof in proved.entry()["proofs"]:
        assert set(proof) <= {"value", "method", "source", "date", "seconds", "seed", "solver"}
    assert proved.check() == 3
    out, err = capsys.readouterr()
    assert "2 optimal (1 proved by their files, 1 by words only)" in out
    assert "1 by words only" in out.rpartition("best bounds:")[2]
    assert err == (
        "python -m kvopt.best_known: four: NOT PROVED: two engines' words: cpsat:cpsat and "
        "highs:ilp\n"
    )


def test_a_forged_optimum_does_not_pass_as_proved(sweep: Sweep) -> None:
    """An open entry that is given an optimum, two proofs and a new digest is not called proved."""
    sweep.run(FOUR, "svf", WORSE, None)
    assert sweep.merge() == 0
    assert sweep.check() == 0

    def forge(entry: dict[str, Any]) -> None:
        # TEL 13; the optimum is 12.
        proof: dict[str, Any] = {"value": 13, "date": "2026-11-01", "seconds": 1.0, "seed": 0}
        proofs = [
            proof | {"method": "cpsat:cpsat", "source": "CP-SAT"},
            proof | {"method": "highs:ilp", "source": "HiGHS"},
        ]
        reason = decide(FOUR, 13, 13, [Value(**each) for each in proofs], ("volumes", 10)).reason
        step = {"value": 13, "method": "cpsat:cpsat", "date": "2026-11-01"}
        entry["history"]["lower"].append(step)
        entry.update(
            opt=True, reason=reason, certified=entry["lower"], lower=proofs[0], proofs=proofs
        )

    sweep.edit(forge)
    assert sweep.check() == 3


def _prove(sweep: Sweep, *more: str) -> int:
    work = sweep.folder.parent / "trees"
    return prove.main(["--folder", str(sweep.folder), "--work", str(work), *more])


def test_words_become_a_certificate(proved: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    """A tree takes the place of the words, value and history stay, and later merges keep it."""
    before = proved.entry()
    assert _prove(proved) == 0
    entry = proved.entry()
    assert entry["reason"] == "proved by its files (tree), as by cpsat:cpsat and highs:ilp"
    assert (entry["lower"]["value"], entry["lower"]["method"]) == (12, "tree")
    assert all(entry[key] == before[key] for key in ("opt", "upper", "history", "proofs"))
    assert proved.check() == 0
    assert "2 optimal (2 proved by their files, 0 by words only)" in capsys.readouterr().out
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
    sweep.run(FOUR, "highs:ilp", WORSE, 13, "HiGHS")
    assert sweep.merge() == 0
    assert _prove(sweep) == 1
    assert "may have a lower TEL" in capsys.readouterr().err
    assert sweep.entry()["lower"]["method"] == "cpsat:cpsat"
    assert _prove(sweep, "five") == 2


def test_the_file_is_valid_by_its_schema(proved: Sweep) -> None:
    """An independent reader of JSON Schema accepts what is written."""
    schema = json.loads((proved.folder / "best_known.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(proved.path.read_text()), schema)


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
    assert sweep.merge("--check") == 0
    assert sweep.merge() == 0
    entry = sweep.entry()
    assert (entry["upper"]["value"], entry["lower"]["value"]) == (12, 11)
    assert [step["value"] for step in entry["history"]["upper"]] == [13, 12]
    assert entry["history"]["upper"][1] == {
        "value": 12,
        "method": "cpsat:cpsat",
        "date": "2026-11-03",
    }
    assert (entry["opt"], entry["reason"]) == (False, "open")


def test_an_equal_value_does_not_replace_an_older_one(proved: Sweep) -> None:
    """Who reached it first keeps it."""
    proved.run(FOUR, "search", OPTIMAL, 12, "search", day=9)
    assert proved.merge() == 0
    entry = proved.entry()
    assert (entry["upper"]["method"], entry["lower"]["method"]) == ("cpsat:cpsat", "cpsat:cpsat")
    assert [proof["method"] for proof in entry["proofs"]] == ["cpsat:cpsat", "highs:ilp", "search"]


def test_a_lying_bound_aborts_loudly(proved: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    """A bound above a checked schedule names both; nothing is written, however good the rest is."""
    proved.run(FOUR, "highs:ilp-strong", WORSE, 13, "HiGHS", day=5)
    before = proved.path.read_bytes()
    assert proved.merge() == 5
    told = capsys.readouterr().err
    assert "four: lower bound 13 (highs:ilp-strong, HiGHS, 2026-11-05) exceeds" in told
    assert "the checked TEL 12 (cpsat:cpsat, 2026-11-01)" in told
    assert proved.path.read_bytes() == before


def test_a_better_schedule_exposes_an_old_lie(
    sweep: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    """13 was "proved" by two engines; the schedule of 12 shows that both are wrong."""
    sweep.run(FOUR, "cpsat:cpsat", WORSE, 13, "CP-SAT")
    sweep.run(FOUR, "highs:ilp", WORSE, 13, "HiGHS")
    assert sweep.merge() == 0
    assert sweep.entry()["opt"] is True
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
    assert "wrong: lower bound 13 (construction" in capsys.readouterr().err
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
    assert lower["certificate"] == "bounds/four.json"
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
    assert sweep.entry()["lower"]["certificate"] == "bounds/four.json"
    assert sweep.check() == 0


def test_a_sweep_that_takes_too_long_is_one_note(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is left out with a line; schedule and claimed bound of the same run are taken."""
    monkeypatch.setattr(swept, "MOST_ROWS", 10)
    certificate = {"kind": "sweep", "value": 12, "multipliers": [0, 0]}
    sweep.run(FOUR, "auto", OPTIMAL, 12, "search", certificate=certificate)
    assert sweep.merge() == 0
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if "takes more than 10 rows" in line] == told[:1]
    entry = sweep.entry()
    assert (entry["upper"]["value"], entry["lower"]["value"]) == (12, 12)
    assert entry["certified"]["method"] == "volumes"


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
        assert sweep.merge() == 1
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
    assert "certified" not in entry
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
        (2, "lower bound 3 (volumes, volumes, 2026-11-01) exceeds the optimum by construction, 2"),
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
    [
        (lambda e: e["upper"].update(value=11), "TEL 12, the entry says 11"),
        (
            lambda e: e["lower"].update(value=13),
            "lower bound 13 (cpsat:cpsat, CP-SAT, 2026-11-01) exceeds the checked TEL 12",
        ),
        (lambda e: e["lower"].update(value=11), "opt True (two engines' words"),
        (lambda e: e["certified"].update(value=12), "the entry says 12"),
        (lambda e: e.update(opt=False), "opt False"),
        (lambda e: e.update(proofs=e["proofs"][:1]), "one witness only: cpsat:cpsat"),
        (
            lambda e: e["proofs"][1].update(method="cpsat:cpsat-time", source="CP-SAT"),
            "one witness only: cpsat:cpsat, cpsat:cpsat-time",
        ),
        (lambda e: e["proofs"][1].update(method="svf"), "expected a method of an engine"),
        (lambda e: e["proofs"][0].update(source="prices"), "by the engine's own search"),
        (lambda e: e["history"]["upper"].clear(), "history does not end with 12"),
        (
            lambda e: e["history"]["upper"].insert(0, e["history"]["upper"][0]),
            "does not improve at every step",
        ),
        (lambda e: e.update(n=5), "the library ('four'"),
        (lambda e: e.update(sha256="0" * 64), "the library has no instance of this hash"),
        (lambda e: e["upper"].update(certificate="schedules/pair.json"), "another instance"),
        (lambda e: e["upper"].update(certificate="schedules/x.json"), "cannot be read"),
    ],
)
def test_a_careful_lie_is_found(
    proved: Sweep, edit: Edit, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even with a new digest, no value, proof or flag can be changed unnoticed."""
    proved.edit(edit)
    assert proved.check() == 1
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "path",
    ["../../x.json", "/etc/x.json", "schedules/../../x.json", "schedules/x\n.json", "x.json"],
)
def test_a_proof_outside_the_folder_is_not_opened(
    proved: Sweep, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An entry names files of its own folder only; whoever reads the registry refuses others."""
    text = proved.path.read_text().replace('"schedules/four.json"', json.dumps(path))
    proved.path.write_text(text)
    assert proved.check() == 1
    assert "certificate" in capsys.readouterr().err
    with pytest.raises(ValueError, match="certificate"):
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


def test_a_file_left_over_is_named(proved: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing lies in the registry's folder that no entry refers to."""
    (proved.folder / "best_known" / "schedules" / "old.json").write_text("{}")
    assert proved.check() == 1
    assert "best_known/schedules/old.json: no entry refers to it" in capsys.readouterr().err


def test_a_stale_schema_is_named(proved: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON Schema belongs to the registry."""
    (proved.folder / "best_known.schema.json").write_text("{}")
    assert proved.check() == 1
    assert "best_known.schema.json: stale" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("methods", "pair"),
    [
        (["cpsat", "highs:ilp"], ("cpsat", "highs:ilp")),
        (["highs:ilp", "cpsat:cpsat-time"], ("highs:ilp", "cpsat:cpsat-time")),
        # The search has its windows and groups from where the integer programs have theirs.
        (["search", "highs:ilp"], None),
        (["search", "cpsat:cpsat-time"], ("search", "cpsat:cpsat-time")),
        (["cpsat:cpsat-strong", "highs:ilp"], None),
        # One solver is one witness, whatever the models.
        (["cpsat", "cpsat:cpsat-time"], None),
        (["highs:ilp", "highs:ilp-sparse"], None),
        (["cpsat"], None),
        ([], None),
    ],
)
def test_independent_pairs(methods: list[str], pair: tuple[str, str] | None) -> None:
    """Two engines are two witnesses only with other solvers and no model code in common."""
    found = independent_pair([engine_witness(method, 12) for method in methods])
    assert (found and tuple(each.name for each in found)) == pair


def _proof(method: str) -> Value:
    return Value(12, method, "search", "2026-11-01", 1.0)


def test_the_rule() -> None:
    """Each way in which a value counts as the optimum, and those in which it does not."""
    bare = read_certificate({"kind": "volumes", "value": 12})
    grouped = read_certificate({"kind": "prices", "value": 12, "upper_bound": 12})
    patterns = read_certificate({"kind": "patterns", "value": 12})
    tree = read_certificate({"kind": "tree", "value": 12})
    weak = read_certificate({"kind": "volumes", "value": 11})
    known = Instance("known", 5, FOUR.requests, known_optimum=12, known_optimum_reason="r")
    cases = [
        (FOUR, 11, ["cpsat", "highs:ilp"], bare, (False, "open")),
        (FOUR, 12, [], bare, (False, "one witness only: certificate: volumes")),
        (FOUR, 12, ["cpsat"], bare, (True, "proved by its files (volumes), as by cpsat")),
        # Certificate and integer program take their windows from one file.
        (FOUR, 12, ["highs:ilp"], bare, (False, "one witness only: highs:ilp, certificate")),
        (FOUR, 12, ["cpsat", "highs:ilp"], weak, (True, "two engines' words: cpsat and highs:ilp")),
        (FOUR, 12, ["cpsat", "highs:ilp"], tree, (True, "proved by its files (tree), as by cpsat")),
        # A tree shares no code with any model.
        (FOUR, 12, ["search"], tree, (True, "proved by its files (tree), as by search")),
        (FOUR, 12, ["cpsat"], weak, (False, "one witness only: cpsat")),
        (FOUR, 12, [], grouped, (False, "one witness only: certificate: prices")),
        (FOUR, 12, [], patterns, (False, "one witness only: certificate: patterns")),
        # The evaluation of prices and cpsat have the separation of pairs in common.
        (FOUR, 12, ["cpsat"], patterns, (False, "one witness only: cpsat, certificate: patterns")),
        (known, 12, ["cpsat"], weak, (True, "construction and the word of cpsat")),
        (known, 12, [], grouped, (True, "proved by its files (prices), as by construction")),
        (known, 12, [], weak, (False, "by construction alone")),
    ]
    for instance, lower, methods, certificate, (opt, reason) in cases:
        proved = certificate.kind, certificate.value
        verdict = decide(instance, 12, lower, [_proof(method) for method in methods], proved)
        assert (verdict.opt, verdict.reason[: len(reason)]) == (opt, reason)


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


def test_no_committed_value_rests_on_words() -> None:
    """They are proved anew in the wheel: tests/test_wheel.py, best-known --check."""
    registry = read_registry()
    assert registry is not None
    assert [entry.instance for entry in registry.instances if entry.on_words] == []


def test_certificates_survive_a_round_trip() -> None:
    """What is written is what is read."""
    certificate = read_certificate(PRICES)
    assert read_certificate(certificate_document(certificate)) == certificate
