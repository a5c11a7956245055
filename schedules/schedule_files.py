"""Reading and writing the schedule file format ``kvopt.schedule/1``."""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from schedules.schedule import Schedule
from support.json_files import FileError, describe_first_fault, file_schema, read_object, write_text

SCHEMA = "kvopt.schedule/1"
SCHEMA_FILE = Path(__file__).with_name("schedule.schema.json")

_ADAPTER = TypeAdapter(Schedule)


class ScheduleFileError(FileError):
    """A schedule file cannot be read; the message is one line with file and field."""


def read_schedule(path: str | Path) -> Schedule:
    """Read a schedule file, or raise ScheduleFileError if it is no valid ``kvopt.schedule/1``."""
    try:
        return parse_schedule(read_object(path, SCHEMA))
    except FileError as error:
        raise ScheduleFileError(f"{path}: {error}") from None


def parse_schedule(document: dict[str, Any]) -> Schedule:
    """Build a schedule from the JSON object of its file, or raise a ScheduleFileError."""
    fields = {key: value for key, value in document.items() if key != "schema"}
    try:
        return _ADAPTER.validate_python(fields)
    except ValidationError as error:
        raise ScheduleFileError(describe_first_fault(error, document)) from None


def schedule_document(schedule: Schedule) -> dict[str, Any]:
    """Return the JSON object of a schedule file, optional keys only where they are set."""
    document: dict[str, Any] = {"schema": SCHEMA} | _ADAPTER.dump_python(schedule, mode="json")
    for key in ("attempts", "kept", "clock"):
        if document[key] is None:
            del document[key]
    if not schedule.engine_accounting:
        del document["engine_accounting"]
    for key in ("prefills", "cached"):
        if schedule.clock is not None and document["clock"][key] is None:
            del document["clock"][key]
    return document


def write_schedule(schedule: Schedule, path: str | Path) -> None:
    """Write a schedule file; a crash leaves either the old file or the new one, never half."""
    write_text(path, json.dumps(schedule_document(schedule)) + "\n")


def schedule_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``kvopt.schedule/1``, derived from the validated class."""
    schema = file_schema(_ADAPTER, SCHEMA)
    # pydantic 2.10 leaves out a default.
    free = {"additionalProperties": True} | schema["properties"]["provenance"]
    schema["properties"]["provenance"] = free
    return schema
