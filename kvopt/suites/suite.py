"""Suite format: a TOML file with a summary and sections, each a product of runs."""

import glob
import inspect
import os
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError

from instances import Instance
from instances.batch_time import BatchTime, parse_batch_time
from instances.families import families
from instances.families.shared import check_ranges
from instances.instance_names import FOLDER as LIBRARY
from instances.instance_names import find_rungs, may_be_instance
from instances.ladder import draw_rung
from kvopt.checked_numbers import MAX_GIGABYTES, MAX_SECONDS, MAX_THREADS, SEED_END, TIME_LIMIT
from kvopt.methods.grammar import read_methods
from kvopt.methods.method import Method
from kvopt.methods.option_values import read_formulation, switched
from kvopt.methods.syntax import parse_call
from kvopt.project_paths import shown_path
from kvopt.suites.instance_sources import (
    InstanceSource,
    Value,
    arriving_source,
    draw_source,
    file_source,
)
from serving.traces import TraceOptions
from serving.traces.read_trace import is_instance_file
from support.input_files import read_text
from support.json_files import describe_first_fault
from support.message_text import did_you_mean, one_line, unknown_name
from support.usage_errors import read_integer

FOLDER = Path(__file__).parent

_CONFIG = ConfigDict(extra="forbid", frozen=True, strict=True)
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=60)]
Text = Annotated[str, Field(min_length=1, max_length=2000)]
Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS)]
Seed = Annotated[int, Field(ge=0, lt=SEED_END)]
#: Longest file.
MAX_BYTES = 10**6
#: Prefix of a formulation that comes with each of its switches turned.
SWITCHES = "switches of "
#: Most instances that one entry of a suite draws.
MAX_DRAWS = 100_000
#: Requests a second.
_Rate = Annotated[float, Field(ge=1e-6, le=1e6)]


#: Makes the source of a draw.
_Source = Callable[..., InstanceSource]
#: A value in a text, read as the first of these kinds.
_WRITTEN: TypeAdapter[Value] = TypeAdapter(
    Annotated[int | float | bool | str, Field(union_mode="left_to_right")]
)


class SuiteError(ValueError):
    """A suite cannot be read; the message is one line that names file and key."""


#: The first seed and the end.
_Seeds = Annotated[list[Seed], Field(min_length=2, max_length=2)]


class _Draw(BaseModel):
    """Instances drawn from a family for the seeds first..end − 1.

    With a ``rate`` each has Poisson arrivals, so many a second, for each of ``arrival_seeds``.
    """

    model_config = _CONFIG
    family: Text
    seeds: _Seeds = [0, 1]
    set: dict[str, Value] = {}
    rate: _Rate | None = None
    arrival_seeds: _Seeds | None = None


