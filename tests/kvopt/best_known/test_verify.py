"""The check of the registry's files: every lie in them is found."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import TypeAdapter

from formulations.certificates.certificate_file import read_certificate
from formulations.certificates.reader_budget import CertificateError
from instances import write_instance
from instances.instance_names import FOLDER
from kvopt.best_known import known_values, proved_entry, read_registry
from kvopt.best_known.library_and_ladder import LibraryWithLadder, library_by_hash
from kvopt.best_known.proved_entry import ProvedEntry, decide
from kvopt.best_known.registry_entry import OptimumProof
from kvopt.best_known.registry_files import (
    PROOFS,
    certificate_path,
    format_registry,
    read_certificate_file,
    schedule_path,
)
from kvopt.best_known.registry_verification import faults, missing, read_all
from schedules.schedule_files import read_schedule
from support.input_files import LARGEST_PROOF
from tests.kvopt.best_known.registry import (
    FOUR,
    LIBRARY,
    PRICES,
    WORSE,
    Edit,
    Sweep,
    evaluations,
    proof_by,
)
from tests.kvopt.sweep_tools import Patch
from tests.tiers import spread

#: Bytes of a certificate whose evaluation takes a second at most, or a few.
SHORT = 10_000


def test_reports_do_not_pass_as_certified(proved: Sweep) -> None:
    """Two proofs that anyone could have typed in: counted apart, named, and an exit code apart."""
    assert proved.check() == 3
    out, err = proved.out, proved.err
    assert "1 optimal by two independent proofs (0 certified, 1 solver-reported only)" in out
    assert "1 closed by one argument only" in out
    assert "best bounds: 1 certified, 0 by construction, 1 solver-reported" in out
    assert err == (
        "python -m kvopt.best_known: four: NOT CERTIFIED: bound 12 is solver-reported by "
        "cpsat:cpsat; 10 is certified; solver-reported by cpsat:cpsat and highs:ilp\n"
    )


def test_the_values_of_an_instance_are_printed(proved: Sweep, tmp_path: Path) -> None:
    """Its gaps: 0 to the solvers' bound, (12 - 10) / 12 to the volumes; or it was not run yet."""
    write_instance(FOUR, file := tmp_path / "pair.json")
    proved.proof("bounds").with_name("pair.json").unlink()
    assert proved.show(file, "pair") == 0
    four, pair = proved.out.split("\n\n")
    assert [line.split("  ")[-1].strip().split(", method")[0] for line in four.splitlines()] == [
        "(n = 4, M = 5)",
        "(by cpsat:cpsat",
        "(gap 16.667 %",
        "(gap 0.000 %",
        "optimal: solver-reported by cpsat:cpsat and highs:ilp",
        str(proved.proof("schedules")),
        str(proved.proof("bounds")),
    ]
    assert "solver-reported" not in pair
    assert pair.strip().endswith("pair.json  (missing)")
    for command in (proved.show, proved.check):
        for name, told in (("am1_n20_seed0", "not run yet"), ("no", "no such instance")):
            assert (command(name), told in proved.err) == (1, True)
    # The same requests in seconds are another instance, with the same hash.
    write_instance(replace(FOUR, time_unit="second"), file)
    assert (proved.show(file), "no such instance" in proved.err) == (1, True)
    file.write_text(file.read_text().replace('"memory": 5', '"memory": 1'))
    assert (proved.show(file), "is infeasible" in proved.err) == (2, True)


@pytest.mark.parametrize("today", [False, True])
def test_a_forged_row_is_named(sweep: Sweep, today: bool) -> None:
    """A row rewritten as a proof of TEL 13 (the optimum is 12) is a solver's report, no more."""
    sweep.run(FOUR, "cpsat:cpsat", WORSE, 13, "CP-SAT", today=today)
    assert (sweep.merged()["standing"], sweep.check()) == ("one witness", 3)
    told = sweep.err
    assert "four: NOT CERTIFIED: bound 13 is solver-reported by cpsat:cpsat; 10 is" in told
    # Whoever forges the row can make its key, too, so nothing rests on that.
    assert ("STALE" in told) == (not today)


