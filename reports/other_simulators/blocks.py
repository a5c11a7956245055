"""Memory in blocks: counted, or with the blocks of a prompt kept for its next run.

``Blocks`` only counts, as this suite and Vidur do.  ``CachedBlocks`` also knows which block holds
which part of a prompt, as BLIS does: a freed block keeps its contents until it is needed, and a
request that comes back takes over the leading blocks of its prompt that still stand.
"""

from __future__ import annotations

from collections import OrderedDict


class Blocks:
    """Count blocks of ``size`` tokens held by requests, at most ``total`` in all."""

    def __init__(self, total: int, size: int) -> None:
        self.size = size
        self.free = total
        self._tokens: dict[int, int] = {}
        self._owned: dict[int, int] = {}

    def cached(self, request: int, prompt: int) -> int:
        """Return how many tokens of a prompt need no computing: none."""
        del request, prompt
        return 0

    def grow(self, request: int, tokens: int, prompt: int, *, prefill: bool) -> bool:
        """Hold so many tokens more, or change nothing and return False."""
        del prompt, prefill
        held = self._tokens.get(request, 0) + tokens
        needed = -(-held // self.size) - self._owned.get(request, 0)
        if needed > self.free:
            return False
        self.free -= needed
        self._tokens[request] = held
        self._owned[request] = self._owned.get(request, 0) + needed
        return True

    def release(self, request: int) -> None:
        """Hold nothing of a request any more."""
        self.free += self._owned.pop(request, 0)
        self._tokens.pop(request, None)

    def finish(self, request: int, prompt: int) -> None:
        """Free the memory of a request that has completed."""
        del prompt
        self.release(request)


class CachedBlocks:
    """Count blocks as ``Blocks`` does and know what the full blocks of a prompt hold.

    The free blocks stand in a line: a new block is taken from its head, freed ones go to its end,
    the last block of a request first.
    """

    def __init__(self, total: int, size: int) -> None:
        self.size = size
        self._line: OrderedDict[int, None] = OrderedDict((block, None) for block in range(total))
        self._filled = [0] * total
        self._holds: list[tuple[int, int] | None] = [None] * total
        self._where: dict[tuple[int, int], int] = {}
        self._owned: dict[int, list[int]] = {}

    @property
    def free(self) -> int:
        """Return how many blocks no request holds."""
        return len(self._line)

    def cached(self, request: int, prompt: int) -> int:
        """Return how many leading tokens of a prompt stand in blocks."""
        return self.size * len(self._standing(request, prompt))

    def grow(self, request: int, tokens: int, prompt: int, *, prefill: bool) -> bool:
        """Hold so many tokens more, or change nothing and return False."""
        owned = self._owned.get(request, [])
        room = (self.size - self._filled[owned[-1]]) if owned else 0
        claimed = [] if owned or not prefill else self._standing(request, prompt)
        needed = -(-max(0, tokens - room) // self.size)
        if needed + sum(block in self._line for block in claimed) > self.free:
            return False
        if tokens == 0:
            # A prompt that stands whole in blocks is not claimed: the request then owns none.
            return True
        for block in claimed:
            self._line.pop(block, None)
        owned = self._owned.setdefault(request, claimed)
        first = min(room, tokens)
        if first:
            self._fill(request, len(owned) - 1, owned[-1], first, prompt)
        for begin in range(first, tokens, self.size):
            owned.append(self._take())
            self._fill(request, len(owned) - 1, owned[-1], min(self.size, tokens - begin), prompt)
        return True

    def release(self, request: int) -> None:
        """Put the blocks of a request at the end of the line, with what they hold."""
        for block in reversed(self._owned.pop(request, [])):
            self._line[block] = None

    def finish(self, request: int, prompt: int) -> None:
        """Free the memory of a request; its last token is stored before, if there is room."""
        self.grow(request, 1, prompt, prefill=False)
        self.release(request)

    def _standing(self, request: int, prompt: int) -> list[int]:
        blocks: list[int] = []
        while len(blocks) < prompt // self.size and (request, len(blocks)) in self._where:
            blocks.append(self._where[request, len(blocks)])
        return blocks

    def _take(self) -> int:
        block, _ = self._line.popitem(last=False)
        held = self._holds[block]
        if held is not None:
            self._where.pop(held, None)
        self._holds[block] = None
        self._filled[block] = 0
        return block

    def _fill(self, request: int, index: int, block: int, tokens: int, prompt: int) -> None:
        self._filled[block] += tokens
        if self._filled[block] == self.size and index < prompt // self.size:
            self._holds[block] = (request, index)
            self._where[request, index] = block
