"""``kvopt site``: documentation, leaderboard and library as one folder of pages."""

from __future__ import annotations

import logging
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kvopt.best_known import RegistryError, known_values, read_registry
from reports.library import MOST_PICTURES
from support.click_command import QUIET_OPTION, Command, CommandOptions, argument, count_option
from support.json_files import write_text
from support.output_checks import OutputError
from support.project_root import ROOT, require_checkout
from support.usage_errors import UsageError, complain

if TYPE_CHECKING:
    from reports.site_results import SiteResults

EXIT_FAILED = 1


@click.command(
    "kvopt site",
    cls=Command,
    fails={2: (OutputError, RegistryError, OSError, ValueError)},
    examples=("public", "public --pictures 0"),
    codes="0 done; 1 a page has a link to nothing, or cannot be made; 2 bad usage or input",
)
@argument("out", metavar="DIR", type=Path)
@QUIET_OPTION
@count_option("--pictures", MOST_PICTURES, "most pictures of schedules")
def main(options: CommandOptions) -> int:
    """Build documentation, leaderboard, library and nightly tables as one site.

    It needs no network and no server: open DIR/index.html.
    """
    require_checkout()
    if find_spec("mkdocs") is None:
        raise UsageError("expected MkDocs, found none: pip install -e '.[docs]'")
    registry = read_registry()
    if registry is None:
        raise UsageError("there is no registry of best known values")
    # Load the drawing: a second.
    from reports.nightly.__main__ import FOLDER, ROWS
    from reports.nightly.night_rows import read_rows
    from reports.report_folder import MARKER, FolderKind, check_place, list_text
    from reports.site_results import make_site_results

    kind = FolderKind(name="site", files=("index.html",), folders={})
    check_place("DIR", options.out, kind)
    found = make_site_results(registry, known_values(), read_rows(FOLDER / ROWS), options.pictures)
    # MkDocs empties the folder, but for names that begin with a dot.
    write_text(options.out / MARKER, list_text((), kind))
    return _build(found, options.out.resolve(), options.program)


def _build(found: SiteResults, out: Path, program: str) -> int:
    # The theme advertises its successor otherwise.
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.exceptions import MkDocsException

    complaints = logging.StreamHandler()
    complaints.setLevel(logging.WARNING)
    logging.getLogger("mkdocs").addHandler(complaints)
    try:
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(out), strict=True)
        config.extra["results"] = found
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
        config.plugins.on_shutdown()
    except MkDocsException as error:
        complain(program, error)
        return EXIT_FAILED
    finally:
        logging.getLogger("mkdocs").removeHandler(complaints)
    print(f"{out / 'index.html'}")
    return 0
