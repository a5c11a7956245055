"""The options of a trace on a command line, the same in every command that reads one."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields

from instances.model import MAX_SECONDS, MAX_TOKENS
from instances.telling import one_line
from instances.traces.formats import formats
from instances.traces.options import SEED_ALONE, TraceOptionError, TraceOptions
from instances.usage import read_integer, read_positive

#: Where the parser keeps them, so that they stand in no other option's way.
_PREFIX = "trace_"


def add_trace_options(parser: argparse.ArgumentParser) -> None:
    """Let a parser take the options of a trace; :func:`trace_options` returns them."""
    group = parser.add_argument_group("traces (docs/traces.md)")

    def add(option: str, **settings: object) -> None:
        dest = _PREFIX + option.removeprefix("--").replace("-", "_")
        group.add_argument(option, dest=dest, **settings)  # type: ignore[arg-type]

    _add_rows(add)
    _add_arrivals(add)
    _add_file(add)


def _add_rows(add: Callable[..., None]) -> None:
    """Add what of the rows is kept."""
    add(
        "--memory",
        type=lambda text: read_integer(text, 1, MAX_TOKENS),
        metavar="M",
        help="memory in tokens, which a trace does not state; requests that exceed it are skipped",
    )
    add(
        "--limit",
        type=lambda text: read_integer(text, 1, 10**9),
        metavar="N",
        help="keep the first N requests and read little further",
    )
    add(
        "--window",
        nargs=2,
        type=_time,
        metavar=("A", "B"),
        help="keep what arrives from A to before B, seconds since the first row; times count from "
        "A (else from the first request that is kept)",
    )


def _add_arrivals(add: Callable[..., None]) -> None:
    """Add what becomes of the arrivals."""
    add(
        "--rate",
        type=lambda text: read_positive(text, 10**9),
        metavar="LAMBDA",
        help="Poisson arrivals, so many requests a second, in place of the trace's own",
    )
    add(
        "--arrival-seed",
        type=lambda text: read_integer(text, 0, 2**63 - 1),
        metavar="K",
        help="seed of --rate (default: 0)",
    )
    add(
        "--round-seconds",
        type=lambda text: read_positive(text, MAX_SECONDS),
        metavar="S",
        help="turn seconds into rounds of S seconds: a request is visible to the first that begins "
        "at or after its arrival",
    )


def _add_file(add: Callable[..., None]) -> None:
    """Add how the file is read."""
    add(
        "--format",
        metavar="NAME",
        help=f"one of {', '.join(formats())} (default: told by the file's beginning)",
    )
    add(
        "--run",
        type=lambda text: read_integer(text, 1, 10**9),
        metavar="K",
        help="of a file with several runs, as vllm bench --append-result writes: the K-th",
    )
    add(
        "--tokenizer",
        metavar="NAME",
        help="for text: a tokenizer.json, or a name of the Hugging Face hub; needs the extra "
        "kvopt[tokenizers] (default: whitespace words)",
    )


def trace_options(options: argparse.Namespace) -> TraceOptions:
    """Return the options that were given, the others as they are by default.

    Raises
    ------
    TraceOptionError
        If they do not go together.
    """
    read = {each.name: getattr(options, _PREFIX + each.name) for each in fields(TraceOptions)}
    given = {name: value for name, value in read.items() if value is not None}
    if "arrival_seed" in given and "rate" not in given:
        raise TraceOptionError(SEED_ALONE)
    if "window" in given:
        given["window"] = tuple(given["window"])
    return TraceOptions(**given)


def _time(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(
            f"expected seconds from 0 to {MAX_SECONDS}, found {one_line(text, 80)!r}"
        )
    return value
