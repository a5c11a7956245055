"""The options of commands for instances in seconds, and what of them goes together."""

from __future__ import annotations

from instances import Instance
from instances.batch_time import DEFAULT, BatchTime
from instances.command import Options, option, together
from kvopt.commands import completion
from kvopt.running.batch_time import InSecondsError, batch_time_of, read_wish, too_late
from schedules.real_time.slo import read_slo

#: Lets a command take ``--batch-time``.
BATCH_TIME_OPTION = option(
    "--batch-time",
    metavar="TEXT",
    shell_complete=completion.clocks,
    help=f"how long rounds take (default: {DEFAULT})",
)
#: Lets a command take ``--slo``.
SLO_OPTION = option(
    "--slo",
    metavar="TEXT",
    type=read_slo,
    help="objective of goodput, as in ttft:0.5,tpot:50ms,e2el:30",
)
#: Lets a command take all options of one run in seconds.
SERVING_OPTIONS = together(
    BATCH_TIME_OPTION,
    SLO_OPTION,
    option(
        "--requests",
        metavar="FILE",
        help="write a row a request in seconds (.csv or .parquet)",
    ),
)


def chosen_batch_time(instance: Instance, options: Options) -> BatchTime | None:
    """Return the batch time that a run takes; None for an instance in rounds.

    Raises
    ------
    InSecondsError
        If it is none, options are given that an instance in rounds has no use for, or a request
        arrives later than nanoseconds hold.
    """
    wished = read_wish(options.batch_time)
    if not batch_time_of(instance, wished):
        for option in ("slo", "requests"):
            if getattr(options, option) is not None:
                raise InSecondsError(
                    f"--{option}: goes with arrivals in seconds, {instance.name} has them in rounds"
                )
        return None
    if reason := too_late(instance):
        raise InSecondsError(reason)
    return wished or read_wish(DEFAULT)
