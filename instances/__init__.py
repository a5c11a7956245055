"""The problem: the instance, its file format, generators and the library."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from instances.instance import InfeasibleInstanceError, Instance, Request
    from instances.instance_files import InstanceFileError, read_instance, write_instance

__all__ = [
    "InfeasibleInstanceError",
    "Instance",
    "InstanceFileError",
    "Request",
    "read_instance",
    "write_instance",
]


def __getattr__(name: str) -> object:
    # Imported on first use: some files of this package need no validation, which is slow to load.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from instances import instance_files

    return getattr(instance_files, name)
