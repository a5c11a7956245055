"""Hidden draws: their seeds follow from a secret, and their instances show neither."""

import hashlib
import re
from pathlib import Path

from instances import Instance
from kvopt.suites.instance_sources import InstanceSource, Value, draw_source
from support.input_files import read_text

#: A secret: one line, and too long to be guessed from its hash.
_SECRET = re.compile(r"[ -~]{16,1000}")


def read_secret(path: str | Path) -> str:
    """Read the one line of a secret's file, or raise an OSError or a ValueError."""
    secret = read_text(path, 10_000).strip()
    if not _SECRET.fullmatch(secret):
        raise ValueError(f"{path}: expected one line of 16 to 1,000 ASCII characters")
    return secret


def hidden_seed(secret: str, family: str, number: int) -> int:
    """Return the first 63 bits of the SHA-256 of secret, family and number, a line each."""
    digest = hashlib.sha256(f"{secret}\n{family}\n{number}".encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


def hidden_source(
    secret: str, family: str, number: int, parameters: dict[str, Value]
) -> InstanceSource:
    """Return the source of a draw whose name has the number and the parameters, not the seed."""
    words = [family, *(f"{key}{value}" for key, value in parameters.items()), f"draw{number}"]
    name = "_".join(words)

    def read() -> tuple[Instance, None]:
        drawn, _ = draw_source(family, hidden_seed(secret, family, number), parameters).read()
        named = {each: getattr(drawn, each) for each in ("family", "source", "time_unit")}
        return Instance(name, drawn.memory, drawn.requests, **named), None

    return InstanceSource(name, read)
