"""What is to be scheduled: the instance, its file format, generators and the library."""

from instances.files import InstanceFileError, read_instance, write_instance
from instances.model import InfeasibleInstanceError, Instance, Request

__all__ = [
    "InfeasibleInstanceError",
    "Instance",
    "InstanceFileError",
    "Request",
    "read_instance",
    "write_instance",
]
