"""Instance files: what is written is read again, and what is wrong is said in one line."""

import copy
import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from instances import (
    InfeasibleInstanceError,
    Instance,
    InstanceFileError,
    Request,
    read_instance,
    write_instance,
)
from instances.instance_files import SCHEMA_FILE, format_instance, instance_schema, parse_instance
from instances.instance_names import find_instances
from support.json_files import read_pairs

GOOD: dict[str, Any] = {
    "schema": "kvopt.instance/1",
    "name": "pair",
    "family": "hand",
    "source": "here",
    "seed": 0,
    "known_optimum": 8,
    "known_optimum_reason": "both start at once",
    "memory": 12,
    "requests": [
        {"id": 7, "arrival": 0, "prompt": 2, "output": 3, "output_lower": 1, "output_upper": 4},
        {"id": 3, "arrival": 2, "prompt": 0, "output": 5},
    ],
}

line = st.text(
    st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\u2028\u2029"), max_size=40
)


@st.composite
def any_instance(draw: st.DrawFn) -> Instance:
    """Draw an instance with every optional key sometimes there."""
    unit: Literal["round", "second"] = draw(st.sampled_from(["round", "second"]))
    arrivals: st.SearchStrategy[int | float] = st.integers(0, 10**12)
    if unit == "second":
        arrivals |= st.floats(0, 1e12, allow_nan=False)
    requests = []
    for identity in draw(st.lists(st.integers(0, 10**12), min_size=1, max_size=5, unique=True)):
        output = draw(st.integers(1, 10**8))
        interval: tuple[int | None, int | None] = (None, None)
        if draw(st.booleans()):
            interval = draw(st.integers(1, output)), draw(st.integers(output, 10**9))
        prompt = draw(st.integers(0, 10**9 - output))
        requests.append(Request(identity, draw(arrivals), prompt, output, *interval))
    optimum = draw(st.none() | st.integers(1, 10**15))
    return Instance(
        name=draw(line.filter(bool)),
        memory=draw(st.integers(max(request.peak for request in requests), 10**9)),
        requests=tuple(requests),
        family=draw(st.none() | line),
        source=draw(st.none() | line),
        seed=draw(st.none() | st.integers(-(10**30), 10**30)),
        time_unit=unit,
        known_optimum=optimum,
        known_optimum_reason=None if optimum is None else draw(line),
    )


def canonical_hash(instance: Instance) -> str:
    document: dict[str, Any] = instance.memory_and_requests()
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


IN_TMP = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
_COMMITTED = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


@IN_TMP
@given(instance=any_instance())
def test_what_is_written_is_read_again(tmp_path: Path, instance: Instance) -> None:
    """Reading what was written gives the same instance, and the JSON Schema accepts the file."""
    path = tmp_path / "instance.json"
    write_instance(instance, path)
    assert (read_instance(path), read_instance(path).sha256) == (instance, instance.sha256)
    # Hashed is, byte for byte, JSON with sorted keys and no spaces.
    assert instance.sha256 == canonical_hash(instance)
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), instance_schema())


