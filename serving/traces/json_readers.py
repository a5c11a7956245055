"""Readers of JSON: an object a request, one a line (JSONL) or in one array."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import ijson
import numpy as np
from ijson.common import ObjectBuilder

from serving.traces.format_reader import FormatReader, LengthsReader, TraceRows, make_rows
from serving.traces.trace_options import TraceOptionError, TraceOptions
from serving.traces.trace_report import SkipReason
from serving.traces.trace_stream import LONGEST_TEXT, TraceStream
from support.input_files import read_whole
from support.json_files import DuplicateKeyError, describe_json_error, read_pairs
from support.message_text import one_line, printable

_CHUNK = 5_000
#: Deepest nesting of objects and lists, as of Python's reader.
_DEEPEST = 900

#: Counts the tokens of a text; None if the tokenizer fails.
TokenCount = Callable[[str], int | None]
WORDS_NOTE = "lengths are whitespace words, not tokens: --tokenizer counts tokens"
#: A prompt and its answer: texts, or numbers of tokens.
Exchange = tuple[Any, Any]


@dataclass(frozen=True, kw_only=True)
class RecordReader(LengthsReader):
    """Reads objects with numbers; ``prefix`` may have ids of blocks of ``block`` tokens."""

    prefix: str = ""
    block: int = 0

    def rows(self, stream: TraceStream, options: TraceOptions) -> Iterator[TraceRows]:
        """Yield the rows; see :class:`serving.traces.format_reader.FormatReader`."""
        del options
        for numbers, objects in _chunks(stream):
            keys = self.time, self.prompt, self.output
            columns = {key: [each.get(key) for each in objects] for key in keys}
            for key, column in columns.items():
                if None in column:
                    row = numbers[column.index(None)]
                    stream.refuse(f"expected a key {key}, found none", row)
            rows = self.rows_of(stream, numbers, columns)
            ids = np.fromiter((each.get(self.prefix) for each in objects), object, len(objects))
            yield replace(rows, prefixes=ids, block=self.block)


@dataclass(frozen=True)
class ConversationReader(FormatReader):
    """Reads objects with text; ``exchange`` returns prompt and answer, None without them."""

    keys: tuple[str, ...]
    exchange: Callable[[dict[str, Any]], Exchange | None]
    without: tuple[str, ...] = ()
    counts_text = True

    @property
    def expects(self) -> tuple[str, ...]:
        """The keys."""
        return self.keys

    def rows(self, stream: TraceStream, options: TraceOptions) -> Iterator[TraceRows]:
        """Yield the rows; see :class:`serving.traces.format_reader.FormatReader`."""
        count = token_count(options.tokenizer)
        for numbers, objects in _chunks(stream):
            found = [_counted(self.exchange(each), count) for each in objects]
            prompts, outputs, reasons = zip(*found, strict=True)
            rows = make_rows(numbers, None, prompts, outputs, reasons)
            # A prompt without a token cannot be read.
            empty = (rows.prompts == 0) & (rows.reasons == SkipReason.NONE)
            rows.reasons[empty] = SkipReason.EMPTY_PROMPT
            yield rows


def token_count(name: str | None) -> TokenCount:
    """Return the function that counts a text's tokens, without special ones.

    The name is the path of a ``tokenizer.json`` or a name of the Hugging Face hub, which is then
    asked; None counts whitespace words.
    """
    if name is None:
        return lambda text: len(text.split())
    try:
        from tokenizers import Tokenizer  # an extra
    except ImportError:
        raise TraceOptionError(
            f"tokenizer {name}: expected the package tokenizers (the extra kvopt[tokenizers]), "
            "found none"
        ) from None
    try:
        file = os.path.exists(name)
        read = Tokenizer.from_buffer if file else Tokenizer.from_pretrained
        tokenizer = read(read_whole(name) if file else name)
    except Exception as error:  # the package raises Exception itself
        raise TraceOptionError(f"tokenizer {name}: cannot be read: {one_line(error)}") from None

    def count(text: str) -> int | None:
        # JSON can hold half of a surrogate pair, UTF-8 cannot: it counts as U+FFFD.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        try:
            return len(tokenizer.encode(text, add_special_tokens=False).ids)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a panic of the package is no Exception
            return None

    return count


def _counted(exchange: Exchange | None, count: TokenCount) -> tuple[Any, Any, SkipReason]:
    """Return tokens of prompt and answer, numbers as they are, and the reason for skipping."""
    if exchange is None:
        return 0, 0, SkipReason.NO_ANSWER
    reason, tokens = SkipReason.NO_LENGTH if None in exchange else SkipReason.NONE, []
    for text in exchange:
        tokens.append(count(text) if isinstance(text, str) else text)
        if isinstance(text, str) and tokens[-1] is None:
            reason = SkipReason.NOT_COUNTED
    return tokens[0], tokens[1], reason


def first_exchange(
    turns: Any, text: str, speaker: str = "", speakers: tuple[str, ...] = ()
) -> Exchange | None:
    """Return the texts of the first two turns, of the ``speakers`` if given; None without them."""
    first = turns[:2] if isinstance(turns, list) else []
    if len(first) < 2 or not all(isinstance(turn, dict) for turn in first):
        return None
    if speaker and tuple(turn.get(speaker) for turn in first) != speakers:
        return None
    prompt, answer = (turn.get(text) for turn in first)
    return (prompt, answer) if isinstance(prompt, str) and isinstance(answer, str) else None


def records_of(stream: TraceStream) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield row numbers with their objects."""
    values = _entries(stream) if stream.head.lstrip()[:1] == "[" else _lines(stream)
    return ((stream.row, _object(stream, value)) for value in values)


