"""``solve.py`` as a user calls it: results, exit codes, one line for each fault."""

import contextlib
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import psutil
import pytest

from instances import Instance, Request, read_instance, write_instance
from instances.families import chat_lognormal
from kvopt.commands.solve import main
from kvopt.result import Result
from schedules import check_schedule, read_schedule
from tests.commands import run_process
from tests.kvopt.conftest import Command, Refused
from tests.kvopt.sweep_tools import ROOT, start_solve, summary_of, wait_for_an_incumbent


@pytest.mark.parametrize("method", ["highs:ilp(groups=yes)", "cpsat:cpsat"])
def test_one_session_uses_both_engines(
    method: str, small: Path, solve_afresh: Command, tmp_path: Path
) -> None:
    """HiGHS and CP-SAT both prove 12 here; the schedule file says where it comes from."""
    out = tmp_path / "out.json"
    result = solve_afresh(small, "--method", method, "--out", out)
    assert result.returncode == 0, result.stderr
    schedule = read_schedule(out)
    assert (schedule.status, schedule.tel, schedule.lower_bound) == ("optimal", 12, 12)
    assert schedule.provenance["solver"].startswith(("CP-SAT", "HiGHS"))
    assert schedule.provenance["time_limit_seconds"] == 60.0
    rows = summary_of(result.stdout)
    assert rows["status"] == "optimal"
    assert rows["TEL"].split()[0] == rows["lower bound"].split()[0] == "12"
    assert rows["checker"] == "valid"


def test_a_relaxation_yields_a_bound_only(small: Path, solve: Command) -> None:
    """Its status is feasible, and the summary has its value."""
    result = solve(small, "--solver", "highs", "--formulation", "ilp-sparse(relaxed=yes)")
    rows = summary_of(result.stdout)
    assert (result.returncode, rows["status"]) == (0, "feasible")
    assert "LP relaxation" in rows


@pytest.mark.parametrize(
    ("needed", "solvers"),
    [
        ("gurobipy", ("appsi_gurobi", "gurobi_direct", "gurobi_persistent")),
        ("highspy", ("appsi_highs",)),
        ("cbc", ("cbc",)),
        ("glpsol", ("glpk",)),
        ("pyscipopt", ("scip_direct", "scip_persistent")),
    ],
)
def test_solvers_that_pyomo_finds(
    needed: str, solvers: tuple[str, ...], small: Path, solve: Command
) -> None:
    """Other solvers can be named where they are installed, and prove the same optimum."""
    if shutil.which(needed) is None and find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    for solver in solvers:
        result = solve(small, "--solver", solver, "--formulation", "ilp")
        assert result.returncode == 0, result.stderr
        rows = summary_of(result.stdout)
        assert (rows["status"], rows["TEL"].split()[0]) == ("optimal", "12")


@pytest.mark.parametrize("method", ["vllm-v1", "a-min with interval(1,50)"])
def test_policies_that_evict(method: str, solve: Command, tmp_path: Path) -> None:
    """Attempts and kept tokens reach the schedule file, and the checker replays them."""
    path, out = ROOT / "instances" / "mixed_200.json", tmp_path / "out.json"
    result = solve(path, "--method", method, "--out", out)
    assert result.returncode == 0, result.stderr
    schedule = read_schedule(out)
    assert schedule.attempts is not None
    assert check_schedule(read_instance(path), schedule).valid
    assert (schedule.kept is not None) == (method == "vllm-v1")


@pytest.mark.slow("waits")
def test_the_time_limit_holds_for_policies_too(solve_afresh: Command, tmp_path: Path) -> None:
    """A policy that would take minutes is stopped: exit 4, and a row in the table of all."""
    path = tmp_path / "chat.json"
    write_instance(chat_lognormal.generate(n=900), path)
    started = time.monotonic()
    result = solve_afresh(path, "--policy", "sorted-f-dp", "--time-limit", "3")
    assert time.monotonic() - started < 3 * 1.1 + 2
    assert result.returncode == 4
    assert "time limit" in summary_of(result.stdout)["note"]
    table = solve_afresh(path, "--policy", "all", "--time-limit", "10")
    assert table.returncode == 0
    told = " ".join(table.stdout.split())
    assert re.search(r"stopped after its share|not run, the time was over", told)


