"""Command: writes the ledger's pages and the errata, ``python -m papers.ledger``."""

from __future__ import annotations

import sys
from pathlib import Path

from papers.ledger.ledger_pages import errata_text, index_text, paper_text
from papers.ledger.model import FOLDER, papers
from support.command import Generated, generating


def texts() -> dict[Path, str]:
    """Return every page, as the rows give it."""
    pages = {
        FOLDER / f"{paper.letter.lower()}.md": paper_text(paper) for paper in papers().values()
    }
    errata = {FOLDER.parents[1] / "docs" / "errata.md": errata_text()}
    return {FOLDER / "README.md": index_text()} | pages | errata


def _generated() -> Generated:
    return texts(), FOLDER.glob("*.md")


main = generating("python -m papers.ledger", _generated)


if __name__ == "__main__":
    sys.exit(main())