def test_the_file_is_one_request_a_line() -> None:
    """The text is the documented form: optional keys only where set, a line for each request."""
    text = format_instance(Instance("pair", 8, (Request(0, 0, 2, 3), Request(1, 4, 1, 2, 1, 2))))
    assert text == (
        '{\n "schema": "kvopt.instance/1",\n "name": "pair",\n "memory": 8,\n "requests": [\n'
        '  {"id": 0, "arrival": 0, "prompt": 2, "output": 3},\n'
        '  {"id": 1, "arrival": 4, "prompt": 1, "output": 2,'
        ' "output_lower": 1, "output_upper": 2}\n ]\n}\n'
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_byte_order_mark_is_read_over(
    encoding: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """Some editors put one before UTF-8 or UTF-16; the instance is the same, compressed or not."""
    path, mark = tmp_path / "marked.json", "" if encoding == "utf-8-sig" else "\ufeff"
    path.write_bytes(pack((mark + json.dumps(GOOD)).encode(encoding)))
    assert read_instance(path) == parse_instance(GOOD)


def test_a_name_that_ends_in_gz_is_packed(tmp_path: Path) -> None:
    """The same bytes each time, read again, and found in a folder."""
    path, instance = tmp_path / "pair.json.gz", parse_instance(GOOD)
    write_instance(instance, path)
    first = path.read_bytes()
    assert gzip.decompress(first).decode() == format_instance(instance)
    write_instance(instance, path)
    assert (path.read_bytes(), read_instance(path)) == (first, instance)
    assert find_instances(str(tmp_path)) == [path]


def test_the_hash_is_over_canonical_memory_and_requests() -> None:
    """Sorted keys, no spaces, memory and requests only: name, seed and the like do not count."""
    # Of the canonical text; pinned, since stored schedules refer to it.
    expected = "4a4e6032b0f9b357f71c1c4f7ae3326e3ca273bd10f5d0297163e9c394e3e79c"
    assert parse_instance(GOOD).sha256 == expected
    renamed = GOOD | {"name": "other", "seed": 5, "family": "another"}
    assert parse_instance(renamed).sha256 == expected
    assert parse_instance(GOOD | {"memory": 13}).sha256 != expected


def _with(key: str, value: object = ..., *, request: bool = False) -> str:
    """Set a key, or leave it out, of the document or its second request, at 1 with the id 3."""
    document = copy.deepcopy(GOOD)
    place = document["requests"][1] if request else document
    place[key] = value
    if value is ...:
        del place[key]
    return json.dumps(document)


def _replaced(old: str, new: str) -> str:
    text = json.dumps(GOOD)
    assert text.count(old) == 1
    return text.replace(old, new)


def _memory(text: str) -> str:
    return _replaced('"memory": 12', f'"memory": {text}')


_SECOND = "request 1 (id 3), field "


def _field(key: str, value: object, stated: str) -> tuple[str, str]:
    return _with(key, value), f"field {key}: Input should be {stated}"


def _second(key: str, value: object, stated: str, place: str = _SECOND) -> tuple[str, str]:
    return _with(key, value, request=True), f"{place}{key}: Input should be {stated}"


#: What the file holds (text or bytes), and how the message goes on after the path.
BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "expected JSON, found an empty file"),
    "not JSON": ("memory: 5", "no valid JSON at line 1, column 1: expecting value"),
    "cut off": (json.dumps(GOOD)[:-3], "no valid JSON at line 1, column "),
    "binary": (
        b"\x89PNG\r\n\x1a\n\x00\xff",
        "cannot be read: expected text in UTF-8, found byte 0x89",
    ),
    "keys without quotes": (
        "{\n memory: 5}",
        "no valid JSON at line 2, column 2: expecting property name enclosed in double quotes",
    ),
    "a list": ("[1]", "expected a JSON object, found a list"),
    "deep list": ("[" * 100_000, "expected JSON of the format, found too deep a nesting"),
    "no schema": (_with("schema"), 'field schema: expected "kvopt.instance/1", found none'),
    "wrong schema": (_with("schema", "kvopt.schedule/1"), 'field schema: expected "kvopt.instance'),
    "schema no text": (_with("schema", 1), 'field schema: expected "kvopt.instance/1", found 1'),
    "no name": (_with("name"), "field name: Field required"),
    "unknown key": (_with("memmory", 5), "field memmory: unknown key"),
    "misspelt in a request": (
        json.dumps(GOOD).replace('"arrival": 2', '"arrivl": 2'),
        _SECOND + "arrival: Field required",
    ),
    "misspelt and optional": (_with("sede", 1), "field sede: unknown key"),
    "odd key": (_with("a\nb", 5), "field a\\x0ab: unknown key"),
    "duplicate key": (_memory('12, "memory": 13'), "expected each key"),
    "duplicate key in a request": (
        _replaced('"output": 5', '"output": 5, "output": 6'),
        'expected each key once, found "output" twice in one object',
    ),
    "memory true": _field("memory", True, "a valid integer, found true"),
    "memory 12.0": _field("memory", 12.0, "a valid integer, found 12.0"),
    "memory 0": _field("memory", 0, "greater than or equal to 1, found 0"),
    "memory 10^10": _field("memory", 10**10, "less than or equal to 1000"),
    "memory 1e400": (_memory("1e400"), "field memory: Input should be a valid integer, found Inf"),
    "memory NaN": (_memory("NaN"), "expected a JSON number, found NaN"),
    "memory of 4,000 digits": (_memory("9" * 4000), "field memory: Input should be "),
    "memory of 10,000 digits": (_memory("9" * 10_000), "Exceeds the limit (4300 digits)"),
    "name empty": (_with("name", ""), "field name: String should"),
    "name 5": _field("name", 5, "a valid string, found 5"),
    "name of two lines": (_with("name", "a\nb"), "field name: String should match pattern"),
    "lone surrogate": (
        _replaced('"name": "pair"', '"name": "\\ud800"'),
        "field name: Input should be a valid string",
    ),
    "lone surrogate as key": (
        _replaced('"name": "pair"', '"name": "pair", "\\ud800": 1'),
        # Such a key has no printable form to name it by; what matters is that it is refused.
        "",
    ),
    "long name": (_with("name", "x" * 401), "field name: String should"),
    "seed 1.5": _field("seed", 1.5, "a valid integer, found 1.5"),
    "optimum alone": (
        _with("known_optimum_reason"),
        "expected known_optimum and known_optimum_reason together",
    ),
    "reason alone": (_with("known_optimum"), "expected known_optimum and known_optimum_reason"),
    "optimum 0": _field("known_optimum", 0, "greater than or equal"),
    "time unit": _field("time_unit", "minute", "'round' or 'second'"),
    "empty requests": (_with("requests", []), "field requests: Tuple should have at least 1 item"),
    "requests an object": _field("requests", {}, "a valid tuple, found an obj"),
    "a request null": (
        _with("requests", [*GOOD["requests"], None]),
        "request 2: Input should be a dictionary or an instance of Request, found null",
    ),
    "duplicate id": (
        _with("id", 7, request=True),
        "request id 7 occurs twice, expected unique ids",
    ),
    "no id": (_with("id", request=True), "request 1, field id: Field required"),
    "id true": _second("id", True, "a valid integer, found true", "request 1, field "),
    "id -1": _second("id", -1, "greater than or equal", "request 1 (id -1), field "),
    "no output": (_with("output", request=True), _SECOND + "output: Field required"),
    "unknown key in a request": (_with("outptu", 1, request=True), _SECOND + "outptu: unknown key"),
    "output 1.5": _second("output", 1.5, "a valid integer, found 1.5"),
    "output 0": _second("output", 0, "greater than or equal to 1"),
    "output 10^10": _second("output", 10**10, "less than or equal"),
    "prompt -1": _second("prompt", -1, "greater than or equal to 0"),
    "prompt null": _second("prompt", None, "a valid integer, found null"),
    "arrival -1": _second("arrival", -1, "greater than or equal"),
    "arrival text": _second("arrival", "0", 'a valid integer, found "0"'),
    "arrival 1.5 rounds": (
        _with("arrival", 1.5, request=True),
        "request id 3, field arrival: expected an integer round, found 1.5",
    ),
    "lower alone": (
        _with("output_lower", 1, request=True),
        "request 1 (id 3): expected both output_lower and output_upper, found only one",
    ),
    "id of 4,000 digits": (_with("id", 10**4000, request=True), "request 1 (id about 2**13287)"),
    "50,000 unknown keys": (
        json.dumps(GOOD | {f"k{i:05}": i for i in range(50_000)}),
        "field k00000: unknown key",
    ),
    # Half a megabyte: comparing each key with each other would take minutes.
    "a duplicate among 50,000 keys": (
        "{" + ",".join(f'"k{i:05}":{i}' for i in range(50_000)) + ',"k49999":1}',
        'expected each key once, found "k49999" twice in one object',
    ),
    "interval without the output": (
        _with("requests", [GOOD["requests"][0] | {"output_lower": 4}]),
        "request 0 (id 7): expected output_lower <= output <= output_upper, found 4, 3, 4",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_refused_in_one_line(kind: str, tmp_path: Path) -> None:
    """The error names the file, the request and the field, what was expected and what was found."""
    content, expected = BAD[kind]
    path = tmp_path / "bad.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InstanceFileError) as caught:
        read_instance(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {expected}")
    assert message.isprintable()
    assert len(message) < 500


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing.json", "No such file or directory"),
        (".", "Is a directory"),
        ("a\0b", "embedded null "),  # byte, or from Python 3.13 on character
        ("x" * 5000, "File name too long"),
    ],
)
def test_paths_that_cannot_be_read(
    path: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing file, a directory and an impossible name are refused like a bad file."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InstanceFileError, match=f"cannot be read: .*{reason}"):
        read_instance(path)


def test_a_request_larger_than_the_memory_is_named(tmp_path: Path) -> None:
    """s + o > M is infeasible, not malformed; file, request and arithmetic are named."""
    path = tmp_path / "large.json"
    path.write_text(_with("output", 13, request=True), encoding="utf-8")
    with pytest.raises(InfeasibleInstanceError) as caught:
        read_instance(path)
    told = "instance 'pair' is infeasible: request id 3 needs 0 + 13 = 13 tokens, memory is 12"
    assert str(caught.value) == f"{path}: {told}"
    assert caught.value.request_ids == (3,)
    with pytest.raises(InfeasibleInstanceError, match=r"request id 7 .* \(and 1 more requests\)"):
        parse_instance(GOOD | {"memory": 4})


#: Values that stand for every JSON type, with the limits of the fields among them.
_VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 20)
    | st.sampled_from([10**9, 10**9 + 1, 10**10, 10**12 + 1, -(10**30), 10**400])
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["\ud800", "\n", "7", "round", "second", "kvopt.instance/1"])
    | st.lists(st.integers(), max_size=2)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
)
_KEYS = st.sampled_from(
    [*GOOD, "time_unit", "id", "arrival", "prompt", "output", "output_lower", "output_upper", "x"]
)


