"""Exact search by dynamic programming: schedules and bounds after every pass.

*Counts* end at once or not at all (``parts.counting``); *sweep* has prices and windows in turns
(``parts.backward``).  *Layers* and *bidirectional* run passes of the forward search:

    price memory by an LP, and run passes of growing width; ``layers`` ends here
    once the next pass would take half a second, in turns that double:
        run local search, unless another process does
        raise the bound by multipliers on requests (``parts.ascent``)
        run passes of growing width within the completion bounds of the best multipliers (P15)

With ``states`` prices on states come first, and every pass has completion bounds.
Proofs: docs/proofs/forward.md (P6), docs/proofs/completion.md (P15).
"""

import math
import time

import numpy as np

from formulations.bounds.clique_lp import lp_prices
from formulations.certificates.certificate_file import price_certificate
from formulations.dp import backward as backward_dp
from formulations.dp import counts, forward
from formulations.dp.priced_network import TooLargeError, network
from formulations.dp.state_bounds import CompletionBounds
from formulations.lagrangian.priced_starts import certified_costs
from formulations.valid.running_states import searchable_states
from formulations.valid.windows import start_windows
from instances import Instance, Request
from kvopt.engines.job import EngineJob
from kvopt.engines.parts import node_counting, sweep_search
from kvopt.engines.parts.model_size import fits
from kvopt.engines.parts.multiplier_ascent import Ascent
from kvopt.engines.parts.search_run import PATTERN_WORK_UP_TO, SearchRun, Table, memory_prices
from kvopt.runs.events import EventReport

ENGINE = {"solves": "search", "named": True, "default": True, "proof": "search"}

#: Share of the time for prices, and by what turns of multipliers and passes grow.
PRICES_SHARE, LONGER = 0.3, 2.0
#: A pass with completion bounds grows by so much at most.  Below the least growth it is so wide,
#: then as wide as memory allows: one that loses no state often takes no longer, and the tables of
#: the last one take a second to touch.
MOST_GROWTH, LEAST_GROWTH = 60.0, 4.0
WIDE, WIDEST = 3_000_000, 1 << 30
#: Share of the time until the value at some multipliers on requests is known exactly, and
#: evaluations in the first turn then.
KNOWN_SHARE, EVALUATIONS = 0.95, 4
#: Shares of a turn that passes take after it, and local search where no other process runs one; the
#: same with prices on states.
TURN_SHARES, STATES_SHARES = (1.5, 0.1), (0.4, 0.2)
#: Seconds for a first schedule, times n³, and the share of all time left at most, also before the
#: last passes; seconds of prices on states, times n².
LOOK_SECONDS, LAST_LOOK, STATES_SECONDS = 1e-4, 0.1, 0.004


def kernels_of(instance: Instance, formulation: str) -> set[str]:
    """Return the units of kernels that it runs (``kvopt.runs.kernel_compilation``)."""
    del instance
    by_name = {
        "counts": set(),
        "sweep": {"annealing", "sweep"},
        "layers": {"layers", "sweep"},
        "bidirectional": {"annealing", "layers", "sweep"},
    }
    return by_name.get(formulation, set().union(*by_name.values()))


def compile_kernels() -> None:
    """Compile or load the kernels of ``layers``."""
    instance = Instance("three", 9, tuple(Request(i, 0, 1, 2 + i) for i in range(3)))
    starts = [0, 2, 5]
    tel = sum(start + 2 + i for i, start in enumerate(starts))
    windows = start_windows(instance, tel)
    costs = certified_costs(instance, [], None, windows.latest)
    forward.search(instance, windows, costs, (tel, starts), 9)


def solve(job: EngineJob, report: EventReport) -> None:
    """Search within the job's limits.

    Bounds are sent as they are, so one above the known schedule is a contradiction.  None can be:
    ``start_windows`` keep every optimal schedule if the known TEL is feasible, so prices certify at
    most the optimum within them.  The search's pruning removes schedules that are no better;
    then the bound of ``forward.search`` is the known TEL itself.
    """
    formulation, instance = job.formulation, job.instance
    if len(instance) > formulation.requests_up_to:
        report.note(f"search takes up to {formulation.requests_up_to} requests")
        return
    size = formulation.size(instance, start_windows(instance, job.upper_bound))
    if not fits(job, report, size, formulation.entry_bytes):
        return
    if formulation is counts.FORMULATION:
        node_counting.solve(job, report)
        return
    run = SearchRun(job, report)
    if formulation is backward_dp.FORMULATION:
        sweep_search.search(run)
        run.end("kvopt sweep")
        return
    # The first pass predicts the time of the next one, so its clock must not count loading.
    compile_kernels()
    if formulation is forward.FORMULATION:
        _Passes(run).widen()
    else:
        _search_both_ways(run)
    run.end("kvopt search")


def _search_both_ways(run: SearchRun) -> None:
    """Start with prices on states if the option says so and they are few, else on memory."""
    job, options = run.job, run.job.options["options"]
    if options.states:
        passes = _Passes(run, priced=False)
        run.improve_briefly()
        seconds = min(STATES_SECONDS * len(job.instance) ** 2, PRICES_SHARE * job.left())
        states = searchable_states(job.instance, PATTERN_WORK_UP_TO)
        if states is not None:
            end = min(time.monotonic() + seconds, job.deadline)
            priced = run.improve_prices(run.pattern_pricing(states, end), end)
            if _meet(run, passes, priced.table):
                return
    run.improve(min(LOOK_SECONDS * len(job.instance) ** 3, LAST_LOOK * job.left()))
    # The better schedule narrows the windows.
    passes = _Passes(run)
    passes.widen(options.passes_up_to)
    if run.is_open and not _meet(run, passes, memory_prices(job.instance, passes.prices)):
        passes.widen()


