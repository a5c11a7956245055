"""Entries of a challenge: one file each, kept in a separate folder, and run as a custom method."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from heuristics.policy import NotApplicableError
from instances import Instance
from kvopt.methods.custom_declaration import described
from kvopt.methods.grammar import read_method
from kvopt.methods.python_files import file_digest, is_python
from kvopt.methods.syntax import file_text
from schedules import Schedule
from schedules.schedule_files import SCHEMA, parse_schedule
from support.input_files import read_text
from support.json_files import FileError, file_holds, parse_object, read_bytes

#: Suffix of a file of schedules, and the method that is written next to it.
SCHEDULES = ".jsonl"
_SENDER = """\
from functools import partial
from pathlib import Path

from kvopt.sweeps.challenge_entries import send_schedules

solve = partial(send_schedules, Path(__file__).with_suffix(".jsonl"))
"""


def keep_entry(given: Path, folder: Path, place: Path) -> str:
    """Return an entry's method, a file below ``place``, and keep a copy; errors for no entry."""
    content, kept, copied = read_bytes(given), folder / given.stem, place / given.stem
    if kept.exists() and not file_holds(kept / given.name, content):
        raise ValueError(f"another entry has the name {given.stem}")
    copied.mkdir(parents=True, exist_ok=True)
    method = _method(Path(shutil.copy(given, copied)))
    kept.mkdir(parents=True, exist_ok=True)
    shutil.copy(given, kept)
    return method


def _method(file: Path) -> str:
    """Return the method of an entry, or raise a ValueError for a file that is none."""
    if file.suffix == SCHEDULES:
        if not list(_read_schedules(file)):
            raise ValueError("expected a schedule on each line, found none")
        file = file.with_suffix(".py")
        file.write_text(_SENDER, encoding="utf-8")
    text = file_text(str(file))
    read_method(text)
    if is_python(file) and (fault := described(file, file_digest(file))[1]):
        raise ValueError(fault)
    return text


def _read_schedules(path: Path) -> Iterator[Schedule]:
    """Yield the schedules of a file, one ``kvopt.schedule/1`` a line."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        try:
            yield parse_schedule(parse_object(line, SCHEMA))
        except FileError as error:
            raise ValueError(f"schedule on line {number}: {error}") from None


def send_schedules(path: Path, instance: Instance, report: Callable[..., None]) -> None:
    """Report the schedules of a file for an instance, or raise a NotApplicableError."""
    found = [each for each in _read_schedules(path) if each.instance_sha256 == instance.sha256]
    if not found:
        raise NotApplicableError("the entry has no schedule of this instance")
    for each in found:
        report("schedule", starts=each)
