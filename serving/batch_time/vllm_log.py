"""Rounds in a log of vLLM, for a batch time that is fitted to them.

``vllm serve --enable-logging-iteration-details`` writes a line a round: prompt tokens, decoding
requests, the duration, and in later versions the used share of the cache.  At its start any vLLM
states the tokens of the cache.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from instances.batch_time import BatchTimeError
from support.input_files import read_text
from support.message_text import printable

OPTION = "--enable-logging-iteration-details"
_ROUND = re.compile(
    r"Iteration\(\d+\): (\d{1,9}) context requests, (\d{1,9}) context tokens, "
    r"(\d{1,9}) generation requests, (\d{1,9}) generation tokens, "
    r"iteration elapsed time: (\d{1,9}(?:\.\d{1,9})?) ms(?P<dummy> \(dummy\))?"
    r"(?:, GPU KV cache usage: (?P<usage>\d{1,3}(?:\.\d{1,9})?)%)?",
    re.ASCII,
)
_SIZE = re.compile(r"GPU KV cache size: ([\d,]{1,20}) tokens", re.ASCII)
_LARGEST_FILE = 10**9


@dataclass(frozen=True)
class LoggedRounds:
    """Rounds of a log.

    A row has prompt tokens, decoding requests, tokens held (0 unless the log ``holds`` them) and
    milliseconds; skipped lines are counted by reason.  ``memory`` is the cache in tokens, None
    without the line.
    """

    rows: tuple[tuple[int, int, int, float], ...]
    skipped: Counter[str]
    memory: int | None
    holds: bool

    @property
    def csv(self) -> str:
        """The rounds as the batch time ``fitted`` reads them."""
        rows = [
            f"{prefill},{decode},{kv},{ms / 1000:.9f}\n" for prefill, decode, kv, ms in self.rows
        ]
        return "".join(["prefill,decode,kv,seconds\n", *rows])


def read_log(path: str | Path) -> LoggedRounds:
    """Return the rounds of a log of vLLM, compressed by gzip or not, of all its engines.

    The tokens held are the used share of the cache, less the round's prompt tokens: an estimate of
    the tokens that the decoding requests read.
    """
    where = printable(str(path), 200)
    try:
        text = read_text(path, _LARGEST_FILE, "replace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BatchTimeError(f"{where}: cannot be read: {printable(reason, 160)}") from None
    size = _SIZE.search(text)
    memory = int(size[1].replace(",", "")) if size else None
    rows: list[tuple[int, int, int, float]] = []
    skipped: Counter[str] = Counter()
    holds = memory is not None
    for line in text.splitlines():
        if "Iteration(" not in line:
            continue
        match = _ROUND.search(line)
        if match is None:
            skipped["a line of another form"] += 1
            continue
        if match["dummy"] or float(match[5]) == 0:
            skipped["a round of nothing"] += 1
            continue
        if match[4] != match[3]:
            skipped["several tokens of a request in a round"] += 1
            continue
        prefill, decode, ms = int(match[2]), int(match[3]), float(match[5])
        share = match["usage"]
        holds = holds and share is not None
        held = round(float(share) / 100 * memory) if share and memory else 0
        rows.append((prefill, decode, max(0, held - prefill) if decode else 0, ms))
    if not rows:
        expected = f"expected rounds as vLLM logs them with {OPTION}"
        raise BatchTimeError(f"{where}: {expected}, found none")
    if not holds:
        rows = [(prefill, decode, 0, ms) for prefill, decode, _, ms in rows]
    return LoggedRounds(tuple(rows), skipped, memory, holds)
