"""The command ``kvopt challenge``: entries from outside on hidden draws, ranked on one page."""

import hashlib
import os
from contextlib import chdir
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from instances import InfeasibleInstanceError, write_instance
from kvopt.checked_numbers import read_count, read_gigabytes, read_seconds
from kvopt.commands import completion, evaluate
from kvopt.suites import SuiteSection, read_suite
from kvopt.suites.hidden_draws import hidden_source, read_secret
from kvopt.sweeps.challenge_entries import keep_entry
from serving.commands.shared_parts import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_REFUSED, RESUMES
from support.click_command import QUIET_OPTION, Command, CommandOptions, argument, option
from support.json_files import file_holds, write_text
from support.output_checks import check_folder, describe_error
from support.project_root import ROOT
from support.usage_errors import UsageError, complain

#: Parts of a board's folder: entries, runs, page, and the hash of its secret.
_ENTRIES, _RUNS, _PAGE, _COMMITMENT = "entries", "runs.sqlite", "page", "secret.sha256"


@click.command(
    "kvopt challenge",
    cls=Command,
    fails={EXIT_BAD_INPUT: (ValueError, OSError, InfeasibleInstanceError)},
    interrupted=RESUMES,
    examples=(
        "mine.py found.jsonl --secret secret.txt --board board",
        "--secret secret.txt --instances public",
    ),
    codes="0 all entries are scored; 1 an entry is refused, or fails on all its runs; 2 bad usage "
    "or input; 5 a schedule or bound is refused; 6 the store failed",
)
@argument("entries", metavar="[ENTRY]...", nargs=-1)
@option("--secret", "FILE", "one line that decides the draws", required=True)
@option("--board", "DIR", "keep entries and runs, and write the page", Path)
@option("--instances", "DIR", "write the draws, for entries of schedules", Path)
@option("--suite", "SUITE", "of draws (default: challenge)", completion.inputs, "challenge")
@option("--predictions", "P", "of policies that take them (default: noise(0.5))", str, "noise(0.5)")
@option("--time-limit", "S", "seconds of an entry's run (default: the suite's)", read_seconds)
@option("--memory-limit", "GB", "resident memory of it (default: the suite's)", read_gigabytes)
@option("--jobs", "N", "runs side by side (default: 1)", read_count, 1)
@QUIET_OPTION
def main(options: CommandOptions) -> int:
    """Score entries on hidden draws, and rank them with all earlier ones.

    ENTRY is one file, a program with your rights: Python that defines POLICY or solve, another
    program, or schedules (.jsonl, one kvopt.schedule/1 a line).  Earlier runs are not repeated.
    """
    if not (options.board or (options.instances and not options.entries)):
        raise UsageError("expected --board, or --instances without an ENTRY")
    for place in filter(None, (options.secret, options.board)):
        if Path(place).resolve().is_relative_to(ROOT):
            raise UsageError(f"{place}: expected a place outside of {ROOT}, where entries run")
    secret = read_secret(options.secret)
    sections = read_suite(options.suite, partial(hidden_source, secret)).sections
    if options.instances:
        check_folder("--instances", options.instances, ())
        for section in sections:
            _write_draws(section, options.instances)
    if not options.board:
        return 0
    check_folder("--board", options.board, (f"{_ENTRIES}/", f"{_PAGE}/"))
    committed = hashlib.sha256(secret.encode()).hexdigest()
    kept = options.board / _COMMITMENT
    if kept.exists() and not file_holds(kept, committed):
        raise UsageError(f"{options.board}: expected the board of this secret, found another's")
    write_text(kept, committed)
    return _score(sections, options)


def _write_draws(section: SuiteSection, folder: Path) -> None:
    """Write the instances of a section."""
    folder.mkdir(exist_ok=True)
    for source in section.sources:
        write_instance(drawn := source.read()[0], folder / f"{drawn.name}.json")


def _score(sections: tuple[SuiteSection, ...], options: CommandOptions) -> int:
    """Run the entries and the suite's methods, and write the page; return the worst code."""
    from reports.build import main as build  # loads the drawing: a second

    board, given = options.board.absolute(), [Path(each).absolute() for each in options.entries]
    entered, codes = list[str](), [0]
    # No run finds secret, board or draws next to it, or by its environment.
    for name in ("PWD", "OLDPWD"):
        os.environ.pop(name, None)
    with TemporaryDirectory() as draws, TemporaryDirectory() as place, chdir(place):
        for each in given:
            try:
                entered.append(keep_entry(each, board / _ENTRIES, Path(place)))
            except (OSError, ValueError) as error:
                complain(options.program, f"{each.name}: refused: {describe_error(error)}")
                codes.append(EXIT_FAILED)
        runs = ["--store", str(board / _RUNS)]
        for section in sections:
            _write_draws(section, Path(draws, section.name))
            more = [*_arguments(section, entered, options), f"{draws}/{section.name}"]
            codes.append(evaluate.main([*runs, *more], options.program))
            if codes[-1] not in (0, EXIT_FAILED, EXIT_REFUSED):
                return codes[-1]
        # No page of an instance: the draws stay hidden.
        hidden = ["--pages", "0", "--pictures", "0", *(["--quiet"] * options.quiet)]
        codes.append(build([*runs, "--out", str(board / _PAGE), *hidden], options.program))
        if not options.quiet:
            evaluate.main(runs, options.program)
    return max(codes)


def _arguments(section: SuiteSection, entered: list[str], options: CommandOptions) -> list[str]:
    """Return the arguments of a section's runs; entries run in sections of policies."""
    policies = section.role == "policies"
    own = options if policies else section
    limits: dict[str, object] = {
        "--time-limit": own.time_limit or section.time_limit,
        "--memory-limit": own.memory_limit or section.memory_limit,
        "--batch-time": section.batch_time and section.batch_time.name,
    }
    limits |= {"--seeds": section.seeds, "--threads": section.threads, "--jobs": options.jobs}
    limits["--predictions"] = options.predictions if policies else None
    given = [(name, str(value)) for name, value in limits.items() if value is not None]
    methods = [each.text for each in section.methods] + (entered if policies else [])
    given += [("--methods", each) for each in methods]
    return ["--quiet", *(word for pair in given for word in pair)]
