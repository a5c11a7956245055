"""Readers of JSON: an object a request, one a line (JSONL) or in one array."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from instances.traces.numbers import Unit
from instances.traces.reader import Reader, Rows, TokenCount, make_rows
from instances.traces.report import Reason
from instances.traces.stream import (
    LARGEST_TRACE,
    LONGEST_ROW,
    LONGEST_TEXT,
    TraceStream,
    first_object,
)
from instances.traces.table import read_times
from support.jsonfile import DuplicateKeyError, no_json, without_duplicates
from support.text import printable

#: Objects that are read at once.
_STRETCH = 5_000
#: Characters of the longest word or escape of JSON.
_NEAR = 16

#: A prompt and its answer: texts to be counted, or numbers of tokens.
Exchange = tuple[Any, Any]


def keys_of(head: str) -> set[str]:
    """Return the keys at the top of a file's first object, as far as the beginning shows it.

    There are none where it is no JSON, or says itself that it is a file of kvopt.
    """
    found, _ = first_object(head)
    return set() if (found.get("schema") or "").startswith("kvopt.") else set(found)


class _KeyedReader(Reader):
    """Reads objects, of which the first tells the format."""

    def names(self, head: str) -> set[str]:
        """Return the keys of the first object."""
        return keys_of(head)


@dataclass(frozen=True)
class RecordReader(_KeyedReader):
    """Reads objects with numbers.

    Attributes
    ----------
    prompt, output, time
        Keys of lengths (tokens) and arrivals.
    unit
        Of the arrivals.
    also
        Further keys by which the format is told from others.
    prefix, block
        Key of the ids of a prompt's blocks, and the tokens of a block; an object may lack it.
    """

    prompt: str
    output: str
    time: str
    unit: Unit
    also: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    prefix: str = ""
    block: int = 0

    @property
    def expects(self) -> tuple[str, ...]:
        """The keys by which the format is known."""
        return *self.also, *self._needed

    @property
    def _needed(self) -> tuple[str, str, str]:
        return self.time, self.prompt, self.output

    @property
    def units(self) -> str:
        """What the times are in."""
        return f"{self.time}: {self.unit.name}"

    def rows(self, stream: TraceStream, count: TokenCount) -> Iterator[Rows]:
        """Yield the rows; see :class:`instances.traces.reader.Reader`."""
        del count
        # The ids of a long prompt's blocks are a long text.
        longest = LONGEST_TEXT if self.prefix else LONGEST_ROW
        for numbers, objects in stretches(stream, longest):
            columns = {}
            for key in self._needed:
                columns[key] = [each.get(key) for each in objects]
                if None in columns[key]:
                    stream.row = numbers[columns[key].index(None)]
                    stream.refuse(f"expected a key {key}, found none")
            times = read_times(stream, numbers, self.time, self.unit, columns[self.time])
            rows = make_rows(numbers, times, columns[self.prompt], columns[self.output])
            if any(self.prefix in each for each in objects):
                ids = [each.get(self.prefix) for each in objects]
                rows = replace(rows, prefixes=ids, block=self.block)
            yield rows


@dataclass(frozen=True)
class ConversationReader(_KeyedReader):
    """Reads objects with text.

    Attributes
    ----------
    keys
        By which the format is known.
    exchange
        Returns the prompt and the answer of an object, None if it has none.
    """

    keys: tuple[str, ...]
    exchange: Callable[[dict[str, Any]], Exchange | None]
    without: tuple[str, ...] = ()
    counts_text = True

    @property
    def expects(self) -> tuple[str, ...]:
        """The keys."""
        return self.keys

    def rows(self, stream: TraceStream, count: TokenCount) -> Iterator[Rows]:
        """Yield the rows; see :class:`instances.traces.reader.Reader`."""
        for numbers, objects in stretches(stream, LONGEST_TEXT):
            yield counted(numbers, [self.exchange(each) for each in objects], count)


def counted(numbers: list[int], exchanges: list[Exchange | None], count: TokenCount) -> Rows:
    """Return rows from prompts and answers: texts are counted, numbers taken as they are."""
    reasons = [Reason.NO_ANSWER if each is None else Reason.NONE for each in exchanges]
    pairs = [(0, 0) if each is None else each for each in exchanges]
    lengths = [
        [count(each) if isinstance(each, str) else each for each in column]
        for column in zip(*pairs, strict=True)
    ]
    for row, (texts, tokens) in enumerate(zip(pairs, zip(*lengths, strict=True), strict=True)):
        if any(isinstance(text, str) and n is None for text, n in zip(texts, tokens, strict=True)):
            reasons[row] = Reason.NOT_COUNTED
    rows = make_rows(numbers, None, lengths[0], lengths[1], reasons)
    # Some token must be read before another can be made of it.
    rows.reasons[(rows.prompts == 0) & (rows.reasons == Reason.NONE)] = Reason.EMPTY_PROMPT
    return rows


def first_exchange(
    turns: Any, text: str, speaker: str = "", speakers: tuple[str, ...] = ()
) -> Exchange | None:
    """Return the texts of a conversation's first two turns; None where there are no such two.

    Parameters
    ----------
    turns
        What stands where a list of objects is expected.
    text
        Key of a turn's text.
    speaker, speakers
        Key of who speaks, and the two in their order; anybody may speak if left out.
    """
    first = turns[:2] if isinstance(turns, list) else []
    if len(first) < 2 or not all(isinstance(turn, dict) for turn in first):
        return None
    if speaker and tuple(turn.get(speaker) for turn in first) != speakers:
        return None
    prompt, answer = (turn.get(text) for turn in first)
    return (prompt, answer) if isinstance(prompt, str) and isinstance(answer, str) else None


def stretches(
    stream: TraceStream, longest: int
) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
    """Yield row numbers with their objects, some thousands at a time.

    Raises
    ------
    TraceError
        If a row is no JSON object.
    """
    objects = _array(stream) if stream.head.lstrip()[:1] == "[" else _lines(stream, longest)
    while stretch := list(islice(objects, _STRETCH)):
        yield [row for row, _ in stretch], [each for _, each in stretch]


def objects_of(stream: TraceStream) -> list[dict[str, Any]]:
    """Return the JSON objects that a file holds, one after the other; there is one at least.

    Raises
    ------
    TraceError
        If it holds anything else.
    """
    text = _Growing(stream, LARGEST_TRACE)
    found = [_object(stream, text.value())]
    while not text.at(""):
        found.append(_object(stream, text.value()))
    return found


def _lines(stream: TraceStream, longest: int) -> Iterator[tuple[int, dict[str, Any]]]:
    for line in stream.lines(longest):
        if line.strip():
            try:
                value = json.loads(line, object_pairs_hook=without_duplicates)
            except (ValueError, RecursionError) as error:
                stream.refuse(_told(error))
            yield stream.row, _object(stream, value)


def _object(stream: TraceStream, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        stream.refuse(f"expected a JSON object, found {printable(repr(value), 80)}")
    return value


def _told(error: Exception) -> str:
    if isinstance(error, DuplicateKeyError):
        return str(error)
    found = "too deep a nesting" if isinstance(error, RecursionError) else "too long a number"
    if isinstance(error, json.JSONDecodeError):
        return f"no valid JSON at column {error.colno}: {printable(no_json(error), 160)}"
    return f"expected a JSON object, found {found}"


def _array(stream: TraceStream) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the entries of an array one after the other; only the one at hand is kept."""
    text = _Growing(stream, LONGEST_TEXT)
    text.skip("[")
    stream.row = 0
    while not text.at("]"):
        if stream.row:
            text.skip(",")
        stream.row += 1
        yield stream.row, _object(stream, text.value())
    text.skip("]")
    if text.at(""):
        return
    stream.refuse("expected the end of the file after the array")


