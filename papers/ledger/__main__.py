"""Command ``python -m papers.ledger``: write the ledger's pages and the errata."""

import sys
from pathlib import Path

from papers.ledger.ledger_pages import errata_text, index_text, paper_text
from papers.ledger.statements import FOLDER, papers
from support.click_command import Generated, generating_command


def generate_pages() -> dict[Path, str]:
    """Return every page by its path."""
    pages = {
        FOLDER / f"{paper.letter.lower()}.md": paper_text(paper) for paper in papers().values()
    }
    errata = {FOLDER.parents[1] / "docs" / "errata.md": errata_text()}
    return {FOLDER / "README.md": index_text()} | pages | errata


def _generated() -> Generated:
    return generate_pages(), FOLDER.glob("*.md")


main = generating_command("python -m papers.ledger", _generated)


if __name__ == "__main__":
    sys.exit(main())