@st.composite
def damaged_documents(draw: st.DrawFn) -> str:
    """Draw a valid document with one to three places set, removed, doubled or replaced."""
    document: Any = copy.deepcopy(GOOD)
    for _ in range(draw(st.integers(1, 3))):
        requests = document.get("requests")
        places = [document]
        if isinstance(requests, list):
            places += [each for each in requests if isinstance(each, dict)]
        place = draw(st.sampled_from(places))
        match draw(st.sampled_from(["set", "remove", "double"])):
            case "set":
                place[draw(_KEYS)] = draw(_VALUES)
            case "remove" if place:
                del place[draw(st.sampled_from(sorted(place)))]
            case "double" if isinstance(requests, list) and requests:
                requests.append(copy.deepcopy(draw(st.sampled_from(requests))))
    return json.dumps(document)


def _reads_or_says_why(path: Path) -> None:
    """Any other exception than the two documented ones fails the test."""
    refusal: Exception | None = None
    try:
        instance = read_instance(path)
    except (InstanceFileError, InfeasibleInstanceError) as error:
        refusal = error
    if refusal is None:
        again = path.with_name("again.json")
        write_instance(instance, again)
        assert read_instance(again) == instance
        jsonschema.validate(json.loads(path.read_bytes()), _COMMITTED)
        return
    message = str(refusal)
    assert len(message.splitlines()) == 1
    assert message.isprintable()
    assert message.startswith(f"{path}: ") or isinstance(refusal, InfeasibleInstanceError)