@pytest.mark.slow("waits")
def test_a_file_that_takes_too_long_to_read() -> None:
    """Nobody waits for the end of the reading, here of a pipe: exit 4 and one line."""
    there, here = os.pipe()
    started = time.monotonic()
    command = [sys.executable, ROOT / "solve.py", "/dev/stdin", "--policy", "svf"]
    result = run_process(*command, "--time-limit", 0.2, stdin=there)
    assert time.monotonic() - started < 0.2 * 1.1 + 2 + 3  # a loaded machine wakes up late
    assert (result.returncode, result.stdout) == (4, "")
    assert result.stderr == (
        "solve.py: no schedule within the time limit of 0.2 s, which was too short to read "
        "/dev/stdin (of a trace, --limit and --window read less)\n"
    )
    os.close(there)
    os.close(here)


def test_a_named_pipe_is_neither_read_nor_written(
    small: Path, solve: Command, tmp_path: Path
) -> None:
    """Bad input or usage in one line: whoever opened it would wait for ever."""
    pipe = tmp_path / "pipe.svg"
    os.mkfifo(pipe)
    for wanted, told in (([small, "--out", pipe], " to write"), ([pipe], "")):
        result = solve(*wanted, "--policy", "svf")
        _assert_one_line(result, 2)
        assert f"expected a file{told}, found a named pipe" in result.stderr


def test_an_endless_loop_is_reported(solve: Command) -> None:
    """alpha-greedy without protection loops for ever: said in a note, exit 4, no traceback."""
    path = ROOT / "instances" / "uniform_100.json"
    result = solve(path, "--policy", "alpha-greedy(alpha=0)")
    assert result.returncode == 4
    assert "loops for ever" in summary_of(result.stdout)["note"]
    assert result.stderr == ""


def test_intervals_that_miss_an_output_are_bad_input(small: Path, solve: Command) -> None:
    """Stated by the file or by the command, named by request, before anything runs: exit 2."""
    for predict in ("interval(1,2)", "interval(2,9)"):
        result = solve(small, "--policy", "a-min", "--predict", predict)
        _assert_one_line(result, 2)
        assert "interval: expected intervals that hold the outputs, found [" in result.stderr
    assert solve(small, "--policy", "a-min", "--predict", "interval(1,3)").returncode == 0
    document = json.loads(small.read_text())
    document["requests"][3] |= {"output_lower": 1, "output_upper": 2}
    small.write_text(json.dumps(document))
    _assert_one_line(solve(small, "--policy", "a-min"), 2)


@pytest.mark.slow("waits")
def test_time_limit_holds(hard: Path, solve_afresh: Command) -> None:
    """A limit of 6 s is over within 10 % + 2 s and leaves a checked schedule and a bound."""
    started = time.monotonic()
    result = solve_afresh(hard, "--solver", "highs", "--time-limit", "6")
    assert time.monotonic() - started < 6 * 1.1 + 2
    rows = summary_of(result.stdout)
    assert (result.returncode, rows["status"]) == (0, "feasible")
    assert int(rows["lower bound"].split()[0]) > 0


def test_a_killed_engine_still_reports(hard: Path, tmp_path: Path) -> None:
    """SIGKILL of the engine's process in mid-solve leaves a report with the best so far."""
    out = tmp_path / "out.json"
    process = start_solve(hard, "--solver", "highs", "--out", out)
    wait_for_an_incumbent(process)
    _run_of(process).kill()
    output, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert "SIGKILL" in summary_of(output)["note"]
    assert check_schedule(read_instance(hard), read_schedule(out)).valid


def test_the_engine_ends_with_its_parent(hard: Path) -> None:
    """SIGKILL of the command itself leaves no engine running behind it."""
    process = start_solve(hard, "--solver", "cpsat")
    engine = _run_of(process)
    process.kill()
    process.communicate(timeout=20)
    engine.wait(timeout=10)


