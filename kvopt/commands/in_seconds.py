"""The options of commands for instances in seconds, and what of them goes together."""

from __future__ import annotations

import argparse

from instances import Instance
from instances.batch_time import DEFAULT, BatchTime
from kvopt.running.batch_time import InSecondsError, batch_time_of, read_wish, too_late
from schedules.real_time.slo import Slo, read_slo


def add_batch_time(parser: argparse.ArgumentParser) -> None:
    """Let a parser take ``--batch-time``."""
    parser.add_argument(
        "--batch-time",
        metavar="TEXT",
        help="how long a round takes where arrivals are in seconds: a batch time of --list, as in "
        f'"affine(base=50,token=0.5)" or "fitted(FILE.csv)" (default: {DEFAULT})',
    )


def add_slo(parser: argparse.ArgumentParser) -> None:
    """Let a parser take ``--slo``."""
    parser.add_argument(
        "--slo",
        metavar="TEXT",
        type=_slo,
        help="the objective that goodput counts by, seconds (or ms) at most: "
        "ttft:0.5,tpot:50ms,e2el:30, one of them at least",
    )


def add_serving(parser: argparse.ArgumentParser) -> None:
    """Let a parser take all options of one run in seconds."""
    add_batch_time(parser)
    add_slo(parser)
    parser.add_argument(
        "--requests",
        metavar="FILE",
        help="write one row a request: its times, latencies and evictions (.csv or .parquet)",
    )


def chosen_batch_time(instance: Instance, options: argparse.Namespace) -> BatchTime | None:
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


def _slo(text: str) -> Slo:
    try:
        return read_slo(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
