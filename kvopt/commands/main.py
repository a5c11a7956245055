"""The command ``kvopt``, with a subcommand for each command, imported when a user calls it."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

import kvopt
from support.click_command import CONTEXT, Command, run

#: Module and short help of each subcommand.
_SUBCOMMANDS = {
    "solve": ("kvopt.commands.solve", "one instance with one method: schedule, bound, gap"),
    "evaluate": ("kvopt.commands.evaluate", "many instances with many methods: runs, reports"),
    "rates": ("serving.commands.rates_command", "latency, goodput and bound against the rate"),
    "capacity": ("serving.commands.capacity_command", "the largest rate that keeps an objective"),
    "check": ("kvopt.commands.check_command", "a schedule file against its instance, in integers"),
    "generate": ("instances.generate", "an instance of a family"),
    "convert": ("serving.traces.convert", "a trace as an instance file"),
    "warm": ("kvopt.commands.warm", "compile all kernels, so that no run waits for them"),
    "memory": ("serving.commands.memory_command", "the tokens that a GPU's memory holds"),
    "rounds": ("serving.commands.rounds", "the rounds of a log of vLLM, and a batch time of them"),
    "calibrate": ("serving.commands.calibrate", "a batch time from measured requests, its error"),
    "show": ("kvopt.commands.show_code", "a policy and its paper's pseudocode, or a formulation"),
    "best-known": ("kvopt.best_known.__main__", "the best values known: print, verify, merge runs"),
    "read-solution": ("kvopt.commands.read_solution", "a model's solution file as a schedule"),
    "submit": ("kvopt.commands.submit", "schedules from outside into the best values known"),
    "challenge": ("kvopt.commands.challenge", "entries from outside on hidden draws, ranked"),
    "site": ("kvopt.commands.site_command", "documentation, leaderboard and library as pages"),
}
#: Options that can be imported without the command, for the shell's proposals.
_APART = {
    "solve": ("kvopt.commands.solve_arguments", "OPTIONS"),
    "evaluate": ("kvopt.commands.evaluate_arguments", "OPTIONS"),
    "rates": ("serving.commands.workload_arguments", "RATES"),
    "capacity": ("serving.commands.workload_arguments", "CAPACITY"),
}


def subcommand(name: str) -> Command:
    """Import a subcommand."""
    command: Command = import_module(_SUBCOMMANDS[name][0]).main
    return command


class _Lazy(click.Command):
    """A subcommand that is imported at its call; the shell's proposals need its options alone."""

    def make_context(
        self, info_name: str | None, args: list[str], *parent: Any, **extra: Any
    ) -> click.Context:
        """Return the context of the subcommand itself."""
        name = str(self.name)
        command: click.Command
        if extra.get("resilient_parsing") and name in _APART:
            module, declared = _APART[name]
            options = getattr(import_module(module), declared)
            command = click.command(name)(options(lambda: None))
        else:
            command = subcommand(name)
        return command.make_context(info_name, args, *parent, **extra)


class _Group(click.Group):
    """The subcommands, the most used first."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Return their names."""
        return list(self.commands)


COMMANDS = _Group(
    "kvopt",
    {name: _Lazy(name, short_help=words) for name, (_, words) in _SUBCOMMANDS.items()},
    help="Scheduling of LLM inference under a KV-cache limit: optima, bounds, policies.",
    epilog='Tab completion in bash: eval "$(_KVOPT_COMPLETE=bash_source kvopt)" (zsh: zsh_source).',
    context_settings=CONTEXT,
    subcommand_metavar="COMMAND ...",
    no_args_is_help=False,
)
click.version_option(kvopt.__version__, message="kvopt %(version)s")(COMMANDS)


def main(arguments: Sequence[str] | None = None, program: str = "kvopt", caller: Any = None) -> int:
    """Run a subcommand by the name that the user typed; return its exit code, 2 without one."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in _SUBCOMMANDS:
        return subcommand(given[0])(given[1:], f"{program} {given[0]}", caller)
    return run(COMMANDS, given, program)
