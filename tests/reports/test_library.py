"""The pages of the library: every instance, open ones first, every link a file."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from kvopt.best_known import known_values, read_registry
from kvopt.best_known.registry_entry import Registry
from reports.library.__main__ import FOLDER, main, page_text
from reports.library.library_site import library_pages
from reports.library.sentence import runs
from reports.tables.library_values import difficulty, library_table
from tests.docs.followed import broken
from tests.pins import as_pinned
from tests.reports.folders import fill
from tests.reports.synthetic import frame, record


@pytest.fixture(scope="module")
def registry() -> Registry:
    found = read_registry()
    assert found is not None
    return found


@as_pinned("highspy", "numba", "ortools", "pyomo", "scipy")
def test_the_committed_page_is_fresh() -> None:
    assert main(["--check"]) == 0


def test_the_page_tells_of_what_runs_it_is(registry: Registry) -> None:
    """Each run once, with its seconds, and how many proofs are stale."""
    entry = next(each for each in registry.instances if each.proofs)
    one = replace(registry, instances=(entry,))
    values = [entry.upper, entry.lower, entry.certified, *entry.proofs]
    seconds = {(each.method, each.seconds) for each in values}
    taken = sum(each for _, each in seconds)
    shown = f"{taken:.1f} seconds" if taken < 60 else f"{taken / 60:.1f} minutes"
    told = str(runs(one))
    assert told.startswith(f"Runs: {len(seconds)}; commit ")
    assert told.endswith(f"; {shown} in all.")
    count = sum(len(each.proofs) for each in registry.instances)
    assert f"\nAll {count} proofs used the present version of " in page_text(registry, 0)
    assert (
        f"\n7 of {count} proofs used an older version of their method's code; new runs may differ. "
        in page_text(registry, 7)
    )


def test_every_instance_is_there_the_open_ones_first(registry: Registry) -> None:
    frame = library_table(registry).frame
    assert sorted(frame["sha"]) == sorted(entry.sha256 for entry in registry.instances)
    assert frame["gap"].is_monotonic_decreasing
    line = frame.iloc[0]
    assert line["gap"] == (line["upper"] - line["lower"]) / line["upper"] > 0


def test_every_link_leads_to_a_file(registry: Registry) -> None:
    links = re.findall(r"\]\(([^)]+)\)", page_text(registry, 0))
    assert len(links) > 3 * sum(each.upper.value > each.lower.value for each in registry.instances)
    assert [link for link in links if not (FOLDER / link).resolve().is_file()] == []


def test_the_sentence_is_computed(registry: Registry) -> None:
    widest, *rest = sorted(registry.instances, key=lambda e: e.lower.value / e.upper.value)
    closed = replace(widest, lower=replace(widest.lower, value=widest.upper.value))
    before, after = (
        page_text(replace(registry, instances=(*rest, each)), 0).split("\n")[2]
        for each in (widest, closed)
    )
    counts = [int(re.findall(r"(\d+) of them with UB = LB", text)[0]) for text in (before, after)]
    assert counts[1] == counts[0] + 1
    assert f"`{widest.instance}`" in before
    assert f"`{widest.instance}`" not in after


@pytest.mark.parametrize(
    ("gap", "seconds", "kind", "expected"),
    [
        (0.0, 10.0, "certified (sweep)", "easy"),
        (0.0, 10.1, "certified (sweep)", "medium"),
        (0.0, 60.1, "solver-reported", "hard"),
        (0.0, 0.0, "construction", "hard"),
        (0.001, 0.0, "certified (sweep)", "open"),
    ],
)
def test_the_class(gap: float, seconds: float, kind: str, expected: str) -> None:
    """Ten seconds, a minute, more or a construction alone; open is what has a gap."""
    assert difficulty(gap, seconds, kind) == expected


def _chosen(registry: Registry, *names: str) -> Registry:
    kept = tuple(each for each in registry.instances if each.instance in names)
    return replace(registry, instances=kept)


@pytest.fixture(scope="module")
def small(registry: Registry) -> Registry:
    return _chosen(registry, "example_3_1", "uniform_100", "planted_12")


@pytest.fixture(scope="module")
def files(small: Registry) -> dict[str, str]:
    """Their site, with the schedules of the open one and a run of two policies."""
    sha = next(each.sha256 for each in small.instances if each.instance == "uniform_100")
    runs = frame(
        record(instance="mine", instance_sha256=sha, method="svf", tel=60_000),
        record(instance="mine", instance_sha256=sha, method="fcfs", tel=90_000),
    )
    return library_pages(small, known_values(), runs, None, 1)


@pytest.mark.slow("walks")
def test_every_link_of_the_site_is_a_file_of_it(files: dict[str, str], tmp_path: Path) -> None:
    """Pages, pictures, and the instances, schedules and certificates themselves."""
    assert sum(name.endswith(".html") for name in files) == 4
    assert all(text.count('href="') > 2 for name, text in files.items() if name.endswith(".html"))
    fill(tmp_path, files)
    assert broken(tmp_path) == []


def test_pages_of_instances_outside_of_a_store(files: dict[str, str]) -> None:
    """The best known schedule is drawn, the widest gap first; runs stand where there are any."""
    page = files["instances/uniform_100.html"]
    assert 'src="uniform_100.best-known.svg"' in page
    assert "<svg" in files["instances/uniform_100.best-known.svg"]
    # Whatever the runs call it: here its name is the library's.
    assert "What each policy loses" in page
    assert "60,000" in page
    assert "<h1>uniform_100</h1>" in page
    other = files["instances/example_3_1.html"]
    assert "reports.library --pictures N" in other
    assert "What each policy loses" not in other
    assert "History in the registry" in other


@pytest.mark.slow("walks")
def test_the_command_writes_the_site(
    small: Registry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Twice into one folder; never over what is another's, and no store without a folder."""
    monkeypatch.setattr("reports.library.__main__.read_registry", lambda: small)
    out = tmp_path / "out"
    for _ in range(2):
        assert main(["--html", str(out), "--pictures", "0"]) == 0
    assert sorted(path.name for path in (out / "instances").iterdir()) == [
        "example_3_1.html",
        "planted_12.html",
        "uniform_100.html",
    ]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine", encoding="utf-8")
    capsys.readouterr()
    for wrong in (
        ["--html", str(tmp_path / "mine")],
        ["--store", str(tmp_path / "none.sqlite"), "--html", str(out)],
        ["--store", "x.csv"],
        ["--pictures", "many"],
    ):
        assert main(wrong) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
