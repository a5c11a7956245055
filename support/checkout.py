"""Place of the project's packages: a checkout, into which some commands write, or installed."""

from __future__ import annotations

from pathlib import Path

from support.usage import UsageError

#: The folder that holds the packages: of the checkout, or ``site-packages``.
ROOT = Path(__file__).resolve().parents[1]
#: These are in no wheel.
_NOT_INSTALLED = ("pyproject.toml", "solve.py")
CHECKOUT = all((ROOT / name).is_file() for name in _NOT_INSTALLED)


def cache_folder(name: str) -> Path:
    """Return a folder for what can be made again; RuntimeError of a user without a home."""
    from platformdirs import user_cache_path  # here: few commands need it

    return user_cache_path("kvopt") / name


def require_checkout(instead: str = "") -> None:
    """Raise UsageError where the packages are installed, and say what to do instead."""
    if not CHECKOUT:
        hint = f"; {instead}" if instead else ""
        raise UsageError(
            f"expected a checkout of kvopt to write into, found installed packages in {ROOT}{hint}"
        )
