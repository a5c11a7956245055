"""What a command line names: suites, instance files, folders and globs, as sections to plan."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kvopt.methods.grammar import read_methods
from kvopt.methods.sources import ROOT
from kvopt.suites import Section, Source, file_source, read_suite, suites

#: Most runs (instances, methods and seeds multiplied) of one command; a run takes a tenth of a
#: second at least, so these take a day.
MAX_RUNS = 10**6
#: Used where neither a suite nor the user names one.
DEFAULT_METHOD = "auto"


class InputError(ValueError):
    """There is nothing to run by that name; the message is one line."""


@dataclass(frozen=True)
class Wishes:
    """What the user asks for; None leaves it to the suite, or to the defaults."""

    methods: tuple[str, ...] | None = None
    seeds: int | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    threads: int | None = None


def read_inputs(names: Sequence[str], wishes: Wishes) -> list[Section]:
    """Return the sections of suites, and one of all instances that are named by themselves.

    Raises
    ------
    InputError
        If a name is no suite, no file, no folder with instances and no glob that matches any, or
        there are more than ``MAX_RUNS`` runs.
    SuiteError
        If a suite cannot be read.
    """
    sections: list[Section] = []
    sources: dict[str, Source] = {}
    for name in names:
        if name in suites() or name.endswith(".toml"):
            sections += read_suite(name).sections
        else:
            sources.update((source.name, source) for source in _sources(name))
    if sources:
        sections.append(Section("", tuple(sources.values()), (DEFAULT_METHOD,)))
    wished = [_as_wished(section, wishes) for section in sections]
    planned = sum(len(each.sources) * len(each.methods) * each.seeds for each in wished)
    if planned > MAX_RUNS:
        raise InputError(f"expected at most {MAX_RUNS} runs at once, found {planned}")
    return wished


def input_files(names: Sequence[str], sections: Sequence[Section]) -> list[Path]:
    """Return the files that sections read: suites, instances, and methods of one's own."""
    found = [suites().get(name, Path(name)) for name in names]
    for section in sections:
        found += [source.file for source in section.sources if source.file is not None]
        methods = read_methods(section.methods)
        found += [method.path for method in methods if method.path is not None]
    return found


def _as_wished(section: Section, wishes: Wishes) -> Section:
    given = {name: value for name, value in vars(wishes).items() if value is not None}
    return replace(section, **given)


def _sources(name: str) -> Iterator[Source]:
    path = Path(name)
    try:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*.json") if _may_be_instance(file))
        elif path.exists():
            files = [path]
        else:
            files = sorted(Path(found) for found in glob.glob(name, recursive=True))
    except (OSError, ValueError) as error:  # too long, or a NUL
        raise InputError(f"{name!r}: {getattr(error, 'strerror', None) or error}") from None
    if not files:
        raise InputError(
            f"{name!r}: expected a suite ({', '.join(suites())}), an instance file, a folder or a "
            "glob with instances, found none"
        )
    return (file_source(file, _shown(file)) for file in files)


def _may_be_instance(file: Path) -> bool:
    # Best-known values and their proofs lie beside the library.
    beside = any(part.startswith("best_known") for part in file.parts)
    return not file.name.endswith(".schema.json") and not beside


def _shown(file: Path) -> str:
    """Return the path from the checkout on, so that rows are the same wherever it lies."""
    whole = file.absolute()
    return str(whole.relative_to(ROOT) if whole.is_relative_to(ROOT) else whole)
