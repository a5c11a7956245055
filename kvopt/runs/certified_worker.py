"""The process that evaluates a certificate: reads one line, sends the bound that is proved."""

from __future__ import annotations

import json
import sys

from instances.bulk import instance_of
from kvopt.runs.events import BoundProved, event_line
from kvopt.runs.stated_optimum import evaluated


def main() -> None:
    """Evaluate the certificate of the line (``kvopt.runs.certified``)."""
    told = json.loads(sys.stdin.readline())
    beside = (told["batch_time"], told["upper_bound"], told["certificate"])
    value = evaluated(instance_of(told["instance"]), *beside)
    sys.stdout.write(event_line(BoundProved(value=value, source="certificate")))


if __name__ == "__main__":
    main()