def _chunks(stream: TraceStream) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
    """Yield row numbers with their objects, some thousands at a time."""
    records = records_of(stream)
    while chunk := [*islice(records, _CHUNK)]:
        yield [row for row, _ in chunk], [each for _, each in chunk]


def _lines(stream: TraceStream) -> Iterator[Any]:
    for line in stream.lines():
        if line.strip():
            yield parse(stream, lambda: json.loads(line, object_pairs_hook=read_pairs))  # noqa: B023


def _entries(stream: TraceStream) -> Iterator[Any]:
    """Yield the entries of an array one after the other; only one is kept."""
    builder, depth = ObjectBuilder(_Once), 0
    stream.allow(LONGEST_TEXT)
    try:
        for event, value in ijson.basic_parse(stream, use_float=True):
            depth += event.startswith("start_") - event.startswith("end_")
            if depth > _DEEPEST:
                stream.refuse("expected a JSON object, found too deep a nesting")
            # The array itself starts and ends at other depths.
            if depth == 0 or (depth == 1 and event == "start_array"):
                continue
            builder.event(event, value)
            if depth == 1:
                yield builder.value
                stream.row += 1
                stream.allow(LONGEST_TEXT)
                builder = ObjectBuilder(_Once)
    except ijson.JSONError as error:
        stream.refuse(f"no valid JSON: {one_line(str(error).splitlines()[0], 160)}")
    except DuplicateKeyError as error:
        stream.refuse(str(error))


class _Once(dict[str, Any]):
    """A JSON object that refuses a key that occurs twice."""

    def __setitem__(self, key: str, value: Any) -> None:
        if key in self:
            read_pairs([(key, None), (key, None)])
        super().__setitem__(key, value)


def objects_of(stream: TraceStream) -> list[dict[str, Any]]:
    """Return the JSON objects of a file, one after the other, one at least."""
    decoder = json.JSONDecoder(object_pairs_hook=read_pairs)
    text, found = stream.readall().decode().strip(), []
    while text:
        value, end = parse(stream, lambda: decoder.raw_decode(text))  # noqa: B023
        found.append(_object(stream, value))
        text = text[end:].lstrip()
    return found


def parse(stream: TraceStream, read: Callable[[], Any]) -> Any:
    """Return the JSON value, or refuse the row."""
    try:
        return read()
    except json.JSONDecodeError as error:
        fault = printable(describe_json_error(error), 160)
        stream.refuse(f"no valid JSON at column {error.colno}: {fault}")
    except DuplicateKeyError as error:
        stream.refuse(str(error))
    except (ValueError, RecursionError) as error:
        found = "too deep a nesting" if isinstance(error, RecursionError) else "too long a number"
        stream.refuse(f"expected a JSON object, found {found}")


def _object(stream: TraceStream, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        stream.refuse(f"expected a JSON object, found {printable(repr(value), 80)}")
    return value
