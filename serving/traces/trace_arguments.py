"""The options of a trace on a command line, for every command that reads one."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from click import FLOAT, INT
from click.types import IntParamType

from serving.traces.formats import formats
from serving.traces.trace_options import SEED_ALONE, TraceOptionError, TraceOptions
from support.click_command import CommandOptions, ProposedNames, join_options, option

_PREFIX = "trace_"
_TOKENS = IntParamType()
_TOKENS.name = "number of tokens (see kvopt memory)"


def _option(name: str, metavar: str, help: str, **settings: Any) -> Callable[[Any], Any]:
    stored = _PREFIX + name.removeprefix("--").replace("-", "_")
    group = "Traces (docs/traces.md)"
    return option(name, metavar, help, dest=stored, group=group, **settings)


#: Let a command take the options of a trace; :func:`trace_options` returns them.
TRACE_OPTIONS = join_options(
    _option("--memory", "M", "tokens, if the trace states none (see kvopt memory)", type=_TOKENS),
    _option("--limit", "N", "keep the first N requests", type=INT),
    _option("--window", "A B", "keep arrivals from A to before B, in seconds", type=FLOAT, nargs=2),
    _option("--rate", "LAMBDA", "Poisson arrivals, so many a second", type=FLOAT),
    _option("--arrival-seed", "K", "seed of --rate (default: 0)", type=INT),
    _option("--round-seconds", "S", "turn seconds into rounds of S seconds", type=FLOAT),
    _option("--format", "NAME", "of the file (default: by its start)", type=ProposedNames(formats)),
    _option("--run", "K", "the K-th of several runs in one file", type=INT),
    _option("--tokenizer", "NAME", "of text: tokenizer.json or a hub's name (default: words)"),
)


def trace_options(options: CommandOptions) -> TraceOptions:
    """Return the given options, the others at their defaults."""
    read = {each.name: getattr(options, _PREFIX + each.name) for each in fields(TraceOptions)}
    given = {name: value for name, value in read.items() if value is not None}
    if "arrival_seed" in given and "rate" not in given:
        raise TraceOptionError(SEED_ALONE)
    return TraceOptions.of(given)
