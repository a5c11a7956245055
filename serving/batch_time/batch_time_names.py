"""The batch-time models in ``kinds``, and the text that names one.

The text is ``NAME`` or ``NAME(option=value, ...)``, then `` on GPU`` for numbers that name no GPU,
then `` with running=R,budget=B`` for limits of vLLM's scheduler other than the GPU's
(``max_num_seqs``, ``max_num_batched_tokens``).  The numbers of a model are decimal milliseconds.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from instances.batch_time import BatchTime, BatchTimeError
from serving.batch_time import kinds
from serving.batch_time.batch_time_kind import BatchTimeKind, BatchTimeOption, whole
from serving.deployments import GPUS, DeploymentError, engine_limits, known
from support.message_text import did_you_mean, find_name, printable, unknown_name
from support.module_objects import find_module_objects

DEFAULT = "llama2-70b-2xa100"
#: Longest text of a batch time; a path may be long.
_LONGEST = 4000
_BEHIND = re.compile(r"(?:\s+on\s+([^\s()]+))?(?:\s+with\s+([^\s()][^()]*))?$", re.IGNORECASE)
_LIMITS = (
    BatchTimeOption("running", "0", "requests at a time"),
    BatchTimeOption("budget", "0", "tokens a round"),
)


@cache
def batch_times() -> dict[str, BatchTimeKind]:
    """Return all kinds of batch-time models by name, sorted, with one line each."""
    every = find_module_objects(kinds, "KIND", BatchTimeKind)
    found = {kind.name: replace(kind, summary=summary) for _, summary, kind in every}
    return dict(sorted(found.items()))


def read_batch_time(text: str, *, files: bool = True) -> BatchTime:
    """Return the model of a text, fitted to a file if it names one, or raise a BatchTimeError."""
    behind = _BEHIND.search(text := text[:_LONGEST].strip())
    assert behind is not None  # the end always matches
    text, gpu, limits = text[: behind.start()], behind[1], behind[2]
    name, opened, inside = text.partition("(")
    found = find_name(name.strip(), batch_times())
    if found is None:
        wrong = printable(name.strip(), 60)
        raise BatchTimeError(unknown_name("batch time", wrong, batch_times()))
    shown = f"batch time {printable(text, 60)!r}"
    if bool(opened) != inside.endswith(")"):
        raise BatchTimeError(f"{shown}: expected {found}(...)")
    kind, inside = batch_times()[found], inside[:-1]
    if kind.takes_file and not files:
        raise BatchTimeError(f"{shown} names a file, expected its numbers: linear(...)")
    model = kind.build(inside if kind.takes_file else _options(kind.name, kind.options, inside))
    if gpu and model.gpu:
        raise BatchTimeError(f"batch time {model.name} is that of {model.gpu}: leave out on {gpu}")
    try:
        place = known("GPU", gpu, GPUS) if gpu else model.gpu
    except DeploymentError as error:
        raise BatchTimeError(f"batch time {model.name}: {error}") from None
    name = f"{model.name} on {place}" if gpu else model.name
    model = replace(model, name=name, gpu=place, engine=engine_limits(place))
    stated = _options("with", _LIMITS, limits or "")
    return limited(model, **{key: whole(key, value) for key, value in stated.items()})


def parse_batch_time(text: str) -> BatchTime:
    """Return the model of a text that names no file, or raise a BatchTimeError."""
    return read_batch_time(text, files=False)


def limited(model: BatchTime, running: int, budget: int) -> BatchTime:
    """Return a model with limits of vLLM's scheduler, 0 for the GPU's."""
    limits = ",".join(f"{k}={v}" for k, v in (("running", running), ("budget", budget)) if v)
    name = f"{model.name} with {limits}" if limits else model.name
    return replace(model, name=name, running=running, budget=budget)


def _options(what: str, options: Sequence[BatchTimeOption], inside: str) -> dict[str, str]:
    """Return the text of every option, by position or name, or its default."""
    known = {option.name: option for option in options}
    given: dict[str, str] = {}
    for position, entry in enumerate(inside.split(",") if inside.strip() else []):
        key, equals, value = (part.strip() for part in entry.partition("="))
        if not equals and key and position < len(options):
            key, value = options[position].name, key
        meant = find_name(key, known)
        if meant is None:
            found = f"{printable(key, 60)!r}{did_you_mean(key, known)}"
            takes = ", ".join(known) or "no options"
            raise BatchTimeError(f"batch time {what} takes {takes}, found {found}")
        if meant in given:
            raise BatchTimeError(f"batch time {what}: {meant} occurs twice")
        given[meant] = value
    return {name: option.default for name, option in known.items()} | given
