"""Command: draws the README's picture of why MC-SF loses, ``python -m reports.pictures``.

The optimum of the library's ``example_3_1`` (W Example 3.1) above the schedule of MC-SF: the
request with the shortest output holds all of the memory, and 21 small ones wait for it.
"""

import sys
from pathlib import Path

from heuristics.policy_registry import policies
from heuristics.simulator import run_policy
from instances.instance_files import read_instance
from instances.instance_names import find_instance
from kvopt.best_known import known_values
from schedules.schedule_files import read_schedule
from schedules.schedule_picture import pair_picture, picture_image
from support.click_command import Generated, generating_command

FOLDER = Path(__file__).parent
INSTANCE, POLICY = "example_3_1", "mc-sf"


def _generated() -> Generated:
    instance = read_instance(find_instance(INSTANCE))
    best = read_schedule(known_values()[instance.sha256]["schedule"])
    figure = pair_picture(instance, best, run_policy(policies()[POLICY], instance))
    wanted = {FOLDER / f"{INSTANCE}.svg": picture_image(figure, "svg").decode()}
    return wanted, wanted


main = generating_command("python -m reports.pictures", _generated)


if __name__ == "__main__":
    sys.exit(main())
