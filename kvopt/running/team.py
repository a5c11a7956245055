"""Several jobs side by side, each in its own process: a bound and a schedule need both cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from kvopt.running.job import Event, Job
from kvopt.running.process import Ending, Outcome, Worker


@dataclass(frozen=True)
class Stop:
    """An answer to an event: stop every running job of a solver."""

    solver: str


def run_team(
    jobs: list[Job],
    on_event: Callable[[Job, Event], Sequence[Job | Stop]],
    *,
    deadline: float,
    finished: Callable[[], bool],
    idle: Callable[[], None] = lambda: None,
    grace: float = 0.5,
) -> list[Outcome]:
    """Run jobs until all have ended, the deadline is over, or ``finished`` says that it is enough.

    Every event is handed to ``on_event``, which may answer with jobs to start beside those that
    run, and with those to stop.  On Ctrl-C all are killed, and what they sent before is kept.

    Parameters
    ----------
    deadline
        On the clock of ``time.monotonic``; processes are killed ``grace`` seconds later.

    Returns
    -------
    Outcomes in the order in which the processes ended.
    """
    waiting: list[Job | Stop] = list(jobs)
    running: list[Worker] = []
    outcomes: list[Outcome] = []

    def deliver(job: Job, event: Event) -> None:
        waiting.extend(on_event(job, event))

    ending: Ending = "finished"
    try:
        while waiting or running:
            while waiting:
                order = waiting.pop(0)
                if isinstance(order, Job):
                    running.append(Worker(order))
                    continue
                for worker in [each for each in running if each.job.solver == order.solver]:
                    running.remove(worker)
                    outcomes.append(worker.close("stopped", partial(deliver, worker.job)))
            idle()
            for worker in list(running):
                take = partial(deliver, worker.job)
                if not worker.take(take, wait=0.1 / len(running)):
                    running.remove(worker)
                    outcomes.append(worker.close("finished", take))
                elif worker.exceeds_memory():
                    running.remove(worker)
                    outcomes.append(worker.close("memory_limit", take))
            if finished():
                ending = "stopped"
                break
            if time.monotonic() > deadline + grace:
                ending = "time_limit"
                break
    except KeyboardInterrupt:
        ending = "interrupted"
    except BaseException:
        for worker in running:
            worker.close("stopped", lambda _: None)
        raise
    for worker in running:
        outcomes.append(worker.close(ending, partial(deliver, worker.job)))
    return outcomes
