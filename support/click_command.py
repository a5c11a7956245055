"""Declarations and calls of commands, with click: each command returns its exit code."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem
from click.types import FuncParamType

from support.current_command import set_command
from support.machine_errors import MachineError, describe_shortage
from support.output_streams import run_steadily
from support.progress import show_progress
from support.usage_errors import UsageError, complain, read_integer

EXIT_BAD_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_MACHINE = 7
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
#: Beginning of an option, which is no value of the option before it.
_LIKE_OPTION = re.compile(r"-[-A-Za-z]")

_Declared = TypeVar("_Declared", bound=Callable[..., Any])
#: Texts by their files, and the files that stand where only these belong.
Generated = tuple[Mapping[Path, str], Iterable[Path]]
_GENERATED_CODES = "0 fresh; 1 --check found a difference, or a file cannot be written; 2 bad usage"


class CommandOptions(SimpleNamespace):
    """Values of a command line, the ``program`` that it names, and its ``caller``."""


class Command(click.Command):
    """A command that is called with its arguments and returns its exit code.

    ``fails`` are the exceptions that end it with one line, by exit code.  ``interrupted`` is the
    line after Ctrl-C, for ``EXIT_INTERRUPTED``.  The help shows the arguments ``examples``, and the
    meaning of exit ``codes``.
    """

    def __init__(
        self,
        *given: Any,
        fails: Mapping[int, tuple[type[Exception], ...]] | None = None,
        interrupted: str = "interrupted",
        examples: Sequence[str] = (),
        codes: str = "0 done; 2 bad usage or input",
        **settings: Any,
    ) -> None:
        super().__init__(*given, **settings | {"context_settings": CONTEXT})
        self.fails: dict[type[Exception], int] = {UsageError: EXIT_BAD_USAGE}
        self.fails |= {kind: code for code, kinds in (fails or {}).items() for kind in kinds}
        self.interrupted, self.examples, self.codes = interrupted, examples, codes

    def __call__(
        self, arguments: Sequence[str] | None = None, program: str = "", caller: Any = None
    ) -> int:
        """Run the command by the name that the user typed; return its exit code."""
        return run(self, arguments, program or str(self.name), caller)

    def invoke(self, ctx: click.Context) -> int:
        """Call the function; a known failure is one line and a code."""
        assert self.callback is not None
        program = ctx.command_path
        try:
            with show_progress(sys.stderr, quiet=bool(ctx.params.get("quiet"))):
                return int(
                    self.callback(CommandOptions(program=program, caller=ctx.obj, **ctx.params))
                )
        except tuple(self.fails) as error:
            if isinstance(error, OSError) and error.filename:
                complain(program, f"{error.filename}: {error.strerror}")
            else:
                complain(program, error)
            return next(code for kind, code in self.fails.items() if isinstance(error, kind))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by their groups."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx)):
                groups.setdefault(getattr(each, "group", "Options"), []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, each on one line, and the exit codes."""
        if self.examples:
            with formatter.section("Examples"):
                for each in self.examples:
                    formatter.write(f"  {ctx.command_path} {each}".rstrip() + "\n")
        formatter.write_paragraph()
        formatter.write_text(f"Exit codes: {self.codes}.")


class GroupedOption(click.Option):
    """An option whose value is never the next option; the help shows it below its group."""

    def __init__(self, *given: Any, group: str = "Options", type: Any = None, **settings: Any):
        is_reader = callable(type) and not isinstance(type, click.ParamType)
        settings["type"] = _Read(type) if is_reader else type
        super().__init__(*given, **settings)
        self.group = group

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Read the value, or refuse one that looks like an option."""
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, str) and not self.is_flag and _LIKE_OPTION.match(each):
                raise click.BadParameter(f"expected a value, found {each}", ctx, self)
        return super().process_value(ctx, value)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return proposals for the value: names, or else files where it is one."""
        found = super().shell_complete(ctx, incomplete)
        kind = {"FILE": "file", "DIR": "dir"}.get(str(self.metavar))
        return found or ([CompletionItem(incomplete, type=kind)] if kind else [])


