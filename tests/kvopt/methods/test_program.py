"""Programs of any language as methods: what they are told, what they may print, what is refused."""

import json
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances.instance_files import read_instance
from instances.instance_names import find_instance
from kvopt.methods.grammar import MethodError, read_method
from kvopt.store.row_files import read_rows
from schedules import make_schedule
from schedules.schedule_files import schedule_document
from tests.docs.pages import ROOT, blocks
from tests.kvopt.conftest import Command
from tests.kvopt.sweep_tools import Evaluate, write_small

#: Of the four requests of ``write_small``: M = 5, s = 1, o = 1, 1, 3, 3.  OPT is 12; one after the
#: other they complete at 1, 2, 5 and 8.
BEST, SLOW = [0, 1, 0, 3], [0, 1, 2, 5]
#: A line of a program, and what its row tells.
WRONG = {
    "silent": ("true", "error", "silent: expected a schedule on a line, found none"),
    "code": ("exit 3", "error", "code: ended with exit code 3"),
    "cut": ("echo '[0, 1,'", "error", "cut: Expecting value"),
    "floats": ("echo '[0.0, 1, 2, 5]'", "error", "'float' object cannot be interpreted"),
    "short": ("echo '[0, 1]'", "refused", "expected 4 starts"),
    "infeasible": ("echo '[0, 0, 0, 0]'", "refused", "at time 1, 8 tokens are held"),
}
RIGHT = {
    "by_files": 'work=$(mktemp -d); echo "[0, 1," > "$work/a"; echo "0, 3]" >> "$work/a"; '
    'tr -d \'\\n\' < "$work/a"; rm -r "$work"',
    "words": "echo 'first some words'; echo '[0, 1, 2, 5]'; echo '  [0, 1, 0, 3]  '",
    "worse": "echo '[0, 1, 0, 3]'; echo '[0, 1, 2, 5]'",
    "told": '[ "$KVOPT_SECONDS $KVOPT_SEED $KVOPT_BATCH_TIME." = "20 0 ." ] && echo "[0, 1, 0, 3]"',
    "daemon": "sleep 600 & echo '[0, 1, 0, 3]'",
    "closes": "echo '[0, 1, 0, 3]'; exec >&-; sleep 0.2",
}


def _program(path: Path, line: str) -> Path:
    path.write_text(f"#!/bin/sh\ncat > /dev/null\n{line}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, Path]:
    """The rows of one sweep over all of them, by method, and its store."""
    folder = tmp_path_factory.mktemp("programs")
    (instance,) = write_small(folder, 1)
    known = read_instance(instance)
    lines = {name: line for name, (line, _, _) in WRONG.items()} | RIGHT
    document = schedule_document(make_schedule(known, BEST, "mine"))
    lines["object"] = f"echo '{json.dumps(document)}'"
    document["instance_sha256"] = "0" * 64
    lines["another"] = f"echo '{json.dumps(document)}'"
    for name, line in lines.items():
        _program(folder / name, line)
    (folder / "unknown").write_text("#!/nowhere/at/all\n")
    (folder / "unknown").chmod(0o755)
    methods = ",".join(f"file:{folder / name}" for name in [*lines, "unknown"])
    store = folder / "runs.sqlite"
    given = [instance, "--methods", f"{methods},svf", "--time-limit", 20, "--store", store]
    Evaluate([*given, "--jobs", 2]).call()
    return read_rows(store).set_index("method"), store


@pytest.mark.parametrize("name", [*RIGHT, "object"])
def test_what_is_accepted(swept: tuple[pd.DataFrame, Path], name: str) -> None:
    """The best line counts, in either form; the volumes bound it as they do a policy."""
    row = swept[0].loc[f"file:{name}"]
    assert (row["status"], row["tel"], row["lower_bound"]) == ("feasible", 12, 10), row["detail"]
    assert row["ending"] == "finished"


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_a_row(swept: tuple[pd.DataFrame, Path], name: str) -> None:
    """It names the program and what was found, without a path."""
    row = swept[0].loc[f"file:{name}"]
    assert row["status"] == WRONG[name][1]
    assert WRONG[name][2] in row["detail"]
    assert str(swept[1].parent) not in row["detail"]


def test_another_instance_and_no_program(swept: tuple[pd.DataFrame, Path]) -> None:
    """A schedule of another hash, and a file that the system cannot run, are errors."""
    assert "another: a schedule of another instance" in swept[0].loc["file:another"]["detail"]
    assert "unknown: cannot be started: No such file" in swept[0].loc["file:unknown"]["detail"]


def test_the_limit_holds(small: Path, tmp_path: Path, solve: Command) -> None:
    """What was printed before counts; the program and what it has started are gone."""
    path = _program(tmp_path / "endless", "echo '[0, 1, 2, 5]'; sleep 600 & sleep 600")
    result = solve(small, "--method", f"file:{path}", "--time-limit", 2)
    assert result.returncode == 0, result.stderr
    assert "endless [program]" in result.stdout
    assert "TEL" in result.stdout
    seconds = float(result.stdout.split("seconds")[-1].split()[0])
    assert seconds < 2 * 1.1 + 2


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    """A file that cannot be executed, and parameters, which a program does not take."""
    path = tmp_path / "data.csv"
    path.write_text("1,2\n")
    for text in (f"file:{path}", f"file:{path}(beta=1)"):
        with pytest.raises(MethodError, match="expected a Python file or a program, found none"):
            read_method(text)
    path.chmod(0o755)
    assert read_method(f"file:{path}").text == "file:data.csv"
    with pytest.raises(MethodError, match="takes no options, found 'beta'"):
        read_method(f"file:{path}(beta=1)")


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_the_example_in_c(tmp_path: Path, solve: Command) -> None:
    """The program of docs/add/outside.md does what its policy in the simulator would, or better."""
    (block,) = [each for each in blocks(ROOT / "docs/add/outside.md") if each.file == "mine.cpp"]
    (tmp_path / "mine.cpp").write_text(block.text)
    compiler = ["g++", "-Wall", "-Werror", "-o", "mine", "mine.cpp"]
    subprocess.run(compiler, cwd=tmp_path, check=True)
    for name in ("am1_00", "tiny_one_fills_memory"):
        result = solve(name, "--method", f"file:{tmp_path / 'mine'}", "--time-limit", 20)
        assert result.returncode == 0, result.stderr
        tel = int(result.stdout.split("\nTEL")[1].split()[0])
        fcfs = run_policy(policies()["fcfs"], read_instance(find_instance(name))).tel
        assert tel <= fcfs
