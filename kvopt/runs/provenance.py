"""Provenance of a result: versions, machine, limits, command and time."""

import contextlib
import importlib.metadata
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from kvopt.project_paths import PACKAGES
from support.current_command import current_command
from support.project_root import CHECKOUT, ROOT


def collect_provenance() -> dict[str, Any]:
    """Return the provenance of a run as JSON values."""
    return {
        "kvopt": _version(),
        "git_commit": _git_commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _cpu_model(),
        "cores": usable_cores(),
        "ram_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "command": current_command(),
        "finished_utc": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _version() -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version("kvopt")
    return None


@cache
def _git_commit() -> str | None:
    """Return the commit of the checkout's packages; None where one has been changed."""
    if not (CHECKOUT and (ROOT / ".git").exists()):
        return None
    command = ["git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--"]
    try:
        ran = subprocess.run(
            [*command, *PACKAGES], cwd=ROOT, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    lines = ran.stdout.splitlines()
    changed = any(not line.startswith("# ") for line in lines)
    return None if changed else lines[0].removeprefix("# branch.oid ")


@cache
def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
