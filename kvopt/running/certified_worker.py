"""The process that evaluates a certificate: reads one line, sends the bound that is proved."""

from __future__ import annotations

import json
import sys

from instances.bulk import instance_of
from kvopt.running.events import BoundProved, event_line
from kvopt.running.stated_optimum import evaluated, evaluated_in_seconds


def main() -> None:
    """Evaluate the certificate of the line (``kvopt.running.certified``)."""
    told = json.loads(sys.stdin.readline())
    instance, certificate = instance_of(told["instance"]), told["certificate"]
    if instance.time_unit == "second":
        value = evaluated_in_seconds(instance, told["batch_time"], certificate)
    else:
        value = evaluated(instance, told["upper_bound"], certificate)
    sys.stdout.write(event_line(BoundProved(value=value, source="certificate")))


if __name__ == "__main__":
    main()
