"""The command ``kvopt read-solution``: a solution file of an exported model as a schedule."""

from collections.abc import Mapping

import click

from instances.instance import InfeasibleInstanceError
from instances.instance_files import read_instance
from instances.instance_names import find_instance
from kvopt.best_known.library_and_ladder import LibraryInstance, LibraryWithLadder, library_by_hash
from kvopt.solution_file import schedule_of_solution
from schedules import check_schedule, write_schedule
from schedules.verdict import EXIT_CODES
from support.click_command import Command, CommandOptions, argument, option
from support.json_files import FileError
from support.output_checks import OutputError, check_outputs


@click.command(
    "kvopt read-solution",
    cls=Command,
    fails={
        2: (OutputError, OSError),
        EXIT_CODES["malformed"]: (FileError, InfeasibleInstanceError),
    },
    examples=(
        "am1_00.mps am1_00.sol --out found.json",
        "mine.lp mine.sol --instance mine.json --by 'SCIP 9.2'",
    ),
    codes="0 a valid schedule; 2 bad usage; 10 malformed or unreadable; 21 infeasible",
)
@argument("model", metavar="MODEL")
@argument("solution", metavar="SOLUTION")
@option("--instance", "FILE", "of the model (default: the library's, by its hash)")
@option("--by", "TEXT", "what found it, as in 'SCIP 9.2' (default: MODEL's name)")
@option("--out", "FILE", "write the schedule")
def main(options: CommandOptions) -> int:
    """Read the solution of a model that solve --write-model wrote, and check its schedule.

    MODEL is that .mps or .lp file, SOLUTION what a solver wrote of it: SCIP, Gurobi, HiGHS, CBC,
    CPLEX or GLPK.
    """
    known: Mapping[str, LibraryInstance]
    if options.instance is None:
        known, of = LibraryWithLadder(library_by_hash()), "an instance of the library"
    else:
        given = read_instance(find_instance(options.instance))
        known, of = {given.sha256: LibraryInstance("", given)}, repr(given.name)
    check_outputs({"--out": options.out}, (options.model, options.solution))
    schedule = schedule_of_solution(
        options.model, options.solution, lambda sha: known[sha].instance, options.by or "", of
    )
    verdict = check_schedule(known[schedule.instance_sha256].instance, schedule)
    print(verdict)
    if verdict.valid and options.out is not None:
        write_schedule(schedule, options.out)
    return verdict.exit_code
