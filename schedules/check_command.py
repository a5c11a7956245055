"""The command ``kvopt check``, also ``python -m schedules.check``."""

import sys

import click

from instances.instance import InfeasibleInstanceError
from instances.instance_files import read_instance
from instances.instance_names import describe_hidden, find_instance
from schedules.check import check_schedule
from schedules.schedule_files import read_schedule
from schedules.verdict import EXIT_CODES
from support.click_command import Command, CommandOptions, argument
from support.json_files import FileError
from support.message_text import one_line
from support.usage_errors import complain


@click.command(
    "python -m schedules.check",
    cls=Command,
    examples=("uniform_100 found.json",),
    codes="0 valid; 2 bad usage; 10 malformed or unreadable; 21 infeasible",
)
@argument("instance", metavar="INSTANCE")
@argument("schedule", metavar="SCHEDULE")
def main(options: CommandOptions) -> int:
    """Check a schedule file against its instance, in integers.

    INSTANCE is a name of the library or an instance file, SCHEDULE a kvopt.schedule/1 file.
    """
    if hidden := describe_hidden(options.instance):
        complain(options.program, hidden)
    try:
        instance = read_instance(find_instance(options.instance))
        schedule = read_schedule(options.schedule)
    except (InfeasibleInstanceError, FileError) as error:
        print(one_line(error), file=sys.stderr)
        return EXIT_CODES["malformed"]
    verdict = check_schedule(instance, schedule)
    print(verdict)
    return verdict.exit_code
