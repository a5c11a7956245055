"""Reading and writing the instance file format ``kvopt.instance/1``."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from instances.bulk_requests import pause_collector
from instances.instance import InfeasibleInstanceError, Instance, Request, as_record
from support.json_files import FileError, describe_first_fault, file_schema, read_object, write_text

SCHEMA = "kvopt.instance/1"
SCHEMA_FILE = Path(__file__).with_name("instance.schema.json")

_ADAPTER = TypeAdapter(Instance)


class InstanceFileError(FileError):
    """An instance file cannot be read; the message is one line with file, request and field."""


def read_instance(path: str | Path, name: str | None = None) -> Instance:
    """Read an instance file, which messages call ``name``, by default its path.

    Raises InstanceFileError if it is no valid ``kvopt.instance/1``; InfeasibleInstanceError if a
    request exceeds the memory.
    """
    shown = str(path) if name is None else name
    try:
        with pause_collector():
            return parse_instance(read_object(path, SCHEMA))
    except InfeasibleInstanceError as error:
        error.args = (f"{shown}: {error}",)
        raise
    except FileError as error:
        raise InstanceFileError(f"{shown}: {error}") from None


def parse_instance(document: dict[str, Any]) -> Instance:
    """Build an instance from the JSON object of an instance file (with its ``schema`` key)."""
    fields = {key: value for key, value in document.items() if key != "schema"}
    try:
        return _ADAPTER.validate_python(fields)
    except ValidationError as error:
        raise InstanceFileError(describe_first_fault(error, document)) from None


def instance_document(instance: Instance) -> dict[str, Any]:
    """Return the JSON object of an instance file, optional keys only where they are set."""
    return _without_requests(instance) | instance.memory_and_requests()


def _without_requests(instance: Instance) -> dict[str, Any]:
    document: dict[str, Any] = {"schema": SCHEMA, "name": instance.name}
    for key in ("family", "source", "seed", "known_optimum", "known_optimum_reason"):
        value = getattr(instance, key)
        if value is not None:
            document[key] = value
    if instance.time_unit != "round":
        document["time_unit"] = instance.time_unit
    return document


def format_instance(
    instance: Instance, each: Callable[[Sequence[Request]], Iterable[Request]] = iter
) -> str:
    """Return the text of an instance file, one request a line; ``each`` yields the requests."""
    document = _without_requests(instance) | {"memory": instance.memory}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in document.items()]
    # One by one: a million of these objects take more memory than their text.
    rows = ",\n".join("  " + json.dumps(as_record(request)) for request in each(instance.requests))
    return "{\n" + "\n".join(lines) + '\n "requests": [\n' + rows + "\n ]\n}\n"


def write_instance(instance: Instance, path: str | Path) -> None:
    """Write an instance file; a crash leaves either the old file or the new one, never half."""
    write_text(path, format_instance(instance))


def instance_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``kvopt.instance/1``, derived from the validated classes."""
    return file_schema(_ADAPTER, SCHEMA)