@settings(IN_TMP, max_examples=150)
@given(text=damaged_documents())
def test_damaged_structures_read_or_say_why(tmp_path: Path, text: str) -> None:
    """Whatever stands in whatever field, the file reads or one line says why not."""
    path = tmp_path / "damaged.json"
    path.write_text(text, encoding="utf-8")
    _reads_or_says_why(path)


@settings(IN_TMP, max_examples=150)
@given(data=st.data())
def test_damaged_bytes_read_or_say_why(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever bytes are cut out of or put into a file, it reads or one line says why not."""
    content = bytearray(format_instance(parse_instance(GOOD)).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        stop = data.draw(st.integers(start, min(start + 8, len(content))))
        content[start:stop] = data.draw(
            st.binary(max_size=4)
            | st.sampled_from([b'"', b"}", b"[", b"-", b"e9", b"\\u", b"9" * 20])
        )
    path = tmp_path / "damaged.json"
    path.write_bytes(bytes(content))
    _reads_or_says_why(path)


#: Bad files that are beyond a JSON Schema: it counts 12.0 and 1e400 as it pleases, and relations
#: between fields cannot be said in it.
_BEYOND_A_SCHEMA = {
    *("memory 12.0", "memory 1e400", "memory of 10,000 digits", "lone surrogate"),
    *("optimum alone", "reason alone", "duplicate id", "arrival 1.5 rounds", "lower alone"),
    "interval without the output",
}


def _as_json(content: str | bytes) -> Any:
    """Return the document, or None where the file is no strict JSON, which no schema can judge."""

    def refuse(_: str) -> None:
        raise ValueError

    try:
        return json.loads(content, object_pairs_hook=read_pairs, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None


_JUDGED = [
    kind
    for kind, (content, _) in BAD.items()
    if kind not in _BEYOND_A_SCHEMA and isinstance(content, str) and _as_json(content) is not None
]


@pytest.mark.parametrize("kind", _JUDGED)
def test_the_committed_schema_refuses_bad_documents(kind: str) -> None:
    """What the reader refuses by its form, a reader in any language refuses by the schema."""
    assert len(_JUDGED) > 30
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(_as_json(BAD[kind][0]), _COMMITTED)