class _Read(FuncParamType):  # type: ignore[type-arg,unused-ignore]
    """A value that a function reads from a text, or refuses by a ``ValueError``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value."""
        try:
            return self.func(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


class ProposedNames(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A text for which the shell proposes names (between ``commas``), or else files."""

    name = "text"

    def __init__(
        self, names: Callable[[], Iterable[str]], *, or_files: bool = False, commas: bool = False
    ) -> None:
        self._names, self._or_files, self._commas = names, or_files, commas

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin so."""
        del ctx, param
        before, comma, last = incomplete.rpartition(",") if self._commas else ("", "", incomplete)
        found = [each for each in self._names() if each.startswith(last)]
        if self._or_files and not found:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(f"{before}{comma}{each}") for each in found]


def option(
    name: str,
    metavar: str | None = None,
    help: str = "",
    type: Any = None,
    default: Any = None,
    dest: str = "",
    **settings: Any,
) -> Callable[[_Declared], _Declared]:
    """Return the declaration of an option, kept as ``dest`` if that is given."""
    settings |= {"metavar": metavar, "help": help, "type": type}
    settings |= {} if default is None else {"default": default}
    return click.option(*filter(None, (name, dest)), cls=GroupedOption, **settings)


def count_option(name: str, default: int, meaning: str) -> Callable[[_Declared], _Declared]:
    """Return an option for the most of something that a page has, 0 to 10⁶."""
    shown = f"{meaning} (default: {default})"
    return option(name, "N", shown, lambda text: read_integer(text, 0, 10**6), default)


argument = click.argument


def join_options(
    *declarations: Callable[[_Declared], _Declared],
) -> Callable[[_Declared], _Declared]:
    """Return the declarations of several options as one, in their order."""
    return lambda function: reduce(lambda made, each: each(made), reversed(declarations), function)


def run(
    command: click.Command, arguments: Sequence[str] | None, program: str, caller: Any = None
) -> int:
    """Run a command by the name that the user typed; return its exit code, 2 for bad usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)

    def answer() -> int:
        try:
            with command.make_context(program, list(given), obj=caller) as context:
                return int(context.command.invoke(context))
        except click.exceptions.Exit as end:
            return end.exit_code
        except click.UsageError as error:
            complain(error.ctx.command_path if error.ctx else program, error.format_message())
            return EXIT_BAD_USAGE
        except KeyboardInterrupt:
            complain(program, getattr(command, "interrupted", "interrupted"))
            return EXIT_INTERRUPTED
        except (MachineError, OSError, RuntimeError) as error:
            if not (why := describe_shortage(error)):
                raise
            complain(program, why)
            return EXIT_MACHINE

    with set_command([*program.split(), *given]):
        return run_steadily(program, answer)


CHECK_OPTION = option(
    "--check", is_flag=True, help="write nothing; exit with 1 if a file is not what it shall be"
)
QUIET_OPTION = option("--quiet", is_flag=True, help="print nothing of how far it is")


def generating_command(name: str, texts: Callable[[], Generated]) -> Command:
    """Return the command that writes, or compares, generated files that are committed.

    ``texts`` returns the text of each file, and the files that stand where only these belong.
    """

    @click.command(name, cls=Command, codes=_GENERATED_CODES, examples=("", "--check"))
    @CHECK_OPTION
    @QUIET_OPTION
    def main(options: CommandOptions) -> int:
        """Write the generated files that are committed."""
        from support.generated_files import regenerate  # no other command needs it

        wanted, present = texts()
        return regenerate(options.program, wanted, present, check=options.check)

    return main


def refuse_both(options: CommandOptions, *names: str) -> None:
    """Raise a UsageError if more than one of these options is given."""
    given = [each for each in names if getattr(options, each[2:].replace("-", "_"))]
    if len(given) > 1:
        raise UsageError(f"{given[1]}: not allowed with {given[0]}")


def refuse_suffixes(options: CommandOptions, wanted: Mapping[str, Sequence[str]]) -> None:
    """Raise a UsageError for an output whose name has none of its suffixes."""
    for name, suffixes in wanted.items():
        path = getattr(options, name)
        if path is not None and Path(path).suffix.lower() not in suffixes:
            shown, expected = name.replace("_", "-"), " or ".join(suffixes)
            raise UsageError(f"--{shown}: expected a name with {expected}, found {path}")
