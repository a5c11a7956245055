"""The folder of a report: the same rows give the same bytes, and staleness is found."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from instances import Instance, Request
from instances.instance_files import read_instance
from instances.instance_names import find_instance
from kvopt.commands import evaluate
from kvopt.runs.task import FinishedRun
from kvopt.store import Store
from kvopt.store.row_files import export_rows
from reports.build import build_report, main, make_report, report_texts
from reports.page_parts import ReportPage
from reports.stored_results import Results
from schedules import make_schedule
from tests.reports.folders import held
from tests.reports.synthetic import frame, many, record, record_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return many(18, 12)


@pytest.fixture(scope="module")
def report(rows: pd.DataFrame) -> ReportPage:
    return make_report(Results(rows), pages=3)


@pytest.fixture(scope="module")
def files(report: ReportPage) -> dict[str, str]:
    return report_texts(report)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with some small runs and one of 2,000 requests, with their schedules."""
    path = tmp_path_factory.mktemp("store") / "runs.sqlite"
    small = Instance(name="small", memory=10, requests=tuple(_requests(3)), family="tiny")
    large = Instance(name="large", memory=60, requests=tuple(_requests(2000)), family="big")
    # As bad as ``small`` and larger, so that no table names it.
    other = Instance(name="other", memory=10, requests=tuple(_requests(4)), family="tiny")
    opened = Store(path)
    for instance, method in (
        *((small, "svf"), (small, "fcfs"), (small, "mc-sf")),
        *((large, "svf"), (other, "svf")),
    ):
        opened.put(_run(instance, method))
    opened.close()
    return path


def _requests(n: int) -> list[Request]:
    return [Request(id=k, arrival=0, prompt=1 + k % 3, output=1 + k % 5) for k in range(n)]


def _run(instance: Instance, method: str, late: int = 0, seed: int = 0) -> FinishedRun:
    starts, now = [], late
    for request in instance.requests:
        starts.append(now)
        now += request.output
    schedule = make_schedule(instance, starts, method)
    about = {"family": instance.family, "method": method, "seed": seed}
    row = record_of(instance, tel=schedule.tel, **about)
    return FinishedRun(row, schedule, None, instance)


@pytest.mark.slow("walks")
def test_same_rows_same_bytes(rows: pd.DataFrame, files: dict[str, str]) -> None:
    """Shuffled rows, another process, hash seed and time zone: every file byte for byte."""
    shuffled = rows.sample(frac=1, random_state=1).reset_index(drop=True)
    assert report_texts(make_report(Results(shuffled), pages=3)) == files
    script = (
        "import hashlib, json; from reports.build import make_report, report_texts;"
        "from reports.stored_results import Results;"
        "from tests.reports.synthetic import many;"
        "files = report_texts(make_report(Results(many(18, 12)), pages=3));"
        "print(hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest())"
    )
    other = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    assert other.stdout.strip() == expected


def test_nothing_of_the_machine_is_in_the_files(files: dict[str, str]) -> None:
    """No path of this checkout, no clock: the day of the rows is the only one."""
    for name, text in files.items():
        assert str(ROOT) not in text, name
        if name != "index.html":
            assert set(re.findall(r"\b20[2-9]\d-\d\d-\d\d", text)) <= {"2026-01-01"}, name


def test_all_parts_are_there(report: ReportPage) -> None:
    """Every figure and table that the rows can fill, the verdict's first; none that is empty."""
    expected = (
        "main-result-table main-result leaderboard-clairvoyant leaderboard-predictions "
        "leaderboard-non-clairvoyant adversarial solvers failures gaps gaps-open ratios "
        "gaps-solvers gaps-open-solvers tel-profiles time-profiles instances runs statuses"
    )
    assert [part.slug for part in report.shown] == expected.split()


@pytest.mark.slow("walks")
@pytest.mark.usefixtures("no_figures")
def test_store_csv_and_parquet_give_the_same_tables(store: Path, tmp_path: Path) -> None:
    """What was exported gives the same report, but for the pictures of schedules."""
    opened = Store(store)
    rows = opened.rows()
    opened.close()
    expected = report_texts(make_report(Results(rows)))
    for name in ("rows.csv", "rows.parquet"):
        export_rows(rows, tmp_path / name)
        out = tmp_path / name.replace(".", "_")
        assert main(["--store", str(tmp_path / name), "--out", str(out)]) == 0
        made = held(out)
        # Beside what a paper takes, made of the same tables.
        assert {name: made[name] for name in expected} == expected