def test_an_interrupt_while_it_writes(
    small: Path, tmp_path: Path, solve: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while a picture is drawn: exit 130, and the schedule is told and written."""
    monkeypatch.setattr(Result, "plot", mock.Mock(side_effect=KeyboardInterrupt))
    out = tmp_path / "out.json"
    result = solve(small, "--policy", "svf", "--out", out, "--plot", tmp_path / "plot.svg")
    told = "solve.py: interrupted before all was written\n"
    assert (result.returncode, result.stderr) == (130, told)
    assert summary_of(result.stdout)["checker"] == "valid"
    assert check_schedule(read_instance(small), read_schedule(out)).valid


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_reads_the_input_ends_with_the_command(tmp_path: Path, number: signal.Signals) -> None:
    """SIGKILL of the command leaves nobody who reads; SIGTERM of all is one line."""
    there, here = os.pipe()
    line = [sys.executable, str(ROOT / "solve.py"), "/dev/stdin", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(line, stdin=there, stderr=subprocess.PIPE, text=True)
    os.close(there)
    os.write(here, b" " * (1 << 17))  # more than a pipe holds: it is being read
    forks = [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == line]
    assert len(forks) == 4  # the command, its server, a keeper and what reads
    for each in [process] if number == signal.SIGKILL else forks:
        with contextlib.suppress(psutil.NoSuchProcess):  # it ends with those above it
            each.send_signal(number)
    _, errors = process.communicate(timeout=20)
    told = "" if number == signal.SIGKILL else "solve.py: interrupted before there was a schedule\n"
    assert errors == told
    left = select.poll()
    left.register(here, 0)
    assert [found for _, found in left.poll(10_000)] == [select.POLLERR]
    os.close(here)


def test_memory_limit_of_a_policy(hard: Path, solve_afresh: Command) -> None:
    """It holds for policies too: no Python fits into a megabyte."""
    policy = "local-search(moves=300000)"
    result = solve_afresh(hard, "--policy", policy, "--memory-limit", "0.001")
    rows = summary_of(result.stdout)
    assert (result.returncode, rows["status"]) == (4, "memory_limit")
    assert "memory limit" in rows["note"]


def test_what_a_method_of_ones_own_prints(small: Path, tmp_path: Path, solve: Command) -> None:
    """What it has printed is shown at the end, with the traceback where it failed."""
    own = tmp_path / "own.py"
    own.write_text("def solve(instance):\n    print('so far', len(instance))\n    return 1 / 0\n")
    result = solve(small, "--method", f"file:{own}")
    assert result.returncode == 2
    assert "own.py:3: ZeroDivisionError: division by zero" in result.stdout
    told = result.stderr.splitlines()
    assert told[0].startswith("solve.py: the method failed: own.py:3: ZeroDivisionError")
    assert told[1] == "solve.py: the method printed:"
    assert told[2].startswith("so far ")
    assert told[-1] == "ZeroDivisionError: division by zero"


def _run_of(process: subprocess.Popen[str]) -> psutil.Process:
    """Wait for the run, which is below its keeper, the server and the command."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for each in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # what has read the input ends
                if len(each.parents()) > 2 and each.parents()[2].pid == process.pid:
                    return each
        time.sleep(0.05)
    raise AssertionError("no process of a run was started")


def test_an_infeasible_instance_is_exit_3(small: Path, solve: Command) -> None:
    """A request with s + o > M is named by its id."""
    small.write_text(small.read_text().replace('"output": 3', '"output": 50'))
    result = solve(small)
    _assert_one_line(result, 3)
    assert "request id 2" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        # A program of that name, but no solver: Pyomo would run it.
        ["--solver", "ls"],
        ["--solver", "highs", "--policy", "svf"],
        ["--policy", "svf", "--formulation", "ilp"],
        ["--out", "x" * 300],
        ["--predict\n", "x"],
        ["--plot", "picture.jpg"],
        ["--write-model", "model.txt"],
        ["--nonsense"],
    ],
)
def test_bad_usage_is_one_line_and_exit_2(
    arguments: list[str], small: Path, refused: Refused
) -> None:
    """Whatever is wrong with the options is said before anything is solved."""
    refused(main, small, *arguments)


def _assert_one_line(result: subprocess.CompletedProcess[str], code: int) -> None:
    assert result.returncode == code, result.stdout + result.stderr
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert "Traceback" not in result.stderr