class _Trace(BaseModel):
    """A trace of a file, with the options of :class:`serving.traces.TraceOptions`."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    trace: Text


#: Kinds that no message names.
_TAGS = ("of a trace", "int", "float")


def _kind(entry: object) -> str:
    if not isinstance(entry, dict):
        return "glob"
    return "of a trace" if "trace" in entry else "draw"


_Kinds = (
    Annotated[Text, Tag("glob")]
    | Annotated[_Draw, Tag("draw")]
    | Annotated[_Trace, Tag("of a trace")]
)
_Entry = Annotated[_Kinds, Discriminator(_kind)]


class _Section(BaseModel):
    """One table ``[[section]]`` of the file."""

    model_config = _CONFIG
    name: Name
    instances: Annotated[list[_Entry], Field(min_length=1)]
    methods: Annotated[list[Text], Field(min_length=1)]
    seeds: Annotated[int, Field(ge=1, le=10_000)] = 1
    time_limit: Seconds = TIME_LIMIT
    memory_limit: Annotated[float, Field(gt=0, le=MAX_GIGABYTES)] | None = None
    threads: Annotated[int, Field(ge=1, le=MAX_THREADS)] = 1
    batch_time: Text | None = None
    reproducible: bool = True
    role: Literal["policies", "exact", "bounds", "anytime"] = "policies"


class _File(BaseModel):
    model_config = _CONFIG
    summary: Text
    section: Annotated[list[_Section], Field(min_length=1)]


@dataclass(frozen=True)
class SuiteSection:
    """Runs of every method on every instance with every seed.

    The sources are unread (:func:`kvopt.suites.instance_sources.load`).  Without methods the
    instances have their defaults (``kvopt.sweeps.plan``).  Seeds are 0..seeds − 1, for methods or
    predictions that draw.  Limits are of one run: seconds, gigabytes (None for no limit), threads.
    Without a batch time instances in seconds have the default.  Results are ``reproducible`` if all
    but the times are equal on all machines.  The role is ``policies``, ``exact`` (proofs),
    ``bounds`` or ``anytime`` (values within a time).  ``outputs`` are absolute paths of the
    command's outputs, which are no sources of its methods.
    """

    name: str
    sources: tuple[InstanceSource, ...]
    methods: tuple[Method, ...]
    seeds: int = 1
    time_limit: float = TIME_LIMIT
    memory_limit: float | None = None
    threads: int = 1
    reproducible: bool = True
    role: str = "policies"
    batch_time: BatchTime | None = None
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suite:
    """Name, purpose and sections."""

    name: str
    summary: str
    sections: tuple[SuiteSection, ...]


def suites() -> dict[str, Path]:
    """Return the committed suites: name and file, sorted."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def read_suite(name_or_path: str | Path, draw: _Source = draw_source) -> Suite:
    """Read a committed suite by name, or a ``.toml`` file, or raise a SuiteError.

    Globs are relative to ``instances/``; with ``./`` or ``../`` they are relative to the file, and
    with ``ladder/`` they are names of the ladder.  ``draw`` makes the sources of draws.
    """
    path = Path(name_or_path)
    if path.suffix != ".toml":
        if str(name_or_path) not in suites():
            raise SuiteError(unknown_name("suite", str(name_or_path), suites()))
        path = suites()[str(name_or_path)]
    try:
        file = _File.model_validate(tomllib.loads(read_text(path, MAX_BYTES)))
    except ValidationError as error:
        raise SuiteError(f"{path}: {describe_first_fault(error, tags=_TAGS)}") from None
    except RecursionError:
        raise SuiteError(f"{path}: expected a suite, found too deep a nesting") from None
    except (OSError, ValueError) as error:
        raise SuiteError(f"{path}: {getattr(error, 'strerror', None) or one_line(error)}") from None
    if twice := _repeated(section.name for section in file.section):
        raise SuiteError(f"{path}: section {twice[0]!r}, name: occurs twice")
    sections = tuple(_section(path, section, draw) for section in file.section)
    return Suite(path.stem, " ".join(file.summary.split()), sections)


def _section(path: Path, section: _Section, draw: _Source) -> SuiteSection:
    place = f"{path}: section {section.name!r}"
    read: dict[str, Any] = {}
    with _naming_place(f"{place}, methods"):
        texts = [text for entry in section.methods for text in _entry_methods(entry)]
        read["methods"] = read_methods(texts)
        if twice := _repeated(texts):
            raise ValueError(f"{twice[0]!r} occurs twice")
    with _naming_place(f"{place}, instances"):
        found = (each for entry in section.instances for each in _entry_sources(path, entry, draw))
        read["sources"] = tuple({source.name: source for source in found}.values())
    with _naming_place(f"{place}, batch_time"):
        if section.batch_time is not None:
            read["batch_time"] = parse_batch_time(section.batch_time)
    return SuiteSection(**section.model_dump(exclude={"instances"}) | read)


