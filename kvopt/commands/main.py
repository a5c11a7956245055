"""The command ``kvopt``: one name for all that a user calls.

Each subcommand imports what it needs when it is called, so that the first line comes at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

import kvopt

if TYPE_CHECKING:
    from support.command import Command

#: Where each subcommand is, and what the help says of it.
_SUBCOMMANDS = {
    "solve": ("kvopt.commands.solve", "one instance with one method: schedule, bound, gap"),
    "evaluate": (
        "kvopt.commands.evaluate",
        "many instances with many methods: a store of runs, reports",
    ),
    "rates": ("kvopt.commands.rates", "latency and goodput against the rate, with the bound below"),
    "capacity": (
        "kvopt.commands.capacity",
        "the largest sustained rate at which nearly all requests keep an objective",
    ),
    "check": ("schedules.check_command", "a schedule file against its instance, in integers"),
    "generate": ("instances.generate", "an instance of a family"),
    "convert": ("instances.traces.convert", "a trace as an instance file"),
    "warm": ("kvopt.commands.warm", "compile all kernels, so that no run waits for them"),
    "memory": ("kvopt.commands.memory", "how many tokens a GPU's memory holds, step by step"),
    "rounds": ("kvopt.commands.rounds", "the rounds of a log of vLLM, and a batch time of them"),
    "show": ("kvopt.commands.show", "a policy beside its paper's pseudocode, or a formulation"),
    "best-known": (
        "kvopt.best_known.__main__",
        "the best values known: merge runs into them, verify",
    ),
    "read-solution": (
        "kvopt.commands.read_solution",
        "the solution file of an exported model as a schedule, checked",
    ),
    "submit": (
        "kvopt.commands.submit",
        "schedules from outside against the best values known, and into them",
    ),
    "site": ("kvopt.commands.site", "documentation, leaderboard and library as pages"),
}
#: Those whose options can be imported without what runs them, and where these are.
_APART = {
    "solve": ("solve_arguments", "OPTIONS"),
    "evaluate": ("evaluate_arguments", "OPTIONS"),
    "rates": ("workload_arguments", "RATES"),
    "capacity": ("workload_arguments", "CAPACITY"),
}


def subcommand(name: str) -> Command:
    """Import a subcommand."""
    command: Command = import_module(_SUBCOMMANDS[name][0]).main
    return command


class _Group(click.Group):
    """The subcommands, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return their names, the most used first."""
        del ctx
        return list(_SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand, if there is one of that name; for the shell its options alone."""
        if ctx.resilient_parsing and cmd_name in _APART:
            module, declared = _APART[cmd_name]
            options = getattr(import_module(f"kvopt.commands.{module}"), declared)
            return click.command(cmd_name)(options(lambda: None))
        return subcommand(cmd_name) if cmd_name in _SUBCOMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return a subcommand and its arguments, or refuse the name with the nearest ones."""
        if args[0] not in _SUBCOMMANDS and not ctx.resilient_parsing:
            from support.text import did_you_mean

            near = did_you_mean(args[0], _SUBCOMMANDS) or " (see --help)"
            ctx.fail(f"{_EXPECTED}, found {args[0]!r}{near}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each subcommand does, and import none."""
        del ctx
        with formatter.section("Commands (each has a --help)"):
            formatter.write_dl([(name, told) for name, (_, told) in _SUBCOMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Propose subcommands and options; none is imported for it."""
        found = click.Command.shell_complete(self, ctx, incomplete)
        items = [
            click.shell_completion.CompletionItem(name, help=told)
            for name, (_, told) in _SUBCOMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*items, *found]


_EXPECTED = f"expected one of {', '.join(_SUBCOMMANDS)}"
COMMANDS = _Group(
    "kvopt",
    help="Scheduling of LLM inference under a KV-cache limit: optima, bounds, policies.",
    epilog='Tab completion in bash: eval "$(_KVOPT_COMPLETE=bash_source kvopt)" (zsh: zsh_source).',
    params=[click.Option(["--version"], is_flag=True, help="Print the version.")],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    subcommand_metavar="COMMAND ...",
)


def main(arguments: Sequence[str] | None = None, program: str = "kvopt", caller: Any = None) -> int:
    """Run a subcommand and return its exit code; 2 with one line where there is no such one.

    Parameters
    ----------
    program
        The name by which the user called it.
    caller
        What is handed on to the subcommand.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in _SUBCOMMANDS:
        return subcommand(given[0])(given[1:], f"{program} {given[0]}", caller)
    if given in (["-h"], ["--help"]):
        with COMMANDS.make_context(program, [], resilient_parsing=True) as context:
            return _tell(program, COMMANDS.get_help(context))
    if given == ["--version"]:
        return _tell(program, f"kvopt {kvopt.__version__}")
    from support.command import run

    if not given or given[0].startswith("-"):
        from support.usage import complain

        complain(program, f"{_EXPECTED}, found {given[0] if given else 'none'} (see --help)")
        return 2
    return run(COMMANDS, given, program)


def _tell(program: str, text: str) -> int:
    try:
        print(text, flush=True)
    except OSError:
        from support.streams import steadily

        # Says why, unless the reader has merely gone.
        return steadily(program, lambda: print(text) or 0)
    return 0
