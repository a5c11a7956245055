"""Parts of all file formats: strict JSON, one-line errors, writes of whole files or nothing."""

import contextlib
import errno
import gzip
import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from support.input_files import LARGEST, describe_special, is_stream, read_text, read_whole
from support.message_text import integer_text, printable

#: Beginning of the names of files that are still being written.
TEMPORARY = ".kvopt-"
#: Most keys of an object; no format has as many.
_MOST_KEYS = 100_000

_Content = TypeVar("_Content", str, bytes)


class FileError(ValueError):
    """A file breaks its format; the message is one line."""


class DuplicateKeyError(ValueError):
    """A key occurs twice in a JSON object; the message is one line."""


def read_object(path: str | Path, schema: str, largest: int = LARGEST) -> dict[str, Any]:
    """Read one JSON object of at most so many bytes; see :func:`parse_object`."""
    return parse_object(_read(read_text, path, largest), schema)


def read_bytes(path: str | Path) -> bytes:
    """Return the bytes of a file, or raise FileError if it cannot be read."""
    return _read(read_whole, path, LARGEST)


def _read(read: Callable[[str | Path, int], _Content], path: str | Path, largest: int) -> _Content:
    try:
        return read(path, largest)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(f"cannot be read: {_short(reason)}") from None


def as_bytes(held: str | bytes) -> bytes:
    """Return the bytes of a file; a text is in UTF-8."""
    return held.encode() if isinstance(held, str) else held


def file_holds(path: str | Path, held: str | bytes) -> bool:
    """Return whether a file holds exactly this; one that cannot be read does not."""
    try:
        return read_bytes(path) == as_bytes(held)
    except FileError:
        return False


def parse_object(text: str, schema: str) -> dict[str, Any]:
    """Return the strict JSON object of a text with that ``schema`` key, or raise a FileError."""
    try:
        document = json.loads(text, object_pairs_hook=read_pairs, parse_constant=_refuse_constant)
    except RecursionError:
        raise FileError("expected JSON of the format, found too deep a nesting") from None
    except json.JSONDecodeError as error:
        if not text.strip():
            raise FileError("expected JSON, found an empty file") from None
        where = f"line {error.lineno}, column {error.colno}"
        raise FileError(f"no valid JSON at {where}: {describe_json_error(error)}") from None
    except ValueError as error:  # as for a key twice, NaN, or an integer of thousands of digits
        raise FileError(_short(str(error))) from None
    if not isinstance(document, dict):
        raise FileError(f"expected a JSON object, found {_shown(document)}")
    if document.get("schema") != schema:
        found = _shown(document["schema"]) if "schema" in document else "none"
        raise FileError(f'field schema: expected "{schema}", found {found}')
    return document


def describe_json_error(error: json.JSONDecodeError) -> str:
    """Return the fault of a text that is no JSON, without its place."""
    return error.msg[:1].lower() + error.msg[1:]


def file_schema(adapter: TypeAdapter[Any], name: str) -> dict[str, Any]:
    """Return the JSON Schema of a file format; its objects have its name as ``schema``."""
    schema = adapter.json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = name
    schema["properties"] = {"schema": {"const": name}} | schema["properties"]
    schema["required"] = ["schema", *schema["required"]]
    return schema


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8, packed where its name ends in .gz; see :func:`write_bytes`."""
    data = text.encode()
    write_bytes(path, gzip.compress(data, mtime=0) if str(path).lower().endswith(".gz") else data)


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file through a temporary one next to it, then rename; links are followed.

    The permissions of the old file stay.  On an OSError that file is unharmed, and so is a named
    pipe or a socket, which is not opened.
    """
    target = Path(path)
    if what := refuse_output(target):
        raise OSError(errno.EINVAL, what, str(path))
    if target.exists() and (not target.is_file() or is_stream(target)):
        # A rename would replace a device or pipe such as /dev/stdout instead of writing to it.
        with target.open("ab") as stream:
            stream.write(data)
        return
    write_together({target: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files, all to the disk before the first takes its place; none after an OSError."""
    staged: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            target = Path(os.path.realpath(path))
            temporary = target.with_name(f"{TEMPORARY}{uuid4().hex}")
            with temporary.open("xb") as file:
                staged[temporary] = target
                # A file that only its owner may read stays one.
                if target.exists():
                    temporary.chmod(stat.S_IMODE(target.stat().st_mode))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        for temporary, target in staged.items():
            temporary.replace(target)
    finally:
        for temporary in staged:
            with contextlib.suppress(OSError):
                temporary.unlink()


def refuse_output(path: Path) -> str:
    """Return one line if a path is a pipe or a socket: a write to it may never end."""
    what = describe_special(path)
    return "" if what in ("", "a device") else f"expected a file to write, found {what}"


def describe_first_fault(
    error: ValidationError,
    document: Mapping[str, Any] | None = None,
    tags: Sequence[str] = ("int", "float"),
) -> str:
    """Return one line for the first fault: request (with its id), field, fault, value.

    The place leaves out ``tags``, the steps by which pydantic names a kind of value.
    """
    first = error.errors(include_url=False, include_context=False)[0]
    where = _place([step for step in first["loc"] if step not in tags], document or {})
    what = first["msg"].removeprefix("Value error, ")
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        what = "unknown key"
    elif first["type"] not in ("missing", "value_error"):
        what += f", found {_shown(first['input'])}"
    return _short(f"{where}: {what}" if where else what)


def _place(steps: list[int | str], document: Mapping[str, Any]) -> str:
    parts: list[str] = []
    if len(steps) >= 2 and steps[0] == "requests" and isinstance(steps[1], int):
        parts.append(f"request {steps[1]}")
        with contextlib.suppress(LookupError, TypeError):
            if type(identity := document["requests"][steps[1]]["id"]) is int:
                parts[-1] += f" (id {integer_text(identity)})"
        steps = steps[2:]
    if steps:
        parts.append("field " + ".".join(_short(str(step)) for step in steps))
    return ", ".join(parts)


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return integer_text(value) if type(value) is int else _short(json.dumps(value, default=repr))


def _short(text: str) -> str:
    return printable(text, 160)


def read_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the JSON object of pairs, or raise DuplicateKeyError, ValueError of too many."""
    if len(pairs) > _MOST_KEYS:
        raise ValueError(f"expected at most {_MOST_KEYS} keys in one object, found {len(pairs)}")
    record = dict(pairs)
    if len(record) != len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise DuplicateKeyError(
            f"expected each key once, found {_shown(twice)} twice in one object"
        )
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"expected a JSON number, found {name}")
