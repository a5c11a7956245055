"""Every command's help: one screen, examples that it takes; proposals of the shell."""

import copy
import os
import re
import shlex
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import click
import pytest
from click.shell_completion import BashComplete

import heuristics.policy_registry
from kvopt.commands.completion import policy_names
from kvopt.commands.main import COMMANDS, main, subcommand
from support.click_command import Command
from support.current_command import current_command
from tests.commands import run_command, run_process
from tests.kvopt.sweep_tools import ROOT

_SUBCOMMANDS = {f"kvopt {name}": subcommand(name) for name in COMMANDS.list_commands(None)}  # type: ignore[arg-type]
_MODULES = (
    *("instances.ladder", "instances.library", "kvopt.best_known.rerun_proofs", "reports.build"),
    *("reports.ablation.page", "reports.library.__main__", "reports.nightly.__main__"),
    *("reports.pictures.__main__", "schedules.schema", "tools.attack.__main__"),
    *("tools.engine.compare_ledgers", "tests.benchmarks.speed", "schedules.check_command"),
)
_MAINS = [import_module(name).main for name in _MODULES]
_ALL: dict[str, Command] = {
    **_SUBCOMMANDS,
    **{str(main.name): main for main in _MAINS},
}
_DECLARATION = re.compile(r"^@(click\.command|over_rates)\(|= generating\(", re.MULTILINE)
#: Lines of a screen.
_SCREEN = 50


def test_every_module_with_a_command_is_here() -> None:
    """A file that declares one is named above, or a subcommand."""
    files = set(ROOT.glob("[!.]*/**/*.py")) - set(ROOT.glob("papers/**/*.py"))
    declared = {path for path in files if _DECLARATION.search(path.read_text(encoding="utf-8"))}
    known = {Path(sys.modules[_module(command)].__file__ or "") for command in _ALL.values()}
    assert {path for path in declared if path.name != "command.py"} <= known | {Path(__file__)}


def _module(command: Command) -> str:
    function: Any = command.callback
    if function.__module__ == "support.click_command":  # made by ``generating``
        function = function.__closure__[0].cell_contents
    return str(function.__module__)


