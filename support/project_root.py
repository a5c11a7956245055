"""Place of the project's packages: a checkout, which some commands write into, or site-packages."""

from pathlib import Path

from support.usage_errors import UsageError

#: The folder that holds the packages.
ROOT = Path(__file__).resolve().parents[1]
#: A wheel has neither file.
CHECKOUT = (ROOT / "pyproject.toml").is_file() and (ROOT / "solve.py").is_file()


def cache_folder(name: str) -> Path:
    """Return a folder for generated files; RuntimeError for a user without a home."""
    from platformdirs import user_cache_path  # here: few commands need it

    return user_cache_path("kvopt") / name


def require_checkout(instead: str = "") -> None:
    """Raise UsageError where the packages are installed; name the alternative."""
    if not CHECKOUT:
        hint = f"; {instead}" if instead else ""
        raise UsageError(
            f"expected a checkout of kvopt to write into, found installed packages in {ROOT}{hint}"
        )
