"""The committed JSON Schema of schedules, ``python -m schedules.schema [--check]``."""

import json
import sys

from schedules.schedule_files import SCHEMA_FILE, schedule_schema
from support.click_command import Generated, generating_command


def _generated() -> Generated:
    return {SCHEMA_FILE: json.dumps(schedule_schema(), indent=1) + "\n"}, ()


main = generating_command("python -m schedules.schema", _generated)


if __name__ == "__main__":
    sys.exit(main())
