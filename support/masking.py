"""Takes passwords out of text that is stored or shown.

What cannot be read as a URL without doubt is not shown at all: a password that breaks the URL in
which it stands may lie anywhere in it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HIDDEN = "***"

#: The option after which a store stands, and any beginning of it, which is complained of.
_STORE_OPTION = "--store"
_SHORTEST = len("--s")
#: The command that runs, where it was called from Python: its name and its arguments.
_called: list[list[str]] = []
_URL = re.compile(
    r"(?P<scheme>[\w+.-]+)://"
    r"(?:(?P<user>[^:/?#@\s]*)(?P<password>:[^@]*)?@)?"
    r"(?P<host>[\w.-]*|\[[\w:.%]*\])(?P<port>:\d+)?"
    r"(?:/(?P<database>[^?@]*))?(?P<query>\?[^@]*)?"
)
_PLAIN = re.compile(r"[\w.+-]*")
_URL_IN_TEXT = re.compile(r"[\w+.-]+://\S*")
#: A word of PostgreSQL's connection strings, ``host=... password=...``.
_PAIR = re.compile(
    r"(?:^|\s)(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode|sslpassword"
    r"|options)\s*=",
    re.IGNORECASE,
)
#: A mistyped URL, which would become a file that bears a password in its name.
_LIKE_URL = re.compile(r"\s*(?:[A-Za-z][\w+.-]+:|//.*@|(?!\.{0,2}/)[^@]*:[^@]*@)", re.DOTALL)
#: A word by itself: the password may go on after a space.
_WORD_PAIR = re.compile(r"(?:ssl)?passw(?:or)?d=\S*$", re.IGNORECASE)
_SECRET_PAIR = re.compile(r"(passw(?:or)?d\s*=\s*)('(?:\\.|[^'\\])*'|\S+)", re.IGNORECASE)


def is_no_path(text: str) -> bool:
    """Return whether a text may be meant for a server, though it is no URL, and hold a password."""
    return _PAIR.search(text) is not None or _LIKE_URL.match(text) is not None


def mask_url(text: str) -> str:
    """Return a URL without password and query; ``***`` where it is not clear what is what."""
    found = _URL.fullmatch(text)
    if found is None:
        return HIDDEN
    user, database = found["user"], found["database"]
    parts = [found["scheme"], "://"]
    if user is not None:
        parts += [_plain(user), f":{HIDDEN}" if found["password"] else "", "@"]
    parts += [found["host"], found["port"] or ""]
    parts += [] if database is None else ["/", _plain(database)]
    return "".join([*parts, f"?{HIDDEN}" if found["query"] else ""])


def mask_location(text: str) -> str:
    """Return where a store is, without secrets: a path as it is, all else as :func:`mask_url`."""
    if "://" in text:
        return mask_url(text)
    return HIDDEN if is_no_path(text) else text


def mask_command(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command as they can be stored.

    What stands after ``--store``, as a word of its own or after ``=``, however the option is
    abbreviated, is shown as :func:`mask_location` does; so is any other argument that holds a
    password.  Of one that the shell has cut at a space in its password the rest is hidden, too.
    """
    masked = []
    after_store = rest = False
    for number, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        is_option = argument.startswith("--")
        if rest and not is_option:
            masked.append(HIDDEN)
        elif is_option and equals:
            masked.append(f"{option}={_masked(value, _is_store(option))}")
        else:
            masked.append(_masked(argument, after_store))
        after_store = is_option and not equals and _is_store(option)
        if _WORD_PAIR.match(argument) or _is_cut(argument, arguments[number + 1 :]):
            rest = True
        elif is_option or "@" in argument:
            rest = False
    return masked


@contextmanager
def called(command: list[str]) -> Iterator[None]:
    """Have a command and its arguments taken for this process's within."""
    _called.append(command)
    try:
        yield
    finally:
        _called.remove(command)


def mask_text(text: str) -> str:
    """Return a message without the secrets of the command's arguments, and of URLs in it."""
    pairs = dict(_replacements(_command()[1:]))
    # The longest first: a shorter one may be a part of it.
    for secret in sorted(pairs, key=len, reverse=True):
        text = text.replace(secret, pairs[secret])
    return _SECRET_PAIR.sub(rf"\1{HIDDEN}", _URL_IN_TEXT.sub(_mask_match, text))


def own_command() -> list[str]:
    """Return the command that runs as it can be stored: the program's name and its arguments."""
    return mask_command(_command())


def _command() -> list[str]:
    return _called[-1] if _called else [Path(sys.argv[0]).name, *sys.argv[1:]]


def _plain(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else HIDDEN


def _is_store(option: str) -> bool:
    return len(option) >= _SHORTEST and _STORE_OPTION.startswith(option)


def _masked(text: str, is_store: bool) -> str:
    if is_store:
        return mask_location(text)
    # Other URLs, as of Dask's scheduler, hold a secret only where there is a sign of one.
    if "://" in text and ("@" in text or "?" in text):
        return mask_url(text)
    return HIDDEN if _SECRET_PAIR.search(text) else text


def _is_cut(argument: str, following: Sequence[str]) -> bool:
    """Return whether a URL may have been cut in its password: the @ comes in a later word."""
    return "://" in argument and "@" not in argument and any("@" in word for word in following)


def _replacements(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    for argument, masked in zip(arguments, mask_command(arguments), strict=True):
        if argument == masked:
            continue
        yield argument, masked
        _, equals, value = argument.partition("=")
        if equals and argument.startswith("-") and value:
            yield value, masked.partition("=")[2]


def _mask_match(found: re.Match[str]) -> str:
    whole = found[0]
    if "@" not in whole and "?" not in whole:
        return whole
    # What follows a name in a message is no part of it.
    stripped = whole.rstrip(":;,.)'\"")
    return mask_url(stripped) + whole[len(stripped) :]
