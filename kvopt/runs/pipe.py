"""Lines from a process that may send anything: bounded memory, no line longer than agreed."""

from __future__ import annotations

import os
import queue
import threading

_CHUNK_BYTES = 1 << 16
#: Chunks that wait to be taken; a process that sends faster than they are taken has to wait.
_CHUNKS = 64
#: How long a text may still be on its way when its writers have been killed.
_TAIL_SECONDS = 1.0


class LinePipe:
    """Reads lines from a file descriptor beside the caller, who takes them one by one.

    Parameters
    ----------
    descriptor
        The reading end of a pipe; it is closed at the end of what is sent.
    longest
        Bytes of the longest line that is handed over; longer ones are dropped and counted in
        ``dropped``.
    """

    def __init__(self, descriptor: int, longest: int) -> None:
        self.dropped = 0
        self._descriptor = descriptor
        self._longest = longest
        self._chunks: queue.Queue[bytes] = queue.Queue(maxsize=_CHUNKS)
        self._closed = threading.Event()
        self._lines: list[bytes] = []
        self._begun: list[bytes] = []
        self._begun_bytes = 0
        self._ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def take(self, wait: float) -> bytes | None:
        """Return the next line, without its end; b"" if none came within ``wait`` seconds.

        None says that nothing more will come.  A last line without an end is dropped: whoever
        wrote it was killed over it.
        """
        if not self._lines and not self._ended:
            try:
                self._split(self._chunks.get(timeout=max(wait, 0.001)))
            except queue.Empty:
                return b""
        if self._lines:
            return self._lines.pop()
        return None if self._ended else b""

    def close(self) -> None:
        """Read no more, whatever is still sent."""
        self._closed.set()

    def _split(self, chunk: bytes) -> None:
        if not chunk:
            self._ended = True
            return
        *ends, rest = chunk.split(b"\n")
        whole = []
        for end in ends:
            self._begin(end)
            if self._begun_bytes <= self._longest:
                whole.append(b"".join(self._begun))
            else:
                self.dropped += 1
            self._begun, self._begun_bytes = [], 0
        self._begin(rest)
        # Empty lines say nothing, and here they mean that there is nothing.
        self._lines = [line for line in reversed(whole) if line]

    def _begin(self, piece: bytes) -> None:
        self._begun_bytes += len(piece)
        if self._begun_bytes > self._longest:
            self._begun = []
        elif piece:
            self._begun.append(piece)

    def _read(self) -> None:
        with os.fdopen(self._descriptor, "rb", buffering=0) as stream:
            while not self._closed.is_set():
                chunk = stream.read(_CHUNK_BYTES)
                if not self._hand_over(chunk or b"") or not chunk:
                    return

    def _hand_over(self, chunk: bytes) -> bool:
        while not self._closed.is_set():
            try:
                self._chunks.put(chunk, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False


class Tail:
    """Reads what a process prints beside the caller and keeps the end of it.

    Parameters
    ----------
    descriptor
        The reading end of a pipe; it is closed at the end of what is sent.
    longest
        Characters that are kept.
    """

    def __init__(self, descriptor: int, longest: int) -> None:
        self._descriptor = descriptor
        self._longest = longest
        self._kept = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> str:
        """Return the text that was kept, once all that could print has ended."""
        self._thread.join(_TAIL_SECONDS)
        text = self._kept.decode("utf-8", "backslashreplace")
        safe = "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
        return safe.strip("\n")[-self._longest :]

    def _read(self) -> None:
        with os.fdopen(self._descriptor, "rb", buffering=0) as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                # A character takes up to four bytes.
                self._kept = (self._kept + chunk)[-4 * self._longest :]
