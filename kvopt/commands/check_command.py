"""The command ``kvopt check``: the checker's verdict, and a line on a bound that it leaves out."""

from copy import copy
from pathlib import Path

from schedules import check_command
from schedules.schedule_files import read_schedule
from support.click_command import CommandOptions

main = copy(check_command.main)


def _check(options: CommandOptions) -> int:
    code = int(check_command.main.callback(options))  # type: ignore[misc]
    # A pipe cannot be read twice.
    if not code and Path(options.schedule).is_file():
        schedule = read_schedule(options.schedule)
        if schedule.lower_bound is not None:
            claim = f"lower bound {schedule.lower_bound} (status {schedule.status})"
            print(f"not checked: the file claims {claim}; only a certificate proves a bound")
    return code


main.callback = _check
