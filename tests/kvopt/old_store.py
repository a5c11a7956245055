"""Stores as the first release wrote them: its own tables and rows, dumped as text."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

FOLDER = Path(__file__).with_name("old_stores")
#: The same two runs, svf and bound:bound-lp on tiny_handover, as the first release exported them.
CSV = FOLDER / "first_release.csv"


def first_release(location: str | Path) -> None:
    """Make the store in a new SQLite file or an empty PostgreSQL database."""
    url = str(location)
    if not url.startswith("postgresql://"):
        script = (FOLDER / "first_release.sqlite.sql").read_text(encoding="utf-8")
        with closing(sqlite3.connect(location)) as connection:
            connection.executescript(script)
        return
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    raw = engine.raw_connection()
    raw.cursor().execute((FOLDER / "first_release.postgresql.sql").read_text(encoding="utf-8"))
    raw.commit()
    raw.close()
    engine.dispose()
