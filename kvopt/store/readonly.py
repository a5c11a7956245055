"""Opens an SQLite file to read it, also where nothing can be written beside it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError

from kvopt.store.location import StoreError

#: For another connection that writes.
SECONDS_TO_WAIT = 60


@contextmanager
def open_readonly(file: str, **options: Any) -> Iterator[sa.Engine]:
    """Give an engine that only reads a file, which other processes may be writing.

    Readers of a write-ahead log share a file beside it.  Where that cannot be made, nobody else
    writes either: the file is read as it is, or, with a log that was not yet merged into it, a copy
    of both.  A StoreError says that there is no such file.
    """
    path = Path(file).absolute()
    if not path.is_file():
        raise StoreError(f"{file}: there is no such store")
    log = path.with_name(f"{path.name}-wal")
    with TemporaryDirectory(prefix="kvopt-store-") as folder:
        engine = _engine(path, {"mode": "ro"}, options)
        try:
            _read_something(engine)
        except OperationalError:
            engine.dispose()
            if log.exists() and log.stat().st_size:
                for each in (path, log):
                    shutil.copy(each, Path(folder) / each.name)
                engine = _engine(Path(folder) / path.name, {}, options)
            else:
                engine = _engine(path, {"mode": "ro", "immutable": "1"}, options)
        try:
            yield engine
        finally:
            engine.dispose()


def _engine(path: Path, mode: dict[str, str], options: dict[str, Any]) -> sa.Engine:
    url = URL.create("sqlite", database=f"file:{quote(str(path))}", query=mode | {"uri": "true"})
    return sa.create_engine(url, connect_args={"timeout": SECONDS_TO_WAIT}, **options)


def _read_something(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
