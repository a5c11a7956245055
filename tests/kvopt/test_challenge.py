"""``kvopt challenge``: entries of all kinds, hidden seeds, and nothing that an entry can see."""

import hashlib
import json
import sqlite3
import sys
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import kvopt
from instances.families import families
from kvopt.commands.challenge import main
from kvopt.suites import read_suite
from kvopt.suites.hidden_draws import hidden_source
from kvopt.sweeps.challenge_entries import keep_entry
from tests.commands import run_command, run_process
from tests.docs.pages import ROOT, blocks

SECRET = "swordfish of the third round"
HIDDEN = partial(hidden_source, SECRET)
#: Each request waits for all before it.
SOLVE = """\
from itertools import accumulate
def solve(instance):
    return [0, *accumulate(each.output for each in instance.requests[:-1])]
"""
#: Says where it finds a secret or a seed, and that it finds what is there.
SPY = r"""
import os, re, sys
from pathlib import Path

def memory():
    with open("/proc/self/maps") as lines, open("/proc/self/mem", "rb", 0) as file:
        for line in lines:
            span, access, *_ = line.split()
            first, end = (int(each, 16) for each in span.split("-"))
            if access.startswith("rw"):
                file.seek(first)
                yield file.read(end - first)

def solve(instance):
    places = [Path.cwd(), Path(__file__).parent]
    around = [path for each in places for path in (*each.parents, *each.rglob("*"))]
    lines = [Path("/proc/self/cmdline").read_bytes(), repr((os.environ, sys.argv, around)).encode()]
    found = [place for place, each in enumerate([*lines, *memory()]) if re.search(WANTED, each)]
    assert bool(found) is SEEN, found
    return [100 * i for i in range(len(instance))]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A secret, the suite and the policy of the page, and two more files."""
    kvopt.run("tiny_handover", "svf")  # the server of runs starts in a folder that stays
    texts = {block.file: block.text for block in blocks(ROOT / "docs/challenge.md") if block.file}
    texts |= {"secret.txt": f"{SECRET}\n", "waits.py": SOLVE, "damaged.py": "def solve("}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def challenge(folder: Path, *given: str) -> CompletedProcess[str]:
    arguments = ("--secret", "secret.txt", "--suite", "small.toml", *given)
    return run_command(main, *arguments, cwd=folder, program="kvopt challenge")


def rows(folder: Path, columns: str) -> list[Any]:
    found = sqlite3.connect(folder / "board" / "runs.sqlite")
    return found.execute(f"SELECT {columns} FROM runs ORDER BY method, instance").fetchall()


@pytest.mark.slow("walks")
@pytest.mark.usefixtures("no_figures")
def test_entries_of_every_kind_are_ranked_on_one_page(folder: Path) -> None:
    """A damaged one is refused, later commands run new entries alone; one board has one secret."""
    first = challenge(folder, "shortest_first.py", "damaged.py", "waits.py", "--board", "board")
    assert (first.returncode, first.stderr.count("\n")) == (1, 1)
    assert first.stderr.startswith("kvopt challenge: damaged.py: refused: ")
    before = rows(folder, "method, finished_utc")
    assert len(before) == 12  # fcfs, svf, srpt-predicted, auto and two entries on two draws
    assert "srpt-predicted with noise(sigma=0.5)" in {method for method, _ in before}
    challenge(folder, "--instances", "public")
    draws = sorted((folder / "public").iterdir())
    kvopt.run(draws[0], "svf").save(folder / "sent.jsonl")
    second = challenge(folder, "sent.jsonl", "shortest_first.py", "--board", "board")
    assert second.returncode == 0
    assert "sent failed on 1 of 2 runs (1 no_solution)" in second.stderr
    assert set(before) < set(rows(folder, "method, finished_utc"))
    tels = dict(rows(folder, "method || ' ' || instance, tel"))
    first_draw, last_draw = (each.stem for each in draws)
    assert tels[f"file:sent.py {first_draw}"] == tels[f"svf {first_draw}"]
    assert tels[f"file:sent.py {last_draw}"] is None
    page = (folder / "board" / "page" / "index.html").read_text()
    for text in (second.stdout, page):
        assert all(name in text for name in ("shortest-first", "waits", "sent", "svf"))
    committed = (folder / "board" / "secret.sha256").read_text()
    assert committed == hashlib.sha256(SECRET.encode()).hexdigest()
    (folder / "secret.txt").write_text(SECRET + "!")
    other = challenge(folder, "--board", "board")
    assert (other.returncode, other.stderr.count("\n")) == (2, 1)
    assert "expected the board of this secret" in other.stderr


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("empty.jsonl", "", "expected a schedule on each line, found none"),
        ("torn.jsonl", '{"schema": "kvopt', "schedule on line 1: no valid JSON"),
        ("none.py", "x = 1\n", "a function solve\\(instance\\) or a POLICY, found neither"),
        ("none.txt", "x", "expected a Python file or a program"),
        ("damaged.py", "def solve(\n", "never closed"),
        ("waits.py", SOLVE + "#", "another entry has the name waits"),
    ],
)
def test_a_file_that_is_no_entry_is_refused(
    name: str, text: str, why: str, folder: Path, tmp_path: Path
) -> None:
    """Nothing of it is kept, also of another file with the name of an entry."""
    kept = tmp_path / "kept"
    keep_entry(folder / "waits.py", kept, tmp_path / "first")
    (folder / name).write_text(text)
    with pytest.raises(ValueError, match=why):
        keep_entry(folder / name, kept, tmp_path / "second")
    assert [each.read_text() for each in kept.rglob("*.*")] == [SOLVE]