def test_a_model_that_cannot_be_written(small: Path, tmp_path: Path) -> None:
    """A disk that is full in the middle of the model is one line and exit 2, not "wrote"."""
    path = tmp_path / "model.mps"
    command = [sys.executable, ROOT / "solve.py", small, "--formulation", "ilp"]
    # Python would keep half of what it compiles, and stumble over it ever after.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    full = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (256, 256))
    result = run_process(*command, "--write-model", path, env=environment, preexec_fn=full)
    _assert_one_line(result, 2)
    assert f"{path}: not written: " in result.stderr
    assert "File too large" in result.stderr
    assert "wrote" not in result.stdout
    assert list(tmp_path.iterdir()) == [small]


@pytest.mark.parametrize(("prompt", "warned"), [(4_999, False), (5_000, True)])
def test_a_model_beyond_solvers_tolerances_says_so(
    prompt: int, warned: bool, solve: Command, tmp_path: Path
) -> None:
    """Two peaks of 5,000 tokens meet in a row, 10,000 in all, of which 10⁻⁶ is a hundredth."""
    requests = (Request(0, 0, prompt, 1), Request(1, 0, prompt, 1))
    instance, path = tmp_path / "pair.json", tmp_path / "pair.lp"
    write_instance(Instance("pair", 9_000, requests), instance)
    ran = solve(instance, "--write-model", path, "--formulation", "ilp", "--quiet")
    assert ran.returncode == 0
    told = [line for line in ran.stderr.splitlines() if "tokens meet in a row" in line]
    assert len(told) == warned
    assert not warned or "cover 10,000 (GLPK: 1,000)" in told[0]


@pytest.mark.parametrize(
    ("suffix", "reading", "formulation"),
    [("mps", "--freemps", "ilp(groups=yes)"), ("LP", "--lp", "ilp-xy")],
)
def test_glpk_reads_the_model(
    suffix: str, reading: str, formulation: str, small: Path, solve: Command, tmp_path: Path
) -> None:
    """GLPK, which knows no section that says minimise, finds 12 and the size that we print."""
    if shutil.which("glpsol") is None:
        pytest.skip("glpsol is not installed")
    path, answer = tmp_path / f"model.{suffix}", tmp_path / "answer.txt"
    wrote = solve(small, "--write-model", path, "--formulation", formulation).stdout
    command = ["glpsol", reading, str(path), "--output", str(answer)]
    subprocess.run(command, capture_output=True, check=True)
    said = answer.read_text()
    assert re.search(r"^Status: +INTEGER OPTIMAL\nObjective: .* = 12 ", said, re.MULTILINE)
    sizes = re.findall(r"^(?:Columns|Rows|Non-zeros): +(\d+)", said, re.MULTILINE)
    assert sorted(sizes) == sorted(re.findall(r"(\d+) (?:columns|rows|nonzeros)", wrote))


def test_models_too_large_are_not_built(tmp_path: Path, solve: Command) -> None:
    """10^8-token requests: the engine says no in a line, the best policy's schedule stands."""
    path = tmp_path / "huge.json"
    requests = tuple(Request(i, i, 10, 10**8) for i in range(3))
    write_instance(Instance("huge", 2 * 10**8, requests), path)
    for method in ("highs:ilp-sparse", "cpsat:cpsat"):
        result = solve(path, "--method", method)
        rows = summary_of(result.stdout)
        assert result.returncode == 0
        assert "would have" in rows["note"]
        assert rows["checker"] == "valid"


def test_policy_all_without_a_schedule_says_so(small: Path, solve: Command) -> None:
    """No policy was run in the time, or all were stopped: exit 4, as for each by itself."""
    assert solve(small, "--policy", "all", "--time-limit", "0.05").returncode == 4


@pytest.mark.slow("waits")
def test_the_limit_covers_what_a_file_of_ones_own_does_at_its_import(
    small: Path, tmp_path: Path, solve_afresh: Command
) -> None:
    """A sleep of half a minute at module level is no compiling of ours."""
    own = tmp_path / "own.py"
    own.write_text("import time\ntime.sleep(30)\ndef solve(instance):\n    return []\n")
    started = time.monotonic()
    result = solve_afresh(small, "--method", f"file:{own}", "--time-limit", "3")
    assert time.monotonic() - started < 15  # a loaded machine
    # The file is asked what it declares before there is a run to be told of.
    assert result.returncode == 4
    assert "no schedule within the time limit of 3 s" in result.stderr
    assert "compiles" not in result.stdout
