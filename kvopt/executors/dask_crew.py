"""Which workers of a Dask scheduler take part in a sweep."""

from __future__ import annotations

import asyncio
import logging

from distributed import Client

from kvopt.executors import ExecutorError
from kvopt.executors.dask_worker import unfitness

_LOG = logging.getLogger("kvopt")
_LOOK_EVERY_SECONDS = 0.5


class Crew:
    """The workers that give the client's own results, those that join late included.

    A worker is asked once, when it is first seen; one with other sources or libraries, or without
    kvopt, takes no part.

    Parameters
    ----------
    samples
        What the workers are asked: see ``unfitness``.

    Attributes
    ----------
    fit
        Threads of the workers that take part, by address.
    present
        Addresses of all workers that the scheduler knows.
    """

    def __init__(self, client: Client, samples: list[str]) -> None:
        self._client = client
        self._samples = samples
        # Replaced as a whole, never changed: Dask's thread writes what the caller's reads.
        self.fit: dict[str, int] = {}
        self.present: frozenset[str] = frozenset()
        self._unfit: dict[str, str] = {}
        self._questions: dict[str, asyncio.Task[None]] = {}
        self._watch = asyncio.run_coroutine_threadsafe(self._look(), client.loop.asyncio_loop)

    def check(self) -> None:
        """See that there is somebody to work, or at least may be soon.

        Raises
        ------
        ExecutorError
            If the scheduler is gone, or it has workers and none of them fits.
        """
        if self._watch.done():
            reason = " ".join(str(self._watch.exception()).split())[:200]
            raise ExecutorError(f"the connection to the Dask scheduler is lost: {reason}")
        unfit = self._unfit
        if unfit and self.present <= unfit.keys():
            address, reason = next(iter(unfit.items()))
            others = f" (and {len(unfit) - 1} more)" if len(unfit) > 1 else ""
            raise ExecutorError(f"no worker can carry out the runs: {address}{others}: {reason}")

    def refuse(self, address: str, reason: str) -> None:
        """Let a worker take no part, for a reason that will last."""
        self.release(address)
        self._unfit = self._unfit | {address: reason}
        _LOG.warning("worker %s takes no part: %s", address, reason)

    def release(self, address: str) -> None:
        """Let a worker that is about to go take no more part."""
        self.fit = {each: threads for each, threads in self.fit.items() if each != address}

    def close(self) -> None:
        """Look for workers no more."""
        self._watch.cancel()

    async def _look(self) -> None:
        waited = False
        while True:
            threads: dict[str, int] = await self._client.scheduler.ncores()
            self.fit = {each: n for each, n in self.fit.items() if each in threads}
            self._unfit = {each: why for each, why in self._unfit.items() if each in threads}
            self.present = frozenset(threads)
            self._questions = {
                each: self._questions.get(each) or asyncio.create_task(self._ask(each, n))
                for each, n in threads.items()
            }
            if not threads and not waited:
                _LOG.warning("no worker is connected to the Dask scheduler; waiting for one")
            waited = not threads
            await asyncio.sleep(_LOOK_EVERY_SECONDS)

    async def _ask(self, address: str, threads: int) -> None:
        try:
            answers = await self._client.run(
                unfitness, self._samples, workers=[address], on_error="return"
            )
        except OSError:
            return  # it has gone, or the scheduler has
        answer = answers.get(address)
        if answer == "":
            self.fit = self.fit | {address: threads}
        elif isinstance(answer, str):
            self.refuse(address, answer)
        elif not isinstance(answer, OSError):
            # It does not even have the function.
            self.refuse(address, " ".join(f"{type(answer).__name__}: {answer}".split())[:300])