@pytest.mark.parametrize(
    ("given", "secret", "why"),
    [
        (("waits.py",), SECRET, "expected --board"),
        (("waits.py", "--instances", "public"), SECRET, "expected --board"),
        (("--board", "board"), "short", "expected one line of 16 to 1,000 ASCII characters"),
        (("--board", "waits.py"), SECRET, "--board waits.py: "),
        (("--board", str(ROOT / "board")), SECRET, "board: expected a place outside of "),
    ],
)
def test_bad_usage_is_a_line(given: tuple[str, ...], secret: str, why: str, folder: Path) -> None:
    """Nothing runs."""
    (folder / "secret.txt").write_text(secret)
    ran = challenge(folder, *given)
    assert (ran.returncode, ran.stderr.count("\n"), ran.stdout) == (2, 1, "")
    assert why in ran.stderr


def seed_of(family: str, number: int) -> int:
    """Return the seed by the rule of docs/challenge.md: sixteen hexadecimal digits, halved."""
    return int(hashlib.sha256(f"{SECRET}\n{family}\n{number}".encode()).hexdigest()[:16], 16) // 2


@pytest.mark.parametrize("family", sorted(set(families()) - {"example-3-1", "worst-mix"}))
def test_a_draw_follows_from_the_secret_and_shows_no_seed(family: str) -> None:
    """Its requests are the family's for that seed; no other key of its file depends on it."""
    hidden = HIDDEN(family, 3, {}).read()[0]
    drawn = families()[family].generate(seed=seed_of(family, 3))
    assert (hidden.memory, hidden.requests) == (drawn.memory, drawn.requests)
    assert hidden.name == f"{family}_draw3"
    assert str(seed_of(family, 3)) not in json.dumps(vars(hidden), default=repr)
    assert (hidden.seed, hidden.known_optimum) == (None, None)


def test_the_committed_suite_hides_all_its_draws(folder: Path) -> None:
    """Every instance is a draw of the secret, and bounds cover all of them."""
    ran = run_command(main, "--secret", "secret.txt", "--instances", "public", cwd=folder)
    written = {each.stem for each in (folder / "public").iterdir()}
    assert (ran.returncode, len(written)) == (0, 28)
    (bounds,) = (each for each in read_suite("challenge", HIDDEN).sections if each.name == "bounds")
    assert written == {each.name for each in bounds.sources}


@pytest.mark.slow("walks")
def test_an_entry_sees_neither_secret_nor_seed(folder: Path) -> None:
    """Not in its arguments, environment, memory, or the folders around it."""
    wanted = "|".join(f"[{text[0]}]{text[1:]}" for text in (SECRET, str(seed_of("uniform", 0))))
    for name, pattern, seen in (("spy", wanted, False), ("sees", "[u]niform_n8_draw", True)):
        constants = f"WANTED, SEEN = rb{pattern!r}, {seen}\n"
        (folder / f"{name}.py").write_text(constants + SPY)
    given = ("spy.py", "sees.py", "--secret", "secret.txt", "--suite", "small.toml")
    command = ("-m", "kvopt", "challenge", *given, "--board", "board", "--quiet")
    ran = run_process(*("env", f"PYTHONPATH={ROOT}", sys.executable, *command), cwd=folder)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [tel for method, tel in rows(folder, "method, tel") if "file:" in str(method)]
