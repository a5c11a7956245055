"""The command ``kvopt``: one name for all that a user calls.

Each subcommand imports what it needs when it is called, so that the first line comes at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import kvopt
from kvopt.commands.start import start_evaluate, start_solve

EXIT_OK = 0
EXIT_BAD_USAGE = 2


@dataclass(frozen=True)
class _Subcommand:
    """What ``--help`` says of it, and what runs it: arguments and the name it was called by."""

    summary: str
    run: Callable[[Sequence[str], str], int]


def main(arguments: Sequence[str] | None = None, program: str = "kvopt") -> int:
    """Run a subcommand and return its exit code; 2 with one line where there is no such one."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] in (["-h"], ["--help"]):
        return _tell(program, _help(program))
    if given == ["--version"]:
        return _tell(program, f"kvopt {kvopt.__version__}")
    if given and given[0] in _SUBCOMMANDS:
        return _SUBCOMMANDS[given[0]].run(given[1:], f"{program} {given[0]}")
    return _refuse(program, given)


def _check(arguments: Sequence[str], program: str) -> int:
    from schedules.check import main as check

    return check(arguments, program)


def _generate(arguments: Sequence[str], program: str) -> int:
    from instances.generate import main as generate

    return generate(arguments, program)


def _convert(arguments: Sequence[str], program: str) -> int:
    from instances.traces.convert import main as convert

    return convert(arguments, program)


def _memory(arguments: Sequence[str], program: str) -> int:
    from kvopt.commands.memory import main as memory

    return memory(arguments, program)


def _rates(arguments: Sequence[str], program: str) -> int:
    from kvopt.commands.rates import main as rates

    return rates(arguments, program)


def _show(arguments: Sequence[str], program: str) -> int:
    from kvopt.commands.show import main as show

    return show(arguments, program)


def _warm(arguments: Sequence[str], program: str) -> int:
    from kvopt.commands.warm import main as warm

    return warm(arguments, program)


def _best_known(arguments: Sequence[str], program: str) -> int:
    from kvopt.best_known.__main__ import main as best_known

    return best_known(arguments, program)


_SUBCOMMANDS = {
    "solve": _Subcommand("one instance with one method: schedule, bound, gap", start_solve),
    "evaluate": _Subcommand(
        "many instances with many methods: a store of runs, reports", start_evaluate
    ),
    "rates": _Subcommand("latency and goodput against the rate, with the bound below", _rates),
    "check": _Subcommand("a schedule file against its instance, in integers", _check),
    "generate": _Subcommand("an instance of a family", _generate),
    "convert": _Subcommand("a trace as an instance file", _convert),
    "warm": _Subcommand("compile all kernels, so that no run waits for them", _warm),
    "memory": _Subcommand("how many tokens a GPU's memory holds, step by step", _memory),
    "show": _Subcommand("a policy beside its paper's pseudocode, or a formulation", _show),
    "best-known": _Subcommand("the best values known: merge runs into them, verify", _best_known),
}


def _help(program: str) -> str:
    width = max(len(name) for name in _SUBCOMMANDS)
    return "\n".join(
        [
            f"usage: {program} COMMAND ...",
            "",
            "Scheduling of LLM inference under a KV-cache limit: optima, bounds, policies.",
            "",
            "commands (each has a --help):",
            *(f"  {name:<{width}}  {each.summary}" for name, each in _SUBCOMMANDS.items()),
            "",
            "options:",
            f"  {'--version':<{width}}  print the version",
            "",
            "exit code: that of the command; 2 for bad usage",
        ]
    )


def _refuse(program: str, given: Sequence[str]) -> int:
    from instances.telling import did_you_mean
    from instances.usage import complain

    expected = f"expected one of {', '.join(_SUBCOMMANDS)}"
    found = "found none" if not given else f"found {given[0]!r}"
    near = did_you_mean(given[0], _SUBCOMMANDS) if given else ""
    complain(program, f"{expected}, {found}{near or ' (see --help)'}")
    return EXIT_BAD_USAGE


def _tell(program: str, text: str) -> int:
    try:
        print(text, flush=True)
    except OSError:
        from instances.streams import steadily

        # Says why, unless the reader has merely gone.
        return steadily(program, lambda: print(text) or EXIT_OK)
    return EXIT_OK
