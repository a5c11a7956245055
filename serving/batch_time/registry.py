"""The batch-time models, found by looking into ``kinds``, and the text that names one.

``NAME`` or ``NAME(option=value, ...)``, and `` on GPU`` behind it for numbers that do not say on
which GPU they hold, `` with running=R,budget=B`` for other limits than vLLM's scheduler takes there
(``max_num_seqs``, ``max_num_batched_tokens``); the numbers of a model are decimal milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from instances.batch_time import BatchTime, BatchTimeError
from serving.batch_time import kinds
from serving.batch_time.batch_time_kind import BatchTimeKind, Option, whole
from serving.deployments import DeploymentError, engine_limits, known_gpu
from support.declared import declared
from support.text import did_you_mean, find_name, printable, unknown_name

#: What an instance with arrivals in seconds is run with unless another model is named.
DEFAULT = "llama2-70b-2xa100"
#: Longest text of a batch time; a path may be long.
_LONGEST = 4000
_BEHIND = re.compile(r"(?:\s+on\s+([^\s()]+))?(?:\s+with\s+([^()]+?))?\s*$", re.IGNORECASE)

_LIMITS = (Option("running", "0", "requests at a time"), Option("budget", "0", "tokens a round"))


@cache
def batch_times() -> dict[str, BatchTimeKind]:
    """Return all kinds of batch-time models by name, sorted, with one line each."""
    told = declared(kinds, "KIND", BatchTimeKind)
    found = {kind.name: replace(kind, summary=summary) for _, summary, kind in told}
    return dict(sorted(found.items()))


def read_batch_time(text: str) -> BatchTime:
    """Return the model that a text names, which may be fitted to a file.

    A :class:`BatchTimeError` says that there is none, or what of its options or file is not right.
    """
    kind, inside, behind = _kind_of(text)
    given = inside if kind.takes_file else _options(kind.name, kind.options, inside)
    return _deployed(kind.build(given), *behind)


def parse_batch_time(text: str) -> BatchTime:
    """Return the model that a text names; no file is read, a text that names one is refused."""
    kind, inside, behind = _kind_of(text)
    if kind.takes_file:
        raise BatchTimeError(
            f"batch time {printable(text, 60)!r} names a file, expected its numbers: linear(...)"
        )
    return _deployed(kind.build(_options(kind.name, kind.options, inside)), *behind)


def limited(model: BatchTime, running: int, budget: int) -> BatchTime:
    """Return a model with limits of vLLM's scheduler, 0 for what it takes on the GPU."""
    told = ",".join(f"{k}={v}" for k, v in (("running", running), ("budget", budget)) if v)
    name = f"{model.name} with {told}" if told else model.name
    return replace(model, name=name, running=running, budget=budget)


def _deployed(model: BatchTime, gpu: str | None, limits: str | None) -> BatchTime:
    """Return a model on the GPU and with the limits that stand behind it, if some do."""
    if gpu and model.gpu:
        raise BatchTimeError(f"batch time {model.name} is that of {model.gpu}: leave out on {gpu}")
    try:
        found = known_gpu(gpu) if gpu else model.gpu
    except DeploymentError as error:
        raise BatchTimeError(f"batch time {model.name}: {error}") from None
    name = f"{model.name} on {found}" if gpu else model.name
    model = replace(model, name=name, gpu=found, engine=engine_limits(found))
    stated = _options("with", _LIMITS, limits or "")
    return limited(model, **{name: whole(name, value) for name, value in stated.items()})


def _kind_of(text: str) -> tuple[BatchTimeKind, str, tuple[str | None, str | None]]:
    """Return the kind that a text names, what stands in its parentheses, GPU and limits behind."""
    behind = _BEHIND.search(text := text[:_LONGEST].strip())
    assert behind is not None  # it matches nothing at the end
    text, gpu, limits = text[: behind.start()], behind[1], behind[2]
    name, opened, rest = text.partition("(")
    known = batch_times()
    found = find_name(name.strip(), known)
    if found is None:
        raise BatchTimeError(unknown_name("batch time", printable(name.strip(), 60), known))
    if bool(opened) != rest.endswith(")"):
        raise BatchTimeError(f"batch time {printable(text, 60)!r}: expected {found}(...)")
    return known[found], rest[:-1], (gpu, limits)


def _options(what: str, options: Sequence[Option], inside: str) -> dict[str, str]:
    """Return the text of every option, defaults where none is given, by position or by name."""
    known = {option.name: option for option in options}
    given: dict[str, str] = {}
    for position, entry in enumerate(inside.split(",") if inside.strip() else []):
        key, equals, value = (part.strip() for part in entry.partition("="))
        if not equals and key and position < len(options):
            key, value = options[position].name, key
        meant = find_name(key, known)
        if meant is None:
            takes = ", ".join(known) or "no options"
            shown = printable(key, 60)
            raise BatchTimeError(
                f"batch time {what} takes {takes}, found {shown!r}{did_you_mean(key, known)}"
            )
        if meant in given:
            raise BatchTimeError(f"batch time {what}: {meant} occurs twice")
        given[meant] = value
    return {name: option.default for name, option in known.items()} | given
