"""The ablation: a suite, and a page that is a function of its rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from formulations.formulation_registry import RELAXED, formulations
from kvopt.commands import evaluate
from kvopt.methods.option_values import format_formulation, read_formulation
from kvopt.runs.row_columns import Record
from kvopt.store.row_files import read_rows as stored_rows
from kvopt.suites import SuiteError, load, read_suite
from kvopt.suites.suite import SWITCHES
from reports.ablation import page
from tests.reports.synthetic import record


def _row(section: str, instance: str, method: str, **changed: Any) -> Record:
    fields = {"section": section, "instance": instance, "method": method, "n": 8, "code": "c"}
    fields |= {"time_limit": 30.0, "threads": 2, "tel": 100, "lower_bound": 100}
    fields |= {"total_seconds": 1.0, "peak_memory": 100_000_000} | changed
    proved = fields["tel"] == fields["lower_bound"]
    return record(**{"status": "optimal" if proved else "feasible"} | fields)


PLAIN = (
    _row("proofs-8", "a", "highs:ilp", tel=200, lower_bound=100, total_seconds=30.2),
    _row("proofs-8", "a", "cpsat:cpsat", tel=160, lower_bound=160, total_seconds=3.0),
    _row("bounds", "b", "highs:ilp(relaxed=yes)", n=45, tel=50, lower_bound=30, total_seconds=2.0),
)


def _cells(folder: Path, start: str) -> dict[str, list[str]]:
    lines = (folder / "ABLATION.md").read_text(encoding="utf-8").splitlines()
    return {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
        for line in lines
        if line.startswith(start)
    }


def test_numbers_by_hand(write: Callable[..., Path]) -> None:
    """Bounds are shares of the best TEL; an unproved run counts with its limit."""
    folder = write(*PLAIN)
    assert page.main([]) == 0
    text = (folder / "ABLATION.md").read_text(encoding="utf-8")
    # 100 of the best TEL 160 is 62.5 %; the 30.2 s without a proof count as 30.
    lines = _cells(folder, "| `")
    assert lines["`ilp`"][:4] == ["1", "62.5", "0", "30.00"]
    assert lines["`cpsat`"][:4] == ["1", "100.0", "1", "3.00"]
    assert lines["`ilp(relaxed=yes)`"][:3] == ["1", "60.0", "2.00"]
    assert "## Bounds, n = 45\n" in text
    assert "## Proofs, n = 8\n" in text


_OF = "switches-of-ilp"
_CUT = "highs:ilp"
_BASE = f"{_CUT}(groups=yes)"
_LIMIT: dict[str, Any] = {"time_limit": 60.0}
_OPEN: dict[str, Any] = _LIMIT | {"status": "feasible"}
_LONG: dict[str, Any] = {"total_seconds": 60.1, "peak_memory": 400_000_000}
SWITCHED = (
    _row(_OF, "d", _BASE, **_LIMIT, total_seconds=4.0, nodes=50, relaxation=90.0),
    _row(_OF, "e", _BASE, **_LIMIT, total_seconds=1.0, nodes=100),
    _row(_OF, "d", _CUT, **_OPEN, **_LONG, lower_bound=95, nodes=900),
    _row(_OF, "e", _CUT, **_LIMIT, total_seconds=15.0, nodes=200),
    # Only the relaxation: no rows of the tables, but the LP bounds of the programs above.
    _row(_OF, "e", f"{_CUT}(groups=yes,relaxed=yes)", **_OPEN, relaxation=80.0),
    _row(_OF, "d", _CUT + "(relaxed=yes)", **_OPEN, relaxation=85.0),
    _row(_OF, "e", _CUT + "(relaxed=yes)", **_OPEN, relaxation=75.0),
)


def test_factors_by_hand(write: Callable[..., Path]) -> None:
    """Factors are geometric means of ratios on the same instance; open runs mark them."""
    folder = write(*PLAIN, *reversed(SWITCHED))
    page.main([])
    lines = _cells(folder, "| `ilp")
    # Shifted mean of 4 and 1: sqrt(5 · 2) − 1.  LP bounds: one of the row itself, one of the run
    # that solved the relaxation only.
    assert lines["`ilp(groups=yes)`"] == ["2", "2", "2.16", "1", "1", "1", "85.0", "100.0"]
    # Seconds: 60/4 and 15/1, so 15, and at least that, since one run ended at its limit.  Nodes
    # only on e: 200/100.  Memory: sqrt(4 · 1).  Mean seconds: sqrt(61 · 16) − 1.
    cut = ["2", "1", "30.24", "≥ 15.00", "2.00", "2.00", "80.0", "97.5"]
    assert lines["`ilp`"] == cut


def test_open_runs_as_it_is_turn_the_sign(write: Callable[..., Path]) -> None:
    """Where the formulation as it is has no proof, the factor of seconds is an upper one."""
    open_end = _row(_OF, "d", _BASE, **_OPEN, lower_bound=90, total_seconds=60.0)
    strong = ("switches-of-cpsat-strong", "d", "cpsat:cpsat-strong")
    other = _row(*strong, **_OPEN, lower_bound=90, total_seconds=60.0)
    without = _row(*strong[:2], f"{strong[2]}(groups=no)", **_LIMIT, total_seconds=2.0)
    folder = write(*PLAIN, open_end, *SWITCHED[1:], other, without)
    page.main([])
    text = (folder / "ABLATION.md").read_text(encoding="utf-8")
    # Both forms have open runs; d: 60/60, e: 15/1.
    assert " ~ 3.87 |" in text
    # 2/60.
    assert " ≤ 0.03 |" in text


def test_the_root_bound_is_the_lp_bound_of_a_search(write: Callable[..., Path]) -> None:
    """Also where an engine states a relaxation: what its prices proved first is compared."""
    found = {"root_bound": 94, "relaxation": 99.0}
    folder = write(_row("switches-of-sweep", "d", "search:sweep", **_LIMIT, **found))
    page.main([])
    assert _cells(folder, "| `sweep")["`sweep`"][-2:] == ["94.0", "100.0"]


def test_the_last_row_of_a_run_counts(write: Callable[..., Path]) -> None:
    """A store may hold runs of earlier sources, and other suites' rows."""
    early = _row("proofs-8", "a", "cpsat:cpsat", total_seconds=9.0, finished_utc="2025-01-01")
    late = _row("proofs-8", "a", "cpsat:cpsat", total_seconds=3.0, finished_utc="2026-01-01")
    folder = write(late, early, _row("policies", "a", "svf"))
    page.main([])
    assert _cells(folder, "| `")["`cpsat`"][:4] == ["1", "100.0", "1", "3.00"]


