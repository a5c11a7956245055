"""The registry's files: one JSON, and of each instance a schedule and a certificate."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from formulations.certificates.reader_budget import CertificateError
from instances import Instance
from instances.instance_names import FOLDER as LIBRARY
from kvopt.best_known.registry_entry import (
    ENTRIES,
    REGISTRY,
    SCHEMA,
    Registry,
    RegistryEntry,
    UpperValue,
)
from kvopt.runs.run_evidence import certificate_body
from schedules import Schedule, make_schedule
from support.input_files import LARGEST_PROOF
from support.json_files import (
    FileError,
    describe_first_fault,
    file_holds,
    file_schema,
    read_object,
    write_together,
)

if TYPE_CHECKING:
    from formulations.certificates.certificate_file import Certificate

CERTIFICATE_SCHEMA = "kvopt.certificate/1"
#: Names of the files in the registry's folder.
REGISTRY_FILE = "best_known.json"
SCHEMA_FILE = "best_known.schema.json"
CERTIFICATE_SCHEMA_FILE = "best_known.certificate.schema.json"
PROOFS = "best_known"
#: All of them, as its commands may write them.
OWNED = (REGISTRY_FILE, SCHEMA_FILE, CERTIFICATE_SCHEMA_FILE, f"{PROOFS}/")


class RegistryError(ValueError):
    """The registry is not what its format asks for; the message is one line."""


def digest(entries: Iterable[RegistryEntry]) -> str:
    """Return the SHA-256 of the entries in canonical JSON, against edits by hand."""
    document = ENTRIES.dump_python(tuple(entries), mode="json")
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_registry(folder: Path = LIBRARY) -> Registry | None:
    """Return the registry of a folder, None where there is none yet; else a RegistryError."""
    path = folder / REGISTRY_FILE
    if not path.exists():
        return None
    try:
        document = read_object(path, SCHEMA, LARGEST_PROOF)
        fields = {key: value for key, value in document.items() if key != "schema"}
        registry = REGISTRY.validate_python(fields)
    except ValidationError as error:
        raise RegistryError(f"{path}: {describe_first_fault(error, document)}") from None
    except FileError as error:
        raise RegistryError(f"{path}: {error}") from None
    if registry.digest != digest(registry.instances):
        raise RegistryError(
            f"{path}: the digest is not that of the entries: edited by hand? "
            "Only python -m kvopt.best_known --store STORE writes this file"
        )
    return registry


def read_entries(folder: Path) -> dict[str, RegistryEntry]:
    """Return the entries of a folder's registry by hash, in their order; none where it has none."""
    registry = read_registry(folder)
    return {entry.sha256: entry for entry in registry.instances} if registry else {}


def format_registry(entries: Iterable[RegistryEntry]) -> str:
    """Return the text of the registry."""
    entries = tuple(entries)
    document = {"schema": SCHEMA, "digest": digest(entries)}
    shown = ENTRIES.dump_python(entries, mode="json", exclude_none=True)
    return json.dumps(document | {"instances": shown}, indent=1, ensure_ascii=False) + "\n"


def format_schemas() -> dict[str, str]:
    """Return the texts of the JSON Schemas, of the registry and of certificates, by their files."""
    from formulations.certificates.certificate_file import Certificate  # reports need none

    certificate = file_schema(TypeAdapter(Certificate), CERTIFICATE_SCHEMA)
    of = {"instance": {"type": "string"}, "instance_sha256": {"type": "string"}}
    certificate["properties"] = of | certificate["properties"]
    certificate["required"].append("instance_sha256")
    schemas = {SCHEMA_FILE: file_schema(REGISTRY, SCHEMA), CERTIFICATE_SCHEMA_FILE: certificate}
    return {file: json.dumps(schema, indent=1) + "\n" for file, schema in schemas.items()}


def schedule_of(instance: Instance, starts: Sequence[int], upper: UpperValue) -> Schedule:
    """Return a schedule of starts alone, with an entry's provenance."""
    names = ("found_by", "solver", "kvopt", "git_commit", "date")
    provenance = {name: getattr(upper, name) for name in names}
    return make_schedule(instance, starts, upper.method, provenance=provenance)


def format_certificate(instance: Instance, certificate: Certificate) -> str:
    """Return the text of a certificate file, with the hash of its instance."""
    from formulations.certificates.certificate_file import certificate_document  # see above

    naming = {"instance": instance.name, "instance_sha256": instance.sha256}
    document = {"schema": CERTIFICATE_SCHEMA} | naming | certificate_document(certificate)
    return json.dumps(document) + "\n"


def read_certificate_file(path: Path, instance: Instance) -> Certificate:
    """Read a certificate file of an instance, or raise a CertificateError."""
    from formulations.certificates.certificate_file import read_certificate  # see above

    try:
        document = read_object(path, CERTIFICATE_SCHEMA, LARGEST_PROOF)
    except FileError as error:
        raise CertificateError(str(error)) from None
    if document.get("instance_sha256") != instance.sha256:
        raise CertificateError("it is of another instance")
    return read_certificate(certificate_body(document))


def schedule_path(name: str) -> str:
    """Return the path of an instance's schedule below ``best_known/``."""
    return f"schedules/{name}.json"


def certificate_path(name: str) -> str:
    """Return the path of an instance's certificate below ``best_known/``."""
    return f"bounds/{name}.json"


def write_files(folder: Path, texts: dict[str, str]) -> None:
    """Write files given by their paths below a folder, all or none, the registry itself last."""
    changed: dict[Path, bytes] = {}
    for path in sorted(texts, key=lambda path: (path == REGISTRY_FILE, path)):
        if not file_holds(folder / path, texts[path]):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            changed[folder / path] = texts[path].encode()
    write_together(changed)


def proof_file(folder: Path, name: str) -> Path:
    """Return the path of an entry's proof; a RegistryError if a link leads out of the folder."""
    base = folder / PROOFS
    path = base / name
    # Path.resolve raises a RuntimeError for a loop of links.
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(base)):
        raise RegistryError(f"{path}: a link that leads out of {base}")
    return path


def left_over(folder: Path, names: Iterable[str]) -> list[str]:
    """Return the files below ``best_known/``, or of such a name, that belong to no entry."""
    paths = (each(name) for name in names for each in (schedule_path, certificate_path))
    proofs = {f"{PROOFS}/{path}" for path in paths}
    folders = {PROOFS} | {os.path.dirname(each) for each in proofs}
    found = [*folder.glob(f"{PROOFS}*"), *(folder / PROOFS).rglob("*")]
    names = {each.relative_to(folder).as_posix(): each for each in found}
    plain = {name for name in folders & {*names} if stat.S_ISDIR(names[name].lstat().st_mode)}
    return sorted({*names} - {*OWNED, *proofs} - plain)
