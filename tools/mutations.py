"""Files damaged at random, by bytes and by values, for every reader to read or refuse."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

#: Insertions into text: halves of JSON, TOML and CSV, and numbers that few expect.
TOKENS = [
    *(b'"', b"'", b"{", b"}", b"[", b"]", b",", b":", b"=", b"\n", b"\r\n", b"\t", b" ", b"#"),
    *(b"\\", b"\\u", b"\\ud800", b"\\n", b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf"),
    *(b"-", b"0", b"00", b"1e9", b"1e400", b"-1", b".5", b"NaN", b"-Infinity", b"nan", b"inf"),
    *(b"null", b"true", b"false", b"9" * 20, b"9" * 400, b"9" * 5000, b"0x10", b"1979-05-27"),
    *(b"[" * 3000, b'{"a":' * 3000, b"a." * 100, b'""', b"[]", b"{}", b"../", b"*", b"**/"),
]

#: Replacements of a value.
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 5, 63, 2**31, 2**53 + 1, 2**63, 10**12 + 1, 10**30),
    *(10**400, -(10**400), 0.0, 0.5, -0.0, 1e9, 1e308, 5e-324, float("inf"), float("nan")),
    *("", "a", "a\nb", "\0", "\u2028", "\ud800", "x" * 500, "../../etc/passwd", "/", "12", "1/0"),
    *("1/3", "-1/2", "2026-13-99", "=1+1", [], [[]], [[1]], [1, 2], [[0, 1]], {}, {"a": 1}),
    *([None], [[None]], [["a", "b"]], [0] * 50, {"": {}}),
]


def damaged_bytes(content: bytes, draw: random.Random) -> bytes:
    """Return the content with one to four stretches cut out, doubled, moved or replaced."""
    data = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        start = draw.randint(0, len(data))
        end = min(len(data), start + draw.choice([0, 0, 1, 1, 2, 8, 64, len(data)]))
        kind = draw.randrange(5)
        if kind == 0:
            data[start:end] = draw.choice(TOKENS)
        elif kind == 1:
            data[start:start] = data[start:end]
        elif kind == 2:
            del data[start:end]
        elif kind == 3:
            data[start:end] = draw.randbytes(end - start)
        else:
            piece = bytes(data[start:end])
            del data[start:end]
            place = draw.randint(0, len(data))
            data[place:place] = piece
    return bytes(data)


def damaged_document(document: Any, draw: random.Random) -> Any:
    """Return JSON values with one to three of them replaced, dropped, doubled or renamed."""
    changed = copy.deepcopy(document)
    for _ in range(draw.randint(1, 3)):
        places = list(_places(changed))
        if not places:
            break
        holder, key = draw.choice(places)
        kind = draw.randrange(6)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        elif kind == 2 and isinstance(holder, dict):
            holder[draw.choice([*holder, "x", ""])] = holder[key]
        elif kind == 3 and type(holder[key]) is int:
            holder[key] += draw.choice([-1, 1, 10**9])
        else:
            holder[key] = copy.deepcopy(draw.choice(VALUES))
    return changed


def damaged_json(document: Any, draw: random.Random) -> bytes:
    """Return the text of a document with its values damaged, its bytes, or both."""
    kind = draw.randrange(3)
    if kind > 0:
        document = damaged_document(document, draw)
    text = json.dumps(document).encode()
    return text if kind == 1 else damaged_bytes(text, draw)


def draws(number: int, seed: int = 0) -> Iterator[random.Random]:
    """Yield one source of draws for each file, so that a fault can be drawn again by its number."""
    for position in range(number):
        yield random.Random(f"{seed} {position}")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])
