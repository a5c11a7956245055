"""The options of a trace on a command line, the same in every command that reads one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from instances.model import MAX_SECONDS, MAX_TOKENS
from instances.traces.formats import formats
from instances.traces.options import SEED_ALONE, TraceOptionError, TraceOptions
from support.command import Options, beginning, option, together
from support.text import one_line
from support.usage import read_integer, read_positive

#: Where the parser keeps them, so that they stand in no other option's way.
_PREFIX = "trace_"


def _time(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= MAX_SECONDS:
        raise ValueError(f"expected seconds from 0 to {MAX_SECONDS}, found {one_line(text, 80)!r}")
    return value


def _tokens(text: str) -> int:
    try:
        return read_integer(text, 1, MAX_TOKENS)
    except ValueError as error:
        raise ValueError(f"{error}; kvopt memory computes the tokens of GPUs") from None


def _option(name: str, help: str, **settings: Any) -> Callable[[Any], Any]:
    stored = _PREFIX + name.removeprefix("--").replace("-", "_")
    return option(name, stored, group="Traces (docs/traces.md)", help=help, **settings)


#: Let a command take the options of a trace; :func:`trace_options` returns them.
TRACE_OPTIONS = together(
    _option(
        "--memory",
        type=_tokens,
        metavar="M",
        help="memory in tokens, which a trace does not state",
    ),
    _option(
        "--limit",
        type=lambda text: read_integer(text, 1, 10**9),
        metavar="N",
        help="keep the first N requests",
    ),
    _option(
        "--window",
        nargs=2,
        type=_time,
        metavar="A B",
        help="keep arrivals from A to before B, in seconds",
    ),
    _option(
        "--rate",
        type=lambda text: read_positive(text, 10**9),
        metavar="LAMBDA",
        help="Poisson arrivals, so many a second, not the trace's own",
    ),
    _option(
        "--arrival-seed",
        type=lambda text: read_integer(text, 0, 2**63 - 1),
        metavar="K",
        help="seed of --rate (default: 0)",
    ),
    _option(
        "--round-seconds",
        type=lambda text: read_positive(text, MAX_SECONDS),
        metavar="S",
        help="turn seconds into rounds of S seconds",
    ),
    _option(
        "--format",
        metavar="NAME",
        shell_complete=lambda *asked: beginning(asked[-1], formats()),
        help="format of the file (default: found by its beginning)",
    ),
    _option(
        "--run",
        type=lambda text: read_integer(text, 1, 10**9),
        metavar="K",
        help="the K-th of several runs in one file",
    ),
    _option(
        "--tokenizer",
        metavar="NAME",
        help="of text: tokenizer.json or a hub's name (default: words)",
    ),
)


def trace_options(options: Options) -> TraceOptions:
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