def test_bad_usage(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown option, no rows at all, and rows of another suite: exit 2."""
    assert page.main(["--chekc"]) == 2
    assert page.main([]) == 2
    write(_row("policies", "a", "svf"))
    assert page.main([]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[2].endswith("rows.csv: expected rows of the suite ablation, found none")


def test_every_switch_is_in_the_suite() -> None:
    """Each yes-or-no option of a formulation stands in the section of its formulation, turned."""
    sections = {
        section.name: [method.text for method in section.methods]
        for section in read_suite("ablation").sections
    }
    for name, formulation in formulations().items():
        switches = (each for each in formulation.options if isinstance(each.default, bool))
        own = [option for option in switches if option != RELAXED]
        if not own or name == "cpsat":
            continue
        found = [method.partition(":")[2] for method in sections[f"switches-of-{name}"]]
        base = read_formulation(found[0])[1]
        for option in own:
            value = not base.get(option.name, option.default)
            assert format_formulation(formulation, base | {option.name: value}) in found
        if formulation.kind == "mip":
            assert format_formulation(formulation, base | {RELAXED.name: True}) in found
    assert "cpsat:cpsat(separation=no)" in sections["switches-of-cpsat-strong"]


def test_the_committed_rows_are_the_runs_of_the_suite() -> None:
    """Each run of it, by section, method, name and hash of the instance, and no other."""
    rows = stored_rows(page.ROWS)
    runs = [
        (section.name, method.text, loaded.name, loaded.instance.sha256)
        for section in read_suite("ablation").sections
        for loaded in map(load, section.sources)
        for method in section.methods
        if loaded.instance is not None
    ]
    columns = [rows[key] for key in ("section", "method", "instance", "instance_sha256")]
    assert sorted(zip(*columns, strict=True)) == sorted(runs)


_SMALL = """
summary = "The way of the ablation's rows, in seconds."
[[section]]
name = "switches-of-ilp"
instances = ["tiny/shortest_first_not_optimal.json"]
methods = ["highs:ilp(groups=yes)", "highs:ilp(groups=yes,relaxed=yes)"]
time_limit = 40
"""


@pytest.mark.slow("walks")
def test_from_the_sweep_to_the_page(write: Callable[..., Path]) -> None:
    """evaluate.py measures and exports; the page joins the relaxation with its program."""
    folder = write()
    suite = folder / "small.toml"
    suite.write_text(_SMALL, encoding="utf-8")
    store = str(folder / "runs.sqlite")
    assert evaluate.main([str(suite), "--store", store, "--export", str(page.ROWS)]) == 0
    assert page.main([]) == 0
    # The best TEL is 12, the relaxation's value 11.5 with window groups.
    (program,) = _cells(folder, "| `ilp(groups=yes)").values()
    assert float(program[-2].rstrip("%")) > 90
    assert program[-1] == "100.0"


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("switches of search:nothing", "unknown formulation 'nothing'"),
        ("switches of search", "expected a name"),
        ("switches of cpsat:cpsat-strong(equals=no)", "'equals'; did you mean equal"),
    ],
)
def test_bad_switches_are_named(entry: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        f'summary = "x"\n[[section]]\nname = "s"\nmethods = ["{entry}"]\n'
        'instances = ["tiny/handover.json"]\n'
    )
    with pytest.raises(SuiteError, match=f"section 's', methods: .*{told}") as caught:
        read_suite(path)
    assert "\n" not in str(caught.value)
    assert entry.startswith(SWITCHES)