@pytest.mark.slow("walks")
@pytest.mark.usefixtures("no_figures")
def test_both_commands_make_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``evaluate.py --report`` and ``reports.build``, also where the registry knows better."""
    instance = read_instance(find_instance("example_3_1"))
    store = Store(tmp_path / "runs.sqlite")
    for method in ("svf", "alpha-beta"):
        store.put(_run(instance, method))
    store.close()
    monkeypatch.chdir(tmp_path)
    location = ["--store", "runs.sqlite"]
    assert evaluate.main([*location, "--report", "one", "--quiet"]) == 0
    assert main([*location, "--out", "two"]) == 0
    one, two = (held(tmp_path / name) for name in ("one", "two"))
    assert one == two
    page = one["instances/example_3_1.html"]
    assert "(registry)" in page
    # The store's own schedule is drawn, the better one of the registry, and both on one axis.
    assert re.findall(r'src="(example_3_1[\w.-]*\.svg)"', page) == [
        "example_3_1.svg",
        "example_3_1.best-known.svg",
        "example_3_1.beside.svg",
    ]
    assert all(one[f"instances/example_3_1{mark}.svg"] for mark in ("", ".best-known", ".beside"))
    assert "<h2>What each policy loses" in page


@pytest.mark.usefixtures("no_figures")
def test_pages_picture_the_best_schedule(store: Path, tmp_path: Path) -> None:
    """Also of 2,000 requests; beyond the cap the page says how to get one."""
    out = tmp_path / "out"
    assert main(["--store", str(store), "--out", str(out), "--pictures", "1"]) == 0
    large = (out / "instances" / "large.html").read_text(encoding="utf-8")
    assert 'src="large.svg"' in large
    assert (out / "instances" / "large.svg").stat().st_size > 10_000
    pages = held(out / "instances")
    assert 'src="small.svg"' in pages["small.html"]
    assert "reports.build --pictures N" in pages["other.html"]
    assert main(["--store", str(store), "--out", str(out), "--pictures", "0"]) == 0
    assert not list((out / "instances").glob("*.svg"))


def _certified(lower: int) -> dict[str, Any]:
    return {"lower_bound": lower, "certified_bound": lower, "certified_by": "certificate: prices"}


@pytest.mark.usefixtures("no_figures")
def test_a_page_has_one_bound(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the registry knows of an instance stands on its page and above its picture."""
    titles: list[str] = []

    def written(figure: Any, _: str) -> bytes:
        titles.extend(axes.get_title(loc="left") for axes in figure.axes)
        return b"<svg width='1pt' height='1pt'/>"

    monkeypatch.setattr("reports.pages.instance_pictures.picture_image", written)
    opened = Store(store)
    rows = opened.rows()
    (sha,) = rows.loc[rows["instance"].eq("small"), "instance_sha256"].unique()
    tel = int(rows.loc[rows["instance"].eq("small"), "tel"].min())
    for lower, told in ((tel - 1, f"lower bound {tel - 1:,}"), (tel, "optimal")):
        report = make_report(Results(rows, {sha: _certified(lower)}), store=opened)
        (page,) = [each for each in report.pages if each.name == "small"]
        assert dict(page.facts)["certified LB, rounds"] == str(lower)
        assert dict(page.facts)["gap to the certified LB"] == f"{100 * (tel - lower) / tel:.2f} %"
        assert told in " ".join(titles)
        titles.clear()
    opened.close()


@pytest.mark.slow("walks")
@pytest.mark.usefixtures("no_figures")
def test_pages_show_what_each_policy_loses(tmp_path: Path) -> None:
    """A picture for each TEL above the best, of a policy that loses it, named with its loss."""
    instance = Instance(name="crowd", memory=10, requests=tuple(_requests(12)), family="tiny")
    opened = Store(tmp_path / "runs.sqlite")
    # The same schedule, later by so many rounds: 12 requests lose 12 each.
    losing = ("fcfs", "mc-sf", "h-sf", "wait", "a-min", "a-max", "vllm-v1")
    for late, method in enumerate(("svf", *losing)):
        opened.put(_run(instance, method, late=late))
    opened.close()
    out = tmp_path / "out"
    assert main(["--store", str(tmp_path / "runs.sqlite"), "--out", str(out)]) == 0
    page = (out / "instances" / "crowd.html").read_text(encoding="utf-8")
    told = re.findall(r'<strong class="name">(.+?)</strong> loses (\S+)\s%</summary>', page)
    # Six of the seven, the first and the last among them.
    drawn = [1, 2, 3, 5, 6, 7]
    assert [name for name, _ in told] == [*(losing[late - 1] for late in drawn[:-1]), "vllm-v1 *"]
    best = _run(instance, "svf").record.tel
    assert best is not None
    losses = [f"{100 * 12 * late / (best + 12 * late):.2f}" for late in drawn]
    assert [loss for _, loss in told] == losses
    pictures = re.findall(r'<img src="(crowd\.beside[^"]*)"', page)
    assert len(pictures) == len(set(pictures)) == 6
    assert all((out / "instances" / name).exists() for name in pictures)