@contextmanager
def _naming_place(place: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise SuiteError(f"{place}: {getattr(error, 'strerror', None) or error}") from None


def _entry_methods(entry: str) -> list[str]:
    if not entry.startswith(SWITCHES):
        return [entry]
    solver, _, name = entry.removeprefix(SWITCHES).partition(":")
    return [f"{solver}:{each}" for each in switched(*read_formulation(name))]


def _entry_sources(
    path: Path, entry: str | _Draw | _Trace, draw: _Source
) -> Iterator[InstanceSource]:
    if isinstance(entry, str):
        return _file_sources(path, entry)
    if isinstance(entry, _Draw):
        return _drawn_sources(entry, draw)
    return _trace_sources(path, entry)


def _trace_sources(path: Path, entry: _Trace) -> Iterator[InstanceSource]:
    options = TraceOptions.of(entry.model_extra or {})
    file = path.parent / entry.trace
    if not file.is_file():
        raise ValueError(f"expected a trace next to the suite, found none: {entry.trace!r}")
    if is_instance_file(file):
        raise ValueError(f"expected a trace, found an instance file: {entry.trace!r}")
    name = shown_path(file)
    yield replace(file_source(file, name, options), name=f"{name} ({options.memory}, {options})")


def _file_sources(path: Path, pattern: str) -> Iterator[InstanceSource]:
    of_suite = pattern.startswith(("./", "../"))
    if not of_suite and (names := find_rungs(Path(pattern))):
        return (InstanceSource(name, partial(_read_rung, name)) for name in names)
    base = path.parent if of_suite else LIBRARY
    found = sorted(glob.glob(pattern, root_dir=base, recursive=True))
    files = [base / each for each in found if of_suite or may_be_instance(Path(each))]
    files = [file for file in files if file.suffix == ".json" and file.is_file()]
    if not files:
        raise ValueError(f"{pattern!r} matches no file in {os.path.relpath(base)}/")
    return (file_source(file, shown_path(file)) for file in files)


def _read_rung(name: str) -> tuple[Instance, None]:
    return draw_rung(name), None


def _drawn_sources(draw: _Draw, source: _Source = draw_source) -> Iterator[InstanceSource]:
    known = families()
    if draw.family not in known:
        raise ValueError(unknown_name("family", draw.family, known))
    _check_parameters(draw, known[draw.family].generate)
    if draw.rate is None and draw.arrival_seeds is not None:
        raise ValueError(f"arrival_seeds of {draw.family!r}: goes with a rate, found none")
    ends = {"seeds": draw.seeds, "arrival_seeds": draw.arrival_seeds or [0, 1]}
    for key, (first, end) in ends.items():
        if first >= end:
            raise ValueError(f"{key} of {draw.family!r}: expected [first, end] with first < end")
    seeds, again = (range(*each) for each in ends.values())
    if (count := len(seeds) * len(again)) > MAX_DRAWS:
        raise ValueError(
            f"seeds of {draw.family!r}: expected at most {MAX_DRAWS} draws, found {count}"
        )
    drawn = (source(draw.family, seed, draw.set) for seed in seeds)
    if (rate := draw.rate) is None:
        return drawn
    return (arriving_source(each, rate, seed) for each in drawn for seed in again)


def read_draws(text: str) -> Iterator[InstanceSource]:
    """Return the draws of a family, ``uniform(n=20,draws=3)``, or raise a ValueError."""
    call = parse_call(text)
    given = dict(call.arguments or ())
    end = read_integer(given.pop("draws", "5"), 1, MAX_DRAWS)
    values = {key: _WRITTEN.validate_strings(value) for key, value in given.items()}
    return _drawn_sources(_Draw(family=call.name, seeds=[0, end], set=values))


def _check_parameters(draw: _Draw, generate: Callable[..., Instance]) -> None:
    takes = [name for name in inspect.signature(generate).parameters if name != "seed"]
    types = get_type_hints(generate)
    for key, value in draw.set.items():
        if key not in takes:
            raise ValueError(
                f"family {draw.family!r} takes {', '.join(takes) or 'no parameters'}, found {key!r}"
                f"{did_you_mean(key, [*takes, 'draws'])}"
            )
        try:
            TypeAdapter(types[key]).validate_python(value, strict=True)
        except ValidationError as error:
            raise ValueError(
                f"family {draw.family!r}, {key}: {describe_first_fault(error)}"
            ) from None
    try:
        check_ranges(generate, draw.set)
    except ValueError as error:
        raise ValueError(f"family {draw.family!r}, {error}") from None


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