class _Passes:
    """Passes of the forward search, within windows and under prices on memory, or none."""

    def __init__(self, run: SearchRun, *, priced: bool = True) -> None:
        job, self._run = run.job, run
        self._windows = start_windows(job.instance, run.tel)
        seconds = PRICES_SHARE * job.left()
        found = lp_prices(job.instance, self._windows, [], seconds) if priced else None
        # The LP's prices suit its windows; over more starts they certify less.
        self._costs = costs = certified_costs(job.instance, [], found, self._windows.latest)
        self.prices = np.zeros(2) if found is None else found[0]
        #: Widths to come, and seconds that the last pass took for each state of its width.
        self._widths, self._took = list(forward.WIDTHS), 0.0
        size = forward.model_size(job.instance, self._windows)
        run.report.built(columns=size, rows=0, entries=size)
        certificate = price_certificate(
            costs.bound, costs.denominator, costs.memory, upper_bound=run.tel
        )
        run.take_bound(costs.bound, "prices", certificate)

    @property
    def last_start(self) -> int:
        """The last round at which any request starts."""
        return max(self._windows.latest)

    def widen(self, seconds: float = math.inf) -> None:
        """Run passes of growing width, before one that is expected to take longer."""
        while self._widths and self._run.is_open and self._took * self._widths[0] <= seconds:
            began, width = time.monotonic(), self._widths.pop(0)
            self.search(width)
            self._took = (time.monotonic() - began) / width

    def search(
        self,
        width: int,
        completion: CompletionBounds | None = None,
        end: float = math.inf,
        proved: int = 0,
    ) -> int:
        """Run one pass; return its width, 0 where time ran out."""
        run, job = self._run, self._run.job
        end = min(end, job.deadline)
        found = forward.search(
            *(job.instance, self._windows, self._costs, (run.tel, run.starts), width),
            lambda: time.monotonic() > end,
            completion=completion,
            memory_bytes=run.limits.memory_bytes,
            threads=job.threads,
            known=run.receive_incumbent,
            proved=proved,
        )
        if found is None:
            return 0
        run.nodes += found.states
        run.take_schedule(found.starts)
        run.take_bound(found.bound, "search")
        run.proved = found.complete
        return found.width


def _meet(run: SearchRun, passes: _Passes, table: Table) -> bool:
    """Run multipliers and passes in turns; False where patterns or memory are too large for it."""
    try:
        under = network(run.job.instance, table)
    except TooLargeError:
        return False
    # A better schedule may meet the first prices.
    run.take_bound(min(under.bound, run.tel), "prices")
    if under.bound >= run.tel:
        run.proved = True
        return True
    ascent = run.ascent(under, table, run.job.options["options"])
    if ascent is None:
        return False
    sweep_search.load_relaxation()
    _take_turns(run, passes, ascent)
    return True


def _take_turns(run: SearchRun, passes: _Passes, ascent: Ascent) -> None:
    """Raise the bound, and run passes within the last multipliers' bounds, in turns."""
    job, options = run.job, run.job.options["options"]
    # A turn that ends loses its evaluation, so one comes to its end first.
    ascent.run(KNOWN_SHARE * job.left(), until_known=True)
    seconds = max(options.turn_seconds * len(job.instance), EVALUATIONS * ascent.took)
    passes_share, looks_share = STATES_SHARES if options.states else TURN_SHARES
    while run.is_open:
        _look(run, ascent, looks_share * seconds)
        before = ascent.bound
        if ascent.run(min(seconds, job.left())):
            run.proved = True
            break
        gained = ascent.bound - before > options.gain * (ascent.below - ascent.bound)
        if options.states and gained and not ascent.ended:
            seconds *= LONGER
            continue
        most = passes_share * seconds
        if ascent.ended:
            # The last passes follow, and a better schedule makes them shorter.
            most = math.inf
            if options.states:
                _look(run, ascent, LAST_LOOK * job.left())
        end = time.monotonic() + most
        completion = ascent.completion_bounds(passes.last_start, most)
        if completion is not None:
            _pass_by_pass(run, passes, ascent, completion, min(end, job.deadline))
        run.hand_over(ascent)
        run.proved |= ascent.bound >= run.tel
        if ascent.ended:
            break
        seconds *= LONGER


def _pass_by_pass(
    run: SearchRun, passes: _Passes, ascent: Ascent, completion: CompletionBounds, end: float
) -> None:
    """Run ever wider passes until one proves the optimum, or memory or time end."""
    options = run.job.options["options"]
    width = max(options.first_width, 1)
    while (began := time.monotonic()) < end:
        took_width = passes.search(width, completion, end, ascent.bound)
        if run.proved or took_width != width:
            break
        ascent.bound = max(ascent.bound, run.bound)
        now = time.monotonic()
        growth = options.next_share * (end - now) / max(now - began, 1e-3)
        if growth > LEAST_GROWTH:
            width = int(width * min(growth, MOST_GROWTH))
        elif ascent.ended or end - now > LEAST_GROWTH * (now - began):
            width = WIDE if width < WIDE else WIDEST
        else:
            break


def _look(run: SearchRun, ascent: Ascent, seconds: float) -> None:
    """Run local search, where no other process does."""
    if run.job.beside() is None:
        run.improve(min(seconds, run.job.left()))
    run.hand_over(ascent)