class _Growing:
    """The part of a text that has not been read yet, which grows as far as a value needs.

    No value has more characters than the ``longest``.
    """

    def __init__(self, stream: TraceStream, longest: int) -> None:
        self._stream, self._pieces, self._longest = stream, stream.pieces(), longest
        self._text, self._place = "", 0
        self._decoder = json.JSONDecoder(object_pairs_hook=without_duplicates)

    def at(self, sign: str) -> bool:
        """Tell whether a sign comes next; with an empty one, whether nothing does."""
        while True:
            rest = self._text[self._place : self._place + 1]
            if rest and rest in " \t\r\n":
                self._place += 1
            elif rest or not self._grow():
                return rest == sign

    def skip(self, sign: str) -> None:
        """Pass over a sign that must come next."""
        if not self.at(sign):
            found = self._text[self._place : self._place + 1]
            self._stream.refuse(
                f"expected {sign!r} in the array, found {found!r}"
                if found
                else "the array does not end: the file is damaged or not complete"
            )
        self._place += 1

    def value(self) -> Any:
        """Return the value that comes next."""
        self.at("")
        while True:
            try:
                value, self._place = self._decoder.raw_decode(self._text, self._place)
                return value
            except (ValueError, RecursionError) as error:
                if not (self._may_be_cut(error) and self._grow()):
                    self._stream.refuse(_told(error))

    def _may_be_cut(self, fault: Exception) -> bool:
        """Tell whether more text may mend it: of a string without an end, or near the end."""
        if not isinstance(fault, json.JSONDecodeError):
            return False
        return fault.msg.startswith("Unterminated") or fault.pos > len(self._text) - _NEAR

    def _grow(self) -> bool:
        """Read as much as there is once more; tell whether there was anything."""
        self._text, self._place = self._text[self._place :], 0
        if len(self._text) > self._longest:
            self._stream.refuse(f"expected at most {self._longest:,} characters, found more")
        more: list[str] = []
        # Doubled, so that a long value is not begun again too often.
        while sum(map(len, more)) <= len(self._text) and (piece := next(self._pieces, "")):
            more.append(piece)
        self._text += "".join(more)
        return bool(more)
