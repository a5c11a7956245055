"""The runs of a schedule in real time, with the chunks in which prompts were prefilled."""

from collections.abc import Iterator
from typing import NamedTuple

from instances import Instance
from schedules.memory_sweep import Piece
from schedules.schedule import Schedule


class RequestRun(NamedTuple):
    """One run of a request: an attempt that was cancelled, or the run that counts."""

    #: Position of the request in the instance.
    position: int
    #: Round in which its last chunk is prefilled; the first token is made in that round if that
    #: completes the prompt.
    last_chunk: int
    #: Output tokens that it kept, and that it makes.
    kept: int
    made: int
    #: Tokens of the request's prompt; they and the kept ones are prefilled.
    prompt: int
    #: Lengths of its chunks (tokens), one for a prompt that is not cut.
    chunks: tuple[int, ...]
    #: Tokens of an earlier run that it found in memory, where they stayed since that run.
    cached: int = 0

    @property
    def computed(self) -> int:
        """Tokens that are computed when it ends, all but its newest."""
        computed = self.cached + sum(self.chunks)
        return computed + self.made - 1 if self.made else computed

    @property
    def first_chunk(self) -> int:
        """Round in which it begins."""
        return self.last_chunk - len(self.chunks) + 1

    @property
    def end(self) -> int:
        """First round after it."""
        return self.last_chunk + max(self.made, 1)

    def prefills(self) -> Iterator[tuple[int, int, int]]:
        """Yield for each chunk its round, the tokens computed before it, and its tokens."""
        before = self.cached
        for number, tokens in enumerate(self.chunks, self.first_chunk):
            yield number, before, tokens
            before += tokens

    def pieces(self, prompt: int) -> Iterator[Piece]:
        """Yield what it holds: tokens computed after each chunk, then one more after each round.

        ``prompt`` counts as in memory (``Schedule.held_prompt``) once the whole prompt is computed.
        """
        held = self.cached
        # The chunk that completes the prompt is followed by the first token at the same time.
        partial = self.chunks[:-1] if self.made else self.chunks
        for time, tokens in enumerate(partial, self.first_chunk + 1):
            held += tokens
            yield self.position, time, time + 1, held, 0
        if self.made:
            constant = prompt + self.kept - self.last_chunk
            begin = self.last_chunk + 1
            yield self.position, begin, begin + self.made, constant, 1


def runs_of(instance: Instance, schedule: Schedule) -> Iterator[list[RequestRun]]:
    """Yield the runs of each request in the instance's order, the one that counts last.

    The fields of the schedule must have the right lengths.
    """
    prefills = schedule.clock.prefills if schedule.clock is not None else None
    found = schedule.clock.cached if schedule.clock is not None else None
    for position, request in enumerate(instance.requests):
        attempts = schedule.attempts[position] if schedule.attempts else ()
        tried = (*attempts, (schedule.starts[position], request.output))
        kept = schedule.kept[position] if schedule.kept else (0,) * len(tried)
        runs = []
        for number, ((start, tokens), before) in enumerate(zip(tried, kept, strict=True)):
            cached = found[position][number] if found else 0
            whole = (request.prompt + before - cached,)
            chunks = prefills[position][number] if prefills else whole
            made = tokens - before
            runs.append(
                RequestRun(position, start + before, before, made, request.prompt, chunks, cached)
            )
        yield runs