def test_a_forged_optimum_does_not_pass_as_certified(sweep: Sweep) -> None:
    """An open entry that is given an optimum, two proofs and a new digest is not called proved."""
    sweep.run(FOUR, "svf", WORSE, None)
    assert (sweep.merge(), sweep.check()) == (0, 0)

    def forge(entry: dict[str, Any]) -> None:
        # TEL 13; the optimum is 12.
        found = [proof_by("cpsat:cpsat", 13), proof_by("highs:ilp", 13)]
        dump = TypeAdapter(OptimumProof).dump_python
        proofs = [dump(each, exclude_none=True) for each in found]
        told = {key: value for key, value in proofs[0].items() if key != "made_by"}
        lower = told | {"kind": "solver-reported", "source": "CP-SAT", "certified": entry["lower"]}
        reason = decide(FOUR, 13, 13, found, ("volumes", 10)).reason
        step = {"value": 13, "method": "cpsat:cpsat", "date": "2026-11-01"}
        entry["history"]["lower"].append(step)
        entry.update(standing="opt", reason=reason, lower=lower, proofs=proofs)

    sweep.edit(forge)
    assert sweep.check() == 3


def test_the_file_is_valid_by_its_schema(proved: Sweep) -> None:
    """An independent reader of JSON Schema accepts what is written."""
    schema = _checked(proved.folder / "best_known.schema.json")
    jsonschema.validate(json.loads(proved.path.read_text()), schema)


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
    assert len(by_kind) == 4, "too few kinds to be a test"
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


RELAXED = "highs:ilp(relaxed=yes)"


def _name(entry: dict[str, Any], method: str) -> None:
    """Have another method found the schedule, in the history, too."""
    for part in (entry["upper"], entry["history"]["upper"][-1]):
        part["method"] = method


@pytest.mark.parametrize(
    ("edit", "told"),
    spread(
        [
            (lambda e: e["upper"].update(value=11), "and TEL 11, found TEL 12"),
            (
                lambda e: e["lower"].update(value=13),
                "lower bound 13 (cpsat:cpsat, 2026-11-01) exceeds the checked TEL 12",
            ),
            (lambda e: e["lower"]["certified"].update(value=11), "the entry says 11"),
            (lambda e: e["lower"]["certified"].update(certificate="sweep"), "of the kind volumes"),
            (lambda e: e["lower"].update(method="file:mine.py"), "it reports no bound"),
            (lambda e: e.update(standing="open"), "standing: expected opt, found open"),
            (lambda e: e.update(proofs=e["proofs"][:1]), "one proof only: cpsat:cpsat"),
            (lambda e: e["proofs"][1].update(method="cpsat:cpsat"), "proofs: expected "),
            (lambda e: e["proofs"][1].update(method="svf"), "expected a method of an engine"),
            (lambda e: e["proofs"][1].update(value=11), "proofs: expected "),
            (
                lambda e: e["history"]["upper"].insert(0, e["history"]["upper"][0]),
                "does not improve at every step",
            ),
            (lambda e: e.update(n=5), "n: expected 4, found 5"),
            (lambda e: e.update(sha256="0" * 64), "the library has no instance of this hash"),
            (lambda e: e["upper"].update(method="svf"), "not what is written of its entry"),
            (lambda e: e["upper"].update(method="construction"), "is not that of the construction"),
            (lambda e: e["proofs"][1].update(method=RELAXED), "a relaxation makes a bound"),
            (lambda e: e["proofs"][1].update(method="HIGHS:ILP"), "the method as highs:ilp"),
            (lambda e: _name(e, "foo:ilp"), "unknown solver 'foo'"),
            (lambda e: e["lower"].update(date="9999-12-31"), "9999-12-31: expected a past day"),
        ],
        3,
    ),
)
def test_a_careful_lie_is_found(proved: Sweep, edit: Edit, told: str) -> None:
    """Even with a new digest no value, proof or flag can be changed, nor to what there is not."""
    proved.edit(edit)
    assert proved.check() == 1
    assert told in proved.err


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "x\n", "a/b", ""])
def test_an_entry_leads_to_no_other_folder(proved: Sweep, name: str) -> None:
    """Its files bear the instance's name, which names no folder; who reads it refuses others."""
    text = proved.path.read_text().replace('"instance": "four"', f'"instance": {json.dumps(name)}')
    proved.path.write_text(text)
    assert proved.check() == 1
    assert "field instances.0.instance" in proved.err
    with pytest.raises(ValueError, match="instance"):
        known_values(proved.folder)


