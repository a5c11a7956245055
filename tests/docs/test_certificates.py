"""The page on certificates: its program proves every value of the kind from the page alone."""

import json
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from instances.instance_files import instance_document
from instances.instance_names import FOLDER
from kvopt.best_known.library_and_ladder import LibraryWithLadder, library_by_hash
from kvopt.best_known.registry_files import certificate_path, read_registry
from tests.docs.pages import ROOT, blocks
from tests.kvopt.sweep_tools import Capture, Patch

PAGE = ROOT / "docs" / "certificates.md"
Check = Callable[[dict[str, Any], dict[str, Any]], int]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> Check:
    """Run the program of the page on an instance and a certificate; return what it prints."""
    (program,) = [block.text for block in blocks(PAGE) if block.file == "verify.py"]
    code = compile(program, "verify.py", "exec")
    files = [tmp_path / "instance.json", tmp_path / "certificate.json"]
    monkeypatch.setattr(sys, "argv", ["verify.py", *map(str, files)])

    def run(*documents: dict[str, Any]) -> int:
        for file, document in zip(files, documents, strict=True):
            file.write_text(json.dumps(document), encoding="utf-8")
        exec(code, {"__name__": "__main__"})
        return int(capsys.readouterr().out)

    return run


def _proofs() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return instance and certificate of each entry whose certificate has prices."""
    registry, library = read_registry(), LibraryWithLadder(library_by_hash())
    assert registry is not None
    found = {}
    for entry in registry.instances:
        if entry.certified.certificate == "prices":
            path = FOLDER / "best_known" / certificate_path(entry.instance)
            instance = instance_document(library[entry.sha256].instance)
            found[entry.instance] = instance, json.loads(path.read_text(encoding="utf-8"))
    return found


def test_the_program_proves_every_value(check: Check) -> None:
    """Exactly the stated one, with groups and start windows among them; nothing else is needed."""
    proofs = _proofs()
    assert {name: check(*pair) for name, pair in proofs.items()} == {
        name: proof["value"] for name, (_, proof) in proofs.items()
    }
    certificates = [proof for _, proof in proofs.values()]
    assert len(certificates) >= 30
    assert sum("groups" in proof for proof in certificates) >= 5
    assert sum("upper_bound" in proof for proof in certificates) >= 5


def test_the_program_sees_what_is_forged(check: Check) -> None:
    """A window that is a round longer is refused; another price or bound gives another value."""
    instance, proof = _proofs()["tiny_equal_pair"]
    for change in (1, 2):
        forged = deepcopy(proof)
        forged["groups"][0]["members"][0][change] += 1
        with pytest.raises(AssertionError):
            check(instance, forged)
    forged = deepcopy(proof)
    forged["groups"][0]["prices"].append(1000)
    assert check(instance, forged) < proof["value"]
    forged["groups"][0]["members"][1] = forged["groups"][0]["members"][0]
    for refused in (forged, proof | {"lookahead": [{}]}):
        with pytest.raises(AssertionError):
            check(instance, refused)


@pytest.mark.parametrize(
    "forged",
    [
        {"memory": [-1000]},
        {"memory": [0.5]},
        {"denominator": -1, "memory": [0, 100]},
        {"groups": [{"most": 1, "members": [[0, 0, 3], [-1, 0, 3]], "prices": [1]}]},
        {"groups": [{"most": 0, "members": [[0, 0, 1], [1, 0, 1]], "prices": [1]}]},
        {"groups": [{"most": 1, "members": [[0, 0, 1], [1, 0, 1]], "prices": [-1]}]},
    ],
)
def test_the_program_takes_no_number_below_0(forged: dict[str, Any], check: Check) -> None:
    """Nobody holds a token at time 0, so a multiplier below 0 there would prove any value."""
    instance, _ = _proofs()["tiny_equal_pair"]
    with pytest.raises(AssertionError):
        check(instance, {"kind": "prices", "value": 1000} | forged)
