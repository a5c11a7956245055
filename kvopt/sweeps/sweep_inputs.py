"""Inputs of a command line: suites, instance files, folders and globs, as sections."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heuristics.policy_registry import policies
from instances.batch_time import BatchTime
from instances.families import families
from instances.instance_names import find_instances, propose_names
from kvopt.methods.engine_table import named_engines
from kvopt.methods.method import Method
from kvopt.project_paths import shown_path
from kvopt.suites import InstanceSource, SuiteSection, file_source, read_suite, suites
from kvopt.suites.suite import read_draws
from serving.traces import TraceOptions
from serving.traces.read_trace import is_instance_file
from support.message_text import one_line

#: Most runs (instances, methods and seeds multiplied) of one command: a day at least.
MAX_RUNS = 10**6


class InputError(ValueError):
    """A name has nothing to run; the message is one line."""


@dataclass(frozen=True)
class Wishes:
    """Wishes of the user; None means the value of the suite, or the default."""

    methods: tuple[Method, ...] | None = None
    seeds: int | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    threads: int | None = None
    batch_time: BatchTime | None = None
    outputs: tuple[str, ...] | None = None


def read_inputs(
    names: Sequence[str], wishes: Wishes, trace: TraceOptions | None = None
) -> list[SuiteSection]:
    """Return the sections of suites, and one section of all other inputs."""
    sections: list[SuiteSection] = []
    sources: dict[str, InstanceSource] = {}
    for name in names:
        if name in suites() or name.endswith(".toml"):
            sections += read_suite(name).sections
        else:
            sources.update((source.name, source) for source in _sources(name, trace))
    files = [source.file for source in sources.values() if source.file is not None]
    if trace is not None and trace.given and all(map(is_instance_file, files)):
        found = f"; {next(iter(sources))} is an instance file" if files else ""
        raise InputError(f"{', '.join(trace.given)}: goes with a trace, found none{found}")
    if sources:
        sections.append(SuiteSection("", tuple(sources.values()), ()))
    wished = [with_wishes(section, wishes) for section in sections]
    planned = sum(len(each.sources) * max(1, len(each.methods)) * each.seeds for each in wished)
    if planned > MAX_RUNS:
        raise InputError(f"expected at most {MAX_RUNS} runs at once, found {planned}")
    return wished


def with_wishes(section: SuiteSection, wishes: Wishes) -> SuiteSection:
    """Return a section with the user's values."""
    given = {name: value for name, value in vars(wishes).items() if value is not None}
    return replace(section, **given)


def _sources(name: str, trace: TraceOptions | None) -> Iterator[InstanceSource]:
    try:
        files = find_instances(name)
    except (OSError, ValueError) as error:
        raise InputError(f"{name!r}: {getattr(error, 'strerror', None) or error}") from None
    if not files and name.partition("(")[0] in families():
        try:
            return read_draws(name)
        except ValueError as error:
            raise InputError(f"{name}: {one_line(error)}") from None
    if not files and re.split("[:(]", name)[0] in {"file", *policies(), *named_engines()}:
        raise InputError(
            f"{name!r}: expected a suite or an instance, found a method; several methods are one "
            "text, with a comma between them (--methods svf,mc-sf)"
        )
    if not files:
        near = propose_names(Path(name), suites())
        raise InputError(
            f"{name!r}: expected a suite or an instance (see --list), a file, a folder or a glob, "
            f"found none{near}"
        )
    return (file_source(file, shown_path(file), trace) for file in files)