@pytest.mark.usefixtures("no_figures")
def test_custom_policies_are_drawn_where_they_are_worst(tmp_path: Path) -> None:
    """Also beyond --pictures, and instead of a published policy with the same TEL."""
    opened = Store(tmp_path / "runs.sqlite")
    for name, late in (
        ("far", {"svf": 0, "file:mine.py": 1, "file:yours.py": 50}),
        ("near", {"svf": 0, "mc-sf": 9, "file:mine.py": 9, "file:yours.py": 3}),
    ):
        requests = tuple(_requests(len(name)))
        instance = Instance(name=name, memory=10, requests=requests, family="tiny")
        opened.put(*(_run(instance, method, late=late[method]) for method in late))
    opened.put(_run(instance, "file:mine.py", late=4, seed=1))
    report = make_report(Results(opened.rows()), store=opened, pages=2, pictures=1)
    opened.close()
    drawn = {page.name: [each.name for each in page.pictures if each.name] for page in report.pages}
    # The worst of mine comes first, with all pictures of the page; then the worst of yours alone.
    assert drawn == {"near": ["file:yours.py", "file:mine.py"], "far": ["file:yours.py"]}
    # The worst of two seeds is drawn; the other one begins 5 rounds earlier.
    told = [each.loss for each in report.pages[0].pictures if each.name == "file:mine.py"]
    assert told[0].endswith(" with seed 0, the worst of 2; the table has the mean")


@pytest.mark.slow("walks")
@pytest.mark.usefixtures("no_figures")
def test_stale_files(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--check passes after building; it names changed, missing and extra files."""
    out = tmp_path / "out"
    command = ["--store", str(store), "--out", str(out), "--pictures", "0"]
    assert main(command) == 0
    assert main([*command, "--check"]) == 0
    (out / "tables" / "gaps-open.md").write_text("edited by hand", encoding="utf-8")
    (out / "instances" / "small.html").unlink()
    (out / "instances" / "gone.html").write_text("of yesterday", encoding="utf-8")
    capsys.readouterr()
    assert main([*command, "--check"]) == 1
    told = capsys.readouterr().out
    names = ("tables/gaps-open.md", "small.html", "gone.html")
    for line in ("stale: ", "missing: ", "extra: ", *names):
        assert line in told
    # Building again mends all of it but what it has not written.
    assert main(command) == 0
    assert main([*command, "--check"]) == 1
    (out / "instances" / "gone.html").unlink()
    assert main([*command, "--check"]) == 0


@pytest.mark.usefixtures("no_figures")
def test_contradictions_are_loud(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They stand first in every overview and on the instance's page; the command exits with 5."""
    rows = frame(record(tel=100), record(method="highs:ilp", tel=150, lower_bound=120))
    export_rows(rows, tmp_path / "rows.csv")
    out = tmp_path / "out"
    assert main(["--store", str(tmp_path / "rows.csv"), "--out", str(out)]) == 5
    assert "CONTRADICTION a: the bound 120 of highs:ilp exceeds" in capsys.readouterr().err
    readme = (out / "README.md").read_text(encoding="utf-8")
    assert readme.index("## CONTRADICTIONS: 1") < readme.index("## How the runs ended")
    for page in (out / "index.html", out / "instances" / "a.html"):
        text = page.read_text(encoding="utf-8")
        assert 'role="alert"' in text
        assert "the bound 120 of highs:ilp exceeds the schedule 100 of svf" in text


@pytest.mark.usefixtures("no_figures")
def test_no_rows(tmp_path: Path) -> None:
    """An empty store gives a report that says so, without sections that have nothing to show."""
    written = build_report(Results(frame()), tmp_path)
    assert [path.name for path in written] == ["README.md", "index.html"]
    overview = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "0 stored runs" in overview
    assert "No policy was run" in overview
    assert overview.count("\n## ") == 2
    assert (tmp_path / "index.html").read_text(encoding="utf-8").count("<h2>") == 1