@pytest.mark.parametrize("kind", ["schedules", "bounds"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_link_out_of_the_folder_is_not_followed(proved: Sweep, kind: str, whole: bool) -> None:
    """Neither a proof nor the folder of proofs may be a link to another place."""
    path = proved.proof(kind).parent if whole else proved.proof(kind)
    elsewhere = proved.folder.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert proved.check() == 1
    assert "a link that leads out of" in proved.err


def test_an_edit_by_hand_is_found(proved: Sweep) -> None:
    """A bound that only an engine stands behind is guarded by the digest."""
    proved.edit(lambda entry: entry["lower"].update(seconds=0.1), sign=False)
    assert proved.check() == 1
    assert "edited by hand?" in proved.err
    assert proved.merge() == 1
    with pytest.raises(ValueError, match="edited by hand"):
        known_values(proved.folder)


@pytest.mark.parametrize("kind", ["schedules", "bounds"])
@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (Path.unlink, "cannot be read: No such file"),
        (lambda path: path.write_text(path.read_text()[:40]), "no valid JSON"),
        (lambda path: path.write_text(path.with_name("pair.json").read_text()), ""),
        (lambda path: os.truncate(path, LARGEST_PROOF + 1), "cannot be read: expected at most"),
    ],
)
def test_a_damaged_proof_is_named(
    proved: Sweep, kind: str, damage: Callable[[Path], object], told: str
) -> None:
    """A missing file, half a file, another instance's, and one that may fill the memory."""
    damage(proved.proof(kind))
    assert proved.check() == 1
    assert f"{kind}/four.json: {told}" in proved.err
    # Nothing is built on it either.
    assert proved.merge() == 1


def test_an_impossible_schedule_is_named(proved: Sweep) -> None:
    """A start moved by hand overfills the memory, and the checker says where."""
    path = proved.proof("schedules")
    # Requests 2 and 3 together, and 0 beside them: at time 1 they hold 2 + 2 + 2 > 5.
    path.write_text(json.dumps(json.loads(path.read_text()) | {"starts": [0, 3, 0, 0], "tel": 11}))
    assert (proved.check(), proved.check("pair"), proved.check("pair", "four")) == (1, 0, 1)
    assert "tokens are held, memory is 5" in proved.err
    assert (proved.check("five"), proved.merge("four")) == (1, 2)
    assert "expected INSTANCE, --check, --store STORE, or" in proved.err


def test_only_changed_proofs_are_evaluated_again(sweep: Sweep, monkeypatch: Patch) -> None:
    """Within one process; another certificate, or another claim, is none that was proved."""
    sweep.run(FOUR, "bound:bound-lp", WORSE, 9, "prices", certificate=PRICES)
    assert sweep.merge() == 0
    before = read_all(LIBRARY, sweep.folder)
    registry = read_registry(sweep.folder)
    assert registry is not None
    evaluated = evaluations(monkeypatch, proved_entry)
    assert not [*faults(registry, LIBRARY, sweep.folder, before)]
    assert evaluated == []
    document = json.loads(sweep.proof("bounds").read_text())
    sweep.proof("bounds").write_text(json.dumps(document | {"memory": [0] * 5}))
    assert "it proves 8 and states" in "\n".join(faults(registry, LIBRARY, sweep.folder, before))
    assert evaluated == [PRICES["value"]]


@pytest.mark.slow("repeats")
def test_the_committed_registry_has_no_fault() -> None:
    """All but long certificates are evaluated; .github/workflows/nightly.yml evaluates these."""
    registry, library = read_registry(), LibraryWithLadder(library_by_hash())
    assert registry is not None
    long = {}
    for entry in registry.instances:
        file = FOLDER / PROOFS / certificate_path(entry.instance)
        if _size(file) > SHORT:
            certificate = read_certificate_file(file, library[entry.sha256].instance)
            schedule = read_schedule(FOLDER / PROOFS / schedule_path(entry.instance))
            long[entry.sha256] = ProvedEntry(entry, schedule, certificate)
    assert len(long) < len(registry.instances) / 2
    assert list(faults(registry, library, FOLDER, long)) == []
    assert missing(registry, library_by_hash()) == []


def test_a_registry_that_lacks_an_instance_fails(proved: Sweep) -> None:
    """An empty registry proves nothing of the library, however sound what it holds."""
    proved.path.write_text(format_registry([]))
    for file in (proved.folder / "best_known").rglob("*.json"):
        file.unlink()
    assert proved.check() == 1
    told = proved.err
    assert all(f"{name}: the registry lacks this instance" in told for name in ("four", "pair"))
