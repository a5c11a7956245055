"""A PostgreSQL server of a test's own: a temporary folder, a free loopback port, a password."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL

_SECONDS_TO_START = 20
USER = "kvopt"
#: Every character that a careless URL or log line would trip over.
PASSWORD = "se'cr@t:%/#"


class PostgresServer:
    """One server, started at once and stopped by :meth:`stop`; its data stay until :meth:`remove`.

    PostgreSQL refuses to run as root, so root hands it to the user that Debian's package made.

    Raises
    ------
    FileNotFoundError
        If no server is installed, or root finds no other user to run it as; says which.
    """

    def __init__(self) -> None:
        self._programs = _programs()
        self._user = _user()
        # Not below pytest's own folder, which only its owner may enter.
        self.folder = Path(tempfile.mkdtemp(prefix="kvopt-postgres-"))
        self.port = _free_port()
        self._databases = 0
        password = self.folder / "password"
        password.write_text(PASSWORD + "\n", encoding="utf-8")
        if self._user is not None:
            shutil.chown(self.folder, self._user, pwd.getpwnam(self._user).pw_gid)
            shutil.chown(password, self._user)
        data = str(self.folder / "data")
        self._run(
            *("initdb", "--pgdata", data, "--username", USER, "--auth=scram-sha-256"),
            *(f"--pwfile={password}", "--no-sync", "--encoding=UTF8", "--locale=C"),
        )
        self.start()

    def url(self, database: str = "postgres", password: str | None = PASSWORD) -> str:
        """Return the URL of a database on this server, as a user would write it."""
        url = URL.create(
            "postgresql",
            username=USER,
            password=password,
            host="127.0.0.1",
            port=self.port,
            database=database,
        )
        return url.render_as_string(hide_password=False)

    def new_database(self) -> str:
        """Create an empty database and return its URL."""
        self._databases += 1
        name = f"test{self._databases}"
        engine = sa.create_engine(
            self.url().replace("postgresql://", "postgresql+psycopg://"),
            isolation_level="AUTOCOMMIT",
        )
        with engine.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return self.url(name)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._server = subprocess.Popen(
            [
                *(self._programs / "postgres", "-D", self.folder / "data"),
                *("-c", "listen_addresses=127.0.0.1", "-p", str(self.port)),
                *("-c", f"unix_socket_directories={self.folder}", "-c", "fsync=off"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            **self._identity(),
        )
        deadline = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < deadline and self._server.poll() is None:
            asked: list[str | Path] = [
                self._programs / "pg_isready",
                "-h",
                "127.0.0.1",
                "-p",
                str(self.port),
            ]
            if subprocess.run(asked, capture_output=True, check=False).returncode == 0:
                return
            time.sleep(0.05)
        self.stop()
        raise RuntimeError("the PostgreSQL server of the test did not start")

    def stop(self) -> None:
        """Stop the server at once, as a power cut would."""
        # SIGQUIT is PostgreSQL's immediate shutdown: its children end too, nothing is tidied up.
        self._server.send_signal(3)
        self._server.wait(timeout=20)

    def remove(self) -> None:
        """Stop the server and remove its data."""
        if self._server.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            check=True,
            capture_output=True,
            cwd=self.folder,
            **self._identity(),
        )

    def _identity(self) -> dict[str, Any]:
        if self._user is None:
            return {}
        return {"user": self._user, "group": pwd.getpwnam(self._user).pw_gid, "extra_groups": []}


def _programs() -> Path:
    """Return the folder of the newest server; Debian keeps it off the PATH."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4])
    )
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    if on_path is None:
        raise FileNotFoundError("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return Path(on_path).parent


def _user() -> str | None:
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        raise FileNotFoundError("PostgreSQL does not run as root, and no user postgres") from None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
