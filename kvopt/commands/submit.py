"""The command ``kvopt submit``: schedules from outside, into the best-known values if better."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from instances.instance_names import FOLDER
from kvopt.best_known.library_and_ladder import LibraryWithLadder, library_by_hash
from kvopt.best_known.registry_files import (
    OWNED,
    PROOFS,
    REGISTRY_FILE,
    RegistryError,
    read_entries,
)
from kvopt.best_known.registry_verification import write_all
from kvopt.best_known.submitted_schedules import (
    EXIT_BETTER,
    EXIT_CONTRADICTION,
    EXIT_NONE_BETTER,
    SOLUTIONS,
    judge_files,
    merge_schedules,
)
from schedules import Schedule
from schedules.verdict import EXIT_CODES
from support.click_command import Command, CommandOptions, argument, option
from support.json_files import FileError
from support.message_text import one_line, plural
from support.output_checks import OutputError, check_folder
from support.progress import count_progress
from support.project_root import require_checkout
from support.usage_errors import UsageError, complain

#: Codes by rank: the first one that a file has counts for all.
_WORST = (EXIT_CONTRADICTION, EXIT_CODES["infeasible"], EXIT_CODES["malformed"])


@click.command(
    "kvopt submit",
    cls=Command,
    fails={2: (OutputError, RegistryError, FileError, OSError)},
    interrupted="interrupted: the same command begins anew",
    examples=("found.json", "found/ --check", "am1_00.sol"),
    codes="0 some are better, all are valid; 1 all are valid, none is better; 2 bad usage, or not "
    "written; 5 one is below a bound, or what the registry has of it is damaged: not taken; 10 one "
    "is malformed, or of no instance of the library; 21 one is infeasible.  Of several the last in "
    "this list, but 5 first; the better ones are taken all the same",
)
@argument("files", metavar="FILE...", nargs=-1, required=True)
@option("--check", is_flag=True, help="write nothing")
@option("--folder", "DIR", "(default: instances/)", Path, FOLDER)
def main(options: CommandOptions) -> int:
    """Compare schedules with the best values known, and write those that are better.

    FILE is a kvopt.schedule/1 file, a solution file next to its model (a.sol of a.mps), or a folder
    of them.  A pull request needs the written files.
    """
    if not options.check:
        if options.folder == FOLDER:
            require_checkout("--check writes nothing, --folder names another folder")
        check_folder("--folder", options.folder, OWNED)
    known = LibraryWithLadder(library_by_hash())
    better: dict[str, Schedule] = {}
    codes = set()
    files = count_progress(list(_files(options.files)), "files read")
    for each in judge_files(files, known, options.folder):
        print(one_line(each.line))
        codes.add(each.code)
        if each.schedule is not None:
            better[each.schedule.instance_sha256] = each.schedule
    if better and not options.check:
        merged = []
        for now, line in merge_schedules(better.values(), known, options.folder):
            if now is None:
                complain(options.program, line)
                codes.add(EXIT_CONTRADICTION)
            else:
                print(line)
                merged.append(now)
        if merged:
            write_all(merged, known, options.folder, read_entries(options.folder).values())
            print(
                f"wrote {options.folder / REGISTRY_FILE} and the schedules and certificates of "
                f"{plural(len(merged), 'instance')} below {options.folder / PROOFS}: "
                "a pull request, after python -m reports.library"
            )
    return next((c for c in _WORST if c in codes), EXIT_BETTER if better else EXIT_NONE_BETTER)


def _files(given: Iterable[str]) -> Iterator[Path]:
    """Yield files, sorted within a folder, or raise UsageError if a folder has none."""
    for each in map(Path, given):
        if not each.is_dir():
            yield each
            continue
        inside = sorted(path for path in each.rglob("*") if path.suffix in (".json", *SOLUTIONS))
        if not inside:
            raise UsageError(f"{each}: expected schedules in the folder, found none")
        yield from inside
