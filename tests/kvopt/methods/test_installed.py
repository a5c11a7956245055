"""Methods of installed packages: found by their entry points, nothing imported for it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvopt.commands.listing import listing
from kvopt.methods.grammar import MethodError, read_method
from kvopt.methods.installed import installed_methods

POLICY = '''\
"""Longest output first, by a weight that changes nothing."""
from heuristics.policy import ListPolicy, Parameter

def rank(known):
    return (-known.outputs * known.values["beta"],)

POLICY = ListPolicy("longest", rank=rank, parameters=(Parameter("beta", 1, 1, 10, "weight"),))
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package that ends whoever imports it, as pip would install it."""
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "__init__.py").write_text('raise SystemExit("imported")\n')
    (tmp_path / "acme" / "longest.py").write_text(POLICY)
    told = tmp_path / "acme-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(
        "[kvopt.methods]\nacme-longest = acme.longest\nacme-gone = acme.gone\nsvf = acme.longest\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    installed_methods.cache_clear()
    yield tmp_path / "acme" / "longest.py"
    installed_methods.cache_clear()


def test_a_name_stands_for_its_file(package: Path) -> None:
    """With its parameters; a name of the project's own stays what it is."""
    method = read_method("acme-longest(beta=2)")
    assert (method.text, method.path) == ("file:longest.py(beta=2)", package)
    assert read_method("svf").kind == "policy"
    assert "acme" not in sys.modules
    assert f"of an installed package: {package}" in listing()


def test_what_leads_nowhere_is_no_method(package: Path) -> None:
    """An entry point without a module is left out, and a misspelt name is told the nearest."""
    assert package in installed_methods().values()
    assert "acme-gone" not in installed_methods()
    with pytest.raises(MethodError, match="did you mean acme-longest"):
        read_method("acme-longst", among="policy")
