"""Suites: small TOML files that say which methods run on which instances, and their reader."""

from kvopt.suites.instance_sources import (
    InstanceSource,
    LoadedSource,
    file_source,
    load,
    read_source,
)
from kvopt.suites.suite import Suite, SuiteError, SuiteSection, read_suite, suites

__all__ = [
    "InstanceSource",
    "LoadedSource",
    "Suite",
    "SuiteError",
    "SuiteSection",
    "file_source",
    "load",
    "read_source",
    "read_suite",
    "suites",
]