@pytest.mark.parametrize("columns", [80, 100, 200])
@pytest.mark.parametrize("name", _ALL)
def test_a_help_is_one_screen(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most fifty lines, none wider than the screen but for examples, and in plain words."""
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = run_command(_ALL[name], "--help", program=name)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert run_command(_ALL[name], "-h", program=name).stdout == shown.stdout
    text, _, examples = shown.stdout.partition("Examples:\n")
    lines = shown.stdout.splitlines()
    assert len(lines) <= _SCREEN
    assert all(len(line) <= columns for line in text.splitlines())
    assert all(each in examples for each in _ALL[name].examples)
    assert "Exit codes: 0 " in shown.stdout
    assert not re.search(r"\b(told|witness|storeys|sweep over)\b", shown.stdout)


def test_the_exit_codes_of_every_command_are_on_one_page() -> None:
    """Those that its --help names, but for 130, which all have."""
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    lines = page.partition("## Exit codes\n")[2].partition("\n## ")[0].splitlines()
    cells = [line.split(" | ", 1) for line in lines if line.startswith("| `")]
    listed = {name: codes for names, codes in cells for name in re.findall(r"`([^`]+)`", names)}
    for name, command in _SUBCOMMANDS.items():
        shown = run_command(command, "--help", program=name).stdout.partition("Exit codes:")[2]
        codes = listed[name]
        if codes.startswith("as `"):
            codes = listed[codes.split("`")[1]]
        there = re.findall(r"(?:^|[;.] )(\d+) ", codes)
        here = re.findall(r"(?:^|; )(\d+) ", " ".join(shown.split()))
        assert there == [code for code in here if code != "130"], name


@pytest.mark.parametrize("name", _ALL)
def test_ctrl_c_ends_every_command_alike(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line and 130, whatever it was doing."""
    command = _ALL[name]
    interrupting = copy.copy(command)
    interrupting.invoke = mock.Mock(side_effect=KeyboardInterrupt)  # type: ignore[method-assign]
    interrupting.params = []
    assert interrupting([], program=name) == 130
    told = capsys.readouterr().err
    assert told.startswith(f"{name}: interrupted")
    assert told.count("\n") == 1


@pytest.mark.parametrize("name", _ALL)
def test_the_command_takes_its_examples(name: str) -> None:
    """Two to four, or one where it takes two files and nothing else; each is read as it stands."""
    command = _ALL[name]
    options = any(isinstance(each, click.Option) for each in command.params)
    assert len(command.examples) in range(2 if options else 1, 5)
    for example in command.examples:
        command.make_context(name, shlex.split(example))


@pytest.mark.parametrize(
    "arguments",
    [["solve", "tiny_handover", "--policy", "svf"], ["solve", "x"], ["check"], ["--help"], []],
    ids=" ".join,
)
def test_a_call_leaves_nothing_behind(arguments: list[str]) -> None:
    """Streams, signals, folder, environment and the command that is named are as before."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def state() -> list[object]:
        streams = [sys.stdin, sys.stdout, sys.stderr]
        found = [*streams, *map(signal.getsignal, numbers), os.getcwd(), dict(os.environ)]
        return [*found, sys.argv, current_command(), sys.excepthook]

    before = state()
    assert main(arguments) in (0, 2)
    assert state() == before


def test_no_value_is_an_option() -> None:
    """``--out --quiet`` writes no file of that name."""
    ran = run_command(_SUBCOMMANDS["kvopt solve"], "tiny_handover", "--out", "--quiet")
    told = "solve.py: Invalid value for '--out': expected a value, found --quiet\n"
    assert (ran.returncode, ran.stderr) == (2, told)


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        (["s"], {"solve", "show", "site", "submit"}),
        (["--v"], {"--version"}),
        (["solve", "uniform_10"], {"uniform_100"}),
        (["solve", "--po"], {"--policy"}),
        (["solve", "--policy", "mc-sf-"], {"mc-sf-first-fit", "mc-sf-predicted", "mc-sf-total"}),
        (["solve", "--solver", "cp"], {"cpsat"}),
        (["solve", "--formulation", "ilp-x"], {"ilp-xy"}),
        (["evaluate", "--methods", "svf,hi"], {"svf,highs"}),
        (["evaluate", "smo"], {"smoke"}),
        (["evaluate", "--executor", "d"], {"dask"}),
        (["rates", "--plo"], {"--plot"}),
        (["generate", "plan"], {"planted"}),
        (["convert", "x.csv", "--form"], {"--format"}),
        (["show", "mc-sf-t"], {"mc-sf-total"}),
        (["nonsense", "x"], set()),
    ],
    ids=lambda given: " ".join(sorted(given) if isinstance(given, set) else given),
)
def test_what_the_shell_proposes(words: list[str], proposed: set[str]) -> None:
    """Subcommands, options, and the names that an argument takes."""
    shell = BashComplete(COMMANDS, {}, "kvopt", "_KVOPT_COMPLETE")
    found = shell.get_completions(words[:-1], words[-1])
    assert {each.value for each in found} == proposed


def test_files_are_proposed_where_a_file_is_taken() -> None:
    """The shell lists them itself; the names of policies are those of the registry."""
    shell = BashComplete(COMMANDS, {}, "kvopt", "_KVOPT_COMPLETE")
    for words in (["solve", "no-such-name"], ["solve", "--out", ""], ["evaluate", "--store", "r"]):
        (found,) = shell.get_completions(words[:-1], words[-1])
        assert found.type == "file"
    assert policy_names() == list(heuristics.policy_registry.policies())


@pytest.mark.parametrize(
    ("words", "proposed"), [("kvopt ev", "evaluate"), ("kvopt solve --thre", "--threads")]
)
def test_bash_completes(words: str, proposed: str, tmp_path: Path) -> None:
    """With the line that the help names, in a shell of its own; no solver or policy is loaded."""
    program = tmp_path / "kvopt"
    program.write_text(
        f"#!{sys.executable} -P\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from kvopt.commands.entry_point import kvopt\nkvopt()\n"
        "assert not {'highspy', 'ortools', 'pyomo', 'numba', 'pandas'} & sys.modules.keys()\n"
    )
    program.chmod(0o755)
    line = (
        'eval "$(_KVOPT_COMPLETE=bash_source kvopt)"\n'
        f"COMP_WORDS=({words}); COMP_CWORD={len(words.split()) - 1}\n"
        '_kvopt_completion kvopt; echo "${COMPREPLY[@]}"'
    )
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    shown = run_process("bash", "-c", line, env=os.environ | {"PATH": path})
    assert (shown.stdout, shown.stderr) == (f"{proposed}\n", "")
