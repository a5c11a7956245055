"""Proofs of the registry: when two make an optimum, and how they are made and made again."""

import re
from types import SimpleNamespace

import pytest

from formulations.certificates.certificate_file import read_certificate
from instances import Instance
from instances.instance_names import FOLDER
from kvopt.best_known import rerun_proofs
from kvopt.best_known.claims import proof_of
from kvopt.best_known.proved_entry import decide
from kvopt.best_known.registry_files import read_entries
from kvopt.methods import fingerprint
from kvopt.methods.fingerprint import proof_fingerprint
from kvopt.methods.grammar import read_method
from kvopt.methods.witness import certificate_witness, engine_witness, made_by
from schedules.evidence import CERTIFICATE, CONSTRUCTION, ProofArgument, Witness
from support.project_root import ROOT
from tests.kvopt.best_known.registry import FOUR, OPTIMAL, SWEEP, Sweep, proof_by
from tests.kvopt.sweep_tools import Capture, Patch


def test_the_page_has_all_independent_proofs() -> None:
    """Its table names each pair of the registry's proofs that shares neither code nor argument."""
    page = (ROOT / "docs" / "best_known.md").read_text(encoding="utf-8")
    lines = page.partition("| proof | independent proofs |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [[re.findall("`(.*?)`", cell) for cell in row.split("|")] for row in lines.split("\n")]
    told = {proof: set(others) for _, proofs, others, _ in rows for proof in proofs}
    made = {each: _witness(each) for each in set(told).union(*told.values())}
    found = {one: {each for each in made if made[one].independent(made[each])} for one in told}
    assert found == told
    assert {
        proof.method for each in read_entries(FOLDER).values() for proof in each.proofs
    } <= told.keys()


def _witness(name: str) -> Witness:
    if name == CONSTRUCTION:
        return Witness(name, 1, name, frozenset(), ProofArgument.AREA)
    kind = name.removeprefix(CERTIFICATE)
    return engine_witness(name, 1) if kind == name else certificate_witness(kind, 1)


def test_the_rule() -> None:
    """Each way in which a value counts as the optimum, and those in which it does not."""
    bare = read_certificate({"kind": "volumes", "value": 12})
    grouped = read_certificate({"kind": "prices", "value": 12, "upper_bound": 12})
    sweep = read_certificate({"kind": "sweep", "value": 12})
    weak = read_certificate({"kind": "volumes", "value": 11})
    known = Instance("known", 5, FOUR.requests, known_optimum=12, known_optimum_reason="r")
    cpsat, highs = ["cpsat:cpsat"], ["highs:ilp"]
    of_cpsat = "solver-reported by cpsat:cpsat"
    cases = [
        (FOUR, 11, cpsat + highs, bare, "open"),
        (FOUR, 12, [], bare, "one proof only: certificate: volumes"),
        (FOUR, 12, cpsat, bare, f"certified (volumes), {of_cpsat}"),
        # Certificate and integer program take their windows from one file.
        (FOUR, 12, highs, bare, "one proof only: highs:ilp, certificate"),
        (FOUR, 12, cpsat + highs, weak, f"{of_cpsat} and highs:ilp"),
        (FOUR, 12, cpsat + highs, sweep, f"certified (sweep), {of_cpsat}"),
        (FOUR, 12, ["search"], sweep, "certified (sweep), solver-reported by search"),
        (FOUR, 12, cpsat, weak, "one proof only: cpsat:cpsat"),
        (FOUR, 12, [], grouped, "one proof only: certificate: prices"),
        # The evaluation of prices and cpsat have the separation of pairs in common.
        (FOUR, 12, cpsat, grouped, "one proof only: cpsat:cpsat, certificate: prices"),
        (known, 12, cpsat, weak, f"by construction, {of_cpsat}"),
        (known, 12, [], grouped, "certified (prices), by construction"),
        (known, 12, [], weak, "by construction alone"),
    ]
    for instance, lower, methods, certificate, reason in cases:
        proved = certificate.kind, certificate.value
        verdict = decide(instance, 12, lower, [proof_by(method) for method in methods], proved)
        shown = not reason.startswith(("open", "one proof", "by construction alone"))
        assert verdict.opt == shown
        assert verdict.reason.startswith(reason)


@pytest.mark.slow("walks")
def test_a_stale_proof_is_run_again(proved: Sweep, monkeypatch: Patch, capsys: Capture) -> None:
    """One that fails stays stale, and is dropped once the certificate and one of today suffice."""
    proved.run(FOUR, "auto", OPTIMAL, 12, "search", certificate=SWEEP, day=3)
    assert (proved.merge(), proved.check()) == (0, 0)
    proved.edit(lambda entry: [each.update(made_by="0" * 16) for each in entry["proofs"]])
    assert proved.check() == 3
    told, stale = proved.err, "four: STALE: the proof of {} was made by other sources"
    arguments, methods = ["--folder", str(proved.folder), "--stale"], ["cpsat:cpsat", "highs:ilp"]
    assert all(stale.format(method) in told for method in methods)
    for held in ([], methods[:1]):
        monkeypatch.setattr(
            rerun_proofs,
            "proof_of",
            lambda ran, held=held: proof_of(ran) if ran.record.method in held else None,
        )
        assert rerun_proofs.main(arguments) == 1
        assert "NOT PROVED: optimal, TEL 12, bound 12" in capsys.readouterr().out
        assert proved.check() == (0 if held else 3)
        proofs = proved.entry()["proofs"]
        assert [each["method"] for each in proofs] == (held or methods)
    assert [each["made_by"] for each in proofs] == [made_by("cpsat:cpsat")]
    assert rerun_proofs.main(arguments) == 0


def test_ctrl_c_drops_no_proof(proved: Sweep, monkeypatch: Patch) -> None:
    """The command ends with 130, though a certificate and another proof would suffice."""
    proved.run(FOUR, "auto", OPTIMAL, 12, "search", certificate=SWEEP, day=3)
    assert proved.merge() == 0
    proved.edit(lambda entry: entry["proofs"][0].update(made_by="0" * 16))
    before = proved.entry()
    ran = SimpleNamespace(record=SimpleNamespace(ending="interrupted", lower_bound=None))
    ran.record.method = ran.record.bound_source = ""
    monkeypatch.setattr(rerun_proofs, "execute", lambda _: ran)
    assert rerun_proofs.main(["--folder", str(proved.folder), "--stale"]) == 130
    assert proved.entry() == before


def test_one_more_proof_by_name(sweep: Sweep, capsys: Capture) -> None:
    """A method is run on an instance and entered; a team, or no instance, is bad usage."""
    sweep.run(FOUR, "svf", OPTIMAL)
    assert sweep.merge() == 0
    arguments = ["--folder", str(sweep.folder), "--by"]
    assert rerun_proofs.main([*arguments, "search:counts", "four"]) == 0
    assert [each["method"] for each in sweep.entry()["proofs"]] == ["search:counts"]
    assert rerun_proofs.main([*arguments, "highs", "four"]) == 2
    assert "expected SOLVER:FORMULATION" in capsys.readouterr().err
    assert rerun_proofs.main([*arguments, "search:counts"]) == 2
    assert rerun_proofs.main([*arguments, "search:counts", "five"]) == 2


def test_a_digest_changes_with_the_solver(monkeypatch: Patch) -> None:
    """Another version of HiGHS makes a proof stale."""
    method = read_method("highs:ilp")
    before = proof_fingerprint(method)
    monkeypatch.setattr(fingerprint, "_version", lambda name: "0.0.1" if name == "highspy" else "")
    assert proof_fingerprint(method) != before
