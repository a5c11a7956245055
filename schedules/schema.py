"""The committed JSON Schema of schedules, ``python -m schedules.schema [--check]``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from instances.committed import regenerate
from schedules.files import SCHEMA_FILE, schedule_schema


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 if ``--check`` found a difference, else 0."""
    texts = {SCHEMA_FILE: json.dumps(schedule_schema(), indent=1) + "\n"}
    return regenerate("python -m schedules.schema", texts, (), arguments)


if __name__ == "__main__":
    sys.exit(main())
