"""Plan of a sweep: the tasks of its sections."""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from instances import Instance
from kvopt.methods.fingerprint import fingerprint, versions
from kvopt.methods.grammar import OF_ANSWER, MethodError, read_methods, refuse_namesakes
from kvopt.methods.method import Method
from kvopt.runs.task import Task
from kvopt.suites import InstanceSource, LoadedSource, SuiteSection, load
from serving.batch_time_choice import batch_time_of, rounds_only
from serving.traces import TraceReport
from support.message_text import printable

#: Method of an instance in rounds where neither a suite nor the user names one.
DEFAULT_METHOD = "auto"

#: Receives a section, an instance and the report of its trace.
Listener = Callable[[SuiteSection, Instance, TraceReport], object]


def plan(sections: Iterable[SuiteSection], listen: Listener = lambda *_: None) -> list[Task]:
    """Return the tasks of sections, every key once, in the order of the sections.

    Within a section all methods run on an instance before the next one; a method without draws runs
    with seed 0 only.  Instances of one name in several files get the files' names.  An instance
    that cannot be run has one task for each method, with its fault.

    Raises a MethodError if a custom file cannot be read, or two files have one name; an
    TimeUnitError if a section has a batch time and an instance in rounds.
    """
    sections = list(sections)
    refuse_namesakes(each for section in sections for each in section.methods)
    read = [
        [(source, load(source, partial(listen, section))) for source in section.sources]
        for section in sections
    ]
    named = _with_file_names(pair for pairs in read for pair in pairs)
    tasks = (
        task
        for section in sections
        for task in _section_tasks(section, [next(named) for _ in section.sources])
    )
    return list({task.key: task for task in reversed(list(tasks))}.values())[::-1]


def _with_file_names(read: Iterable[tuple[InstanceSource, LoadedSource]]) -> Iterator[LoadedSource]:
    """Yield the loaded sources; instances of one name get the names of their files, too."""
    read = list(read)
    files: dict[str, set[Path]] = defaultdict(set)
    for source, loaded in read:
        if source.file is not None and loaded.instance is not None:
            files[loaded.name].add(source.file.resolve())
    for source, loaded in read:
        together = files[loaded.name]
        if source.file is not None and loaded.instance is not None and len(together) > 1:
            file = source.file.resolve().relative_to(os.path.commonpath(together))
            name = f"{loaded.name} ({printable(str(file))})"
            loaded = replace(loaded, name=name, instance=replace(loaded.instance, name=name))
        yield loaded


def _section_tasks(section: SuiteSection, read: Iterable[LoadedSource]) -> Iterable[Task]:
    methods = _with_digests(section.methods, section.outputs)
    unnamed = cache(lambda text: _with_digests(read_methods([text]), section.outputs))
    for loaded in read:
        instance = loaded.instance
        batch_time = ""
        if instance is not None:
            batch_time = batch_time_of(instance, section.batch_time, loaded.report)
        for method, code, used in methods or unnamed(OF_ANSWER if batch_time else DEFAULT_METHOD):
            fault = loaded.fault
            if instance is not None and (reason := rounds_only(instance, method)):
                if method.grouped:
                    continue
                fault = f"{method.text} {reason}"
            for seed in range(section.seeds if method.seeded else 1):
                yield Task(
                    instance=instance,
                    name=loaded.name,
                    method=method,
                    seed=seed,
                    time_limit=section.time_limit,
                    memory_limit=section.memory_limit,
                    threads=section.threads,
                    code=code,
                    versions=used,
                    section=section.name,
                    fault=fault,
                    fault_status=loaded.fault_status,
                    batch_time=batch_time,
                    outputs=section.outputs,
                )


def _with_digests(
    methods: Iterable[Method], outputs: Collection[str]
) -> list[tuple[Method, str, dict[str, str]]]:
    found = []
    for method in methods:
        try:
            found.append((method, fingerprint(method, outputs), versions(method, outputs)))
        except (OSError, SyntaxError) as error:
            raise MethodError(f"{method.text}: {' '.join(str(error).split())}") from None
    return found
