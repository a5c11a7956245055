"""Suites: small TOML files that say which methods run on which instances, and their reader."""

from kvopt.suites.instance_sources import Loaded, Source, file_source, load, read_source
from kvopt.suites.suite import Section, Suite, SuiteError, read_suite, suites

__all__ = [
    "Loaded",
    "Section",
    "Source",
    "Suite",
    "SuiteError",
    "file_source",
    "load",
    "read_source",
    "read_suite",
    "suites",
]
