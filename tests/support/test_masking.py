"""No password of a store's URL is stored or shown, however it is written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

import reports.build
from kvopt.best_known import __main__ as best_known
from kvopt.commands import evaluate
from kvopt.store import Store, StoreError
from kvopt.store.location import told_location
from support.command import Command
from support.masking import mask_command, mask_text, mask_url
from tests.commands import run_command

#: Stores with the password "hid den" or a part of it, well and badly written.
SECRETS = [
    "postgresql://kvopt:hid@host/db",
    "postgresql://kvopt:hid den@host/db",
    "postgresql://kvopt:hid@den@host/db",
    "postgresql://kvopt:hid:den@host/db",
    "postgresql://kvopt:hid/den@host/db",
    "postgresql://kvopt:hid?den@host/db",
    "postgresql://kvopt:hid#den@host:5432/db",
    "postgresql://kvopt:hid%40den@host/db",
    "postgresql://kvopt%3Ahid@host/db",
    "postgresql://:hid@host/db",
    "postgresql://kv/opt:hid@host/db",
    "postgresql://host/hid@den/db",
    "postgresql://kvopt@host/db?password=hid",
    "postgresql://kvopt@host/db?sslmode=require&PassWord=hid den",
    "postgresql://kvopt@host/db?sslpassword=hid",
    "postgresql://kvopt@host/db;password=hid",
    " postgresql://kvopt:hid@host/db",
    "postgresql+psycopg://kvopt:hid@host/db",
    "mysql://kvopt:hid@host/db",
    "postgresql:/kvopt:hid@host/db",
    "postgresql:kvopt:hid@host/db",
    "kvopt:hid@host/db",
    "//kvopt:hid@host",
    "//kvopt:hid@host/db",
    "u:hid@host",
    "u:hid@host/db",
    "u:hid/den@host/db",
    ":hid@host",
    "host=h user=kvopt password=hid dbname=db",
    "host=h password='hid den'",
    "host=h password=hid den",
    "password = hid host=h",
    "dbname=db\tpassword=hid",
    "host = h\npassword = 'hid'",
    "service=hid",
]
#: The ways in which it is written.
WAYS = [
    lambda url: ["smoke", "--store", url],
    lambda url: ["--store", url, "smoke"],
    lambda url: [f"--store={url}", "smoke"],
    lambda url: ["smoke", "--sto", url],
    lambda url: [f"--st={url}"],
    lambda url: ["--jobs", "2", f"--stor={url}", "--quiet"],
]


def _shows(text: str) -> bool:
    return "hid" in text or "den" in text


@pytest.mark.parametrize("url", SECRETS)
def test_no_stored_command_holds_a_password(url: str) -> None:
    """Whatever the spelling of option and URL, the rest of the command stays as it is."""
    for way in WAYS:
        given = way(url)
        masked = mask_command(given)
        assert not _shows(" ".join(masked))
        assert len(masked) == len(given)
        kept = [argument for argument in given if url not in argument]
        assert [argument for argument in masked if argument in kept] == kept


@pytest.mark.parametrize("url", SECRETS)
def test_no_message_holds_a_password(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that quotes an argument, as a whole or its value, is shown without it."""
    for way in WAYS:
        monkeypatch.setattr(sys, "argv", ["evaluate.py", *way(url)])
        for quoted in (url, f"{url}: cannot be opened", f"unrecognized arguments: --x={url} y"):
            assert not _shows(mask_text(quoted))


def test_a_url_that_the_shell_has_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without quotes a password with a space is two arguments; the second is no instance."""
    for given in (
        ["--store", "postgresql://kvopt:hid", "den@host/db", "smoke"],
        ["--store=postgresql://kvopt:hid", "x", "den@host/db", "smoke"],
        ["--store", "host=h", "user=kvopt", "password=hid", "den"],
        ["--store", "host=h", "password='hid", "den'", "--jobs", "2"],
    ):
        assert not _shows(" ".join(mask_command(given)))
        monkeypatch.setattr(sys, "argv", ["evaluate.py", *given])
        for quoted in given:
            assert not _shows(mask_text(f"{quoted}: there is no such file"))


@drawn(user=st.text(max_size=6), password=st.text(min_size=1, max_size=8))
def test_any_password_is_hidden(user: str, password: str) -> None:
    """Whatever characters stand beside it, escaped or not."""
    marked = f"SECRET{password}SECRET"
    shown = mask_url(f"postgresql://{user}:{marked}@host/db")
    assert "SECRET" not in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["smoke", "--methods", "svf,a-min with interval(1,1000)", "--store", "runs.sqlite"],
        ["a b/*.json", "--store=../x/runs.sqlite", "--report", "r"],
        ["smoke", "--engine", "dask", "--scheduler", "tcp://127.0.0.1:8786"],
        ["smoke", "--executor", "dask", "--scheduler", "tcp://127.0.0.1:8786"],
        ["instances/x@y.json", "--methods", "file:mine.py,highs:ilp"],
    ],
)
def test_what_holds_no_secret_stays(arguments: list[str]) -> None:
    """Methods, paths, patterns and addresses are stored as they were given."""
    assert mask_command(arguments) == arguments


def test_what_is_shown_of_a_good_url() -> None:
    """User, host, port and database stay, so that a reader knows which store it was."""
    assert mask_url("postgresql://kvopt:a b@db.host:5432/runs") == (
        "postgresql://kvopt:***@db.host:5432/runs"
    )
    assert mask_url("postgresql://kvopt@[::1]/runs?sslmode=require") == (
        "postgresql://kvopt@[::1]/runs?***"
    )
    for path in ("runs.sqlite", "./u:v@h", "../a:b@c", "/data/u:v@h", "a@b.sqlite", "C:"):
        assert told_location(path) == path
    assert told_location("host=h password=hidden") == "***"


@pytest.mark.parametrize("url", [*SECRETS, "", " ", ":memory:", "sqlite://", "sqlite:///:memory:"])
def test_what_is_no_store_never_becomes_a_file(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused, or a server that does not answer, in one line; no file of that name appears."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as caught:
        # Port 9 of this machine in place of a host that would have to be looked up.
        Store(url.replace("@host", "@127.0.0.1:9").replace("@127.0.0.1:9:", "@127.0.0.1:"))
    assert not _shows(str(caught.value))
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "given", "location", "code"),
    [
        (evaluate.main, ["tiny_one_token"], "host=h user=u password=hidden", 6),
        (evaluate.main, ["tiny_one_token"], "", 6),
        (evaluate.main, ["tiny_one_token"], ":memory:", 6),
        (best_known.main, [], "host=h user=u password=hidden", 2),
        (reports.build.main, ["--out", "nowhere"], "host=h user=u password=hidden", 2),
    ],
)
def test_the_commands_refuse_it(
    command: Command, given: list[str], location: str, code: int, tmp_path: Path
) -> None:
    """One line on standard error, the documented exit code, and nothing is made."""
    result = run_command(command, *given, "--store", location, cwd=tmp_path)
    assert result.returncode == code
    assert len(result.stderr.splitlines()) == 1
    assert "hidden" not in result.stderr
    assert list(tmp_path.iterdir()) == []
