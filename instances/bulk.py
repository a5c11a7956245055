"""Large lists of requests, checked and built by columns, in a third of the time.

Whatever is not plainly right is left to the precise way (pydantic, key by key), which says what is
wrong; so both ways accept the same files and give the same instances and the same messages.
"""

from __future__ import annotations

import contextlib
import gc
import json
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import repeat
from operator import attrgetter, itemgetter, le
from typing import Any

from instances.model import MAX_ARRIVAL, MAX_TOKENS, Instance, Request

#: Keys of a request with their least and largest values (rounds, tokens); the last two go together.
_RANGES = {
    "id": (0, MAX_ARRIVAL),
    "arrival": (0, MAX_ARRIVAL),
    "prompt": (0, MAX_TOKENS),
    "output": (1, MAX_TOKENS),
    "output_lower": (1, MAX_TOKENS),
    "output_upper": (1, MAX_TOKENS),
}
_REQUIRED = 4
#: Requests that are checked at once: few enough to stay in the processor's cache.
_BATCH = 2000


def plain_requests(records: object) -> tuple[Request, ...] | None:
    """Return the requests of JSON objects that are plainly right, None where any is not.

    Plainly right are objects with the four required keys or all six, the same within a batch, and
    integers in their ranges, each output within its prediction interval.  That is all that the
    fields of :class:`Request` ask for, so the requests are those that validation would return.
    """
    if type(records) is not list or not records:
        return None
    requests: list[Request] = []
    with pause_collector():
        for position in range(0, len(records), _BATCH):
            batch = _plain_batch(records[position : position + _BATCH])
            if batch is None:
                return None
            requests += batch
    return tuple(requests)


def _plain_batch(records: list[Any]) -> list[Request] | None:
    if set(map(type, records)) != {dict}:
        return None
    sizes = set(map(len, records))
    if sizes not in ({_REQUIRED}, {len(_RANGES)}):
        return None
    names = list(_RANGES)[: sizes.pop()]
    try:
        # As many keys as names, and every name among them: there is no other key.
        columns = [list(map(itemgetter(name), records)) for name in names]
    except KeyError:
        return None
    if not all(map(_in_range, names, columns)):
        return None
    if len(names) > _REQUIRED:
        *_, outputs, lowers, uppers = columns
        if not (all(map(le, lowers, outputs)) and all(map(le, outputs, uppers))):
            return None
    return _built(names, columns, len(records))


def _in_range(name: str, column: Sequence[Any]) -> bool:
    least, largest = _RANGES[name]
    # By exact type: a boolean is an integer to Python, not to the format.
    return set(map(type, column)) == {int} and least <= min(column) and max(column) <= largest


def built_requests(
    arrivals: Sequence[int | float], prompts: Sequence[int], outputs: Sequence[int]
) -> tuple[Request, ...]:
    """Return requests with ids 0, 1, ... from columns that are known to be in range.

    ``arrivals``: rounds or seconds, shape (n,); not negative, and finite.  ``prompts``,
    ``outputs``: tokens, shape (n,), Python integers.
    """
    n = len(arrivals)
    with pause_collector():
        return tuple(_built(list(_RANGES)[:_REQUIRED], [range(n), arrivals, prompts, outputs], n))


def _built(names: list[str], columns: Sequence[Sequence[int | float]], n: int) -> list[Request]:
    requests = list(map(object.__new__, repeat(Request, n)))
    for position, name in enumerate(_RANGES):
        values = columns[position] if position < len(names) else repeat(None)
        # The slot itself, as the class is frozen; the deque only makes the map run.
        deque(map(getattr(Request, name).__set__, requests, values), maxlen=0)
    return requests


def instance_columns(instance: Instance) -> dict[str, Any]:
    """Return what an instance is, as JSON that is written and read in a fifth of its file's time.

    A column a key of the requests, and the hash, which takes a second of a million requests.
    """
    document = {each.name: getattr(instance, each.name) for each in fields(instance)}
    predicted = any(request.output_lower is not None for request in instance.requests)
    names = list(_RANGES)[: len(_RANGES) if predicted else _REQUIRED]
    columns = [list(map(attrgetter(name), instance.requests)) for name in names]
    return document | {"requests": columns, "sha256": instance.sha256}


def instance_of(columns: dict[str, Any]) -> Instance:
    """Return the instance of what :func:`instance_columns` has returned, which is believed.

    The requests are those of an instance, so only what holds between them is looked at again.
    """
    document = dict(columns)
    values, sha256 = document.pop("requests"), document.pop("sha256")
    with pause_collector():
        requests = tuple(_built(list(_RANGES)[: len(values)], values, len(values[0])))
        instance = Instance(requests=requests, **document)
    # Where the property keeps it once it is computed.
    vars(instance)["sha256"] = sha256
    return instance


def plain_document(text: str) -> dict[str, Any] | None:
    """Return the JSON object that an instance file holds, its requests built; None if not plain.

    No key occurs twice in any object that is returned.  Proof: without a backslash every quotation
    mark in JSON begins or ends a string, so the file has half as many strings as marks.  A key that
    occurs twice is dropped with its value, so an object with such a key has fewer strings than
    its text.  The strings counted here are those of the outermost object and the keys of requests
    without text; the count reaches that of the file only if there are no others and none is lost.
    """
    if "\\" in text:
        return None
    with pause_collector():
        try:
            document = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return None
    if type(document) is not dict:
        return None
    records: Any = document.get("requests")
    requests = plain_requests(records)
    if requests is None:
        return None
    strings = len(document) + sum(type(value) is str for value in document.values())
    strings += sum(len(record) for record in records)
    if text.count('"') != 2 * strings:
        return None
    return document | {"requests": requests}


def _refuse(name: str) -> None:
    raise ValueError(name)


@contextlib.contextmanager
def pause_collector() -> Iterator[None]:
    """Keep Python from looking for garbage, which while a million objects are made is most of it.

    None of what is made here refers to itself, so nothing is missed.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
