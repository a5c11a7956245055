"""Look-ahead rows that the master LP's solution violates, around knots of its grid."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from formulations.bounds.highs_lp import Floats
from formulations.bounds.pricing import Ints, MasterRows, PriceGrid, RequestClasses
from formulations.lagrangian.priced_rows import PricedRow, row_sums
from formulations.lagrangian.start_costs import price_sums
from formulations.valid.lookahead_row import LookAheadRow
from instances import Instance

#: Factors c of tokens, rounds ℓ ahead, and least shares of the time at a knot that a request of the
#: core runs; above 1 none does.
SHARES = (0, 2, 3, 4, 5, 6, 7, 8, 10, 14, 20, 40)
ROUNDS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
CORES = (0.15, 0.3, 0.45, 0.6, 0.8, 2.0)
#: Relative violation from which on a row is taken.
VIOLATED = 4e-4
#: Tokens of memory up to which payments fit into words.
MEMORY_UP_TO = 1 << 24


@dataclass
class RowSeparation:
    """Finds rows that a solution of the master violates; ``rows`` are all so far, as found."""

    instance: Instance
    classes: RequestClasses
    grid: PriceGrid
    threads: int
    rows: list[PricedRow] = field(default_factory=list)

    def all(self) -> MasterRows:
        """Return the rows so far for the master."""
        sums = row_sums(self.instance, self.rows, self.classes.class_of, np.float64)
        weights = np.array([float(each.by_time()[1].sum()) for each in self.rows])
        return MasterRows(tuple(self.rows), sums, weights)

    def add_violated(self, columns: tuple[Ints, Ints, Floats]) -> int:
        """Add up to two rows a knot that starts (class, round, mass) violate; return how many."""
        knots = range(len(self.grid) - 1)
        with ThreadPoolExecutor(self.threads) as pool:
            found = [*chain.from_iterable(pool.map(lambda k: self._at(k, columns), knots))]
        self.rows += found
        return len(found)

    def _at(self, k: int, columns: tuple[Ints, Ints, Floats]) -> list[PricedRow]:
        """Return rows around a knot: the most violated, and one that looks ahead otherwise."""
        from formulations.lagrangian.lookahead_kernels import violations  # loads the compiler

        knots, memory = self.grid.knots, self.instance.memory
        around = [j for j in (k - 1, k, k + 1) if 0 <= j < len(knots)]
        times = tuple(int(knots[j]) for j in around)
        hat = PricedRow(LookAheadRow(0, 0, ()), times, tuple(float(j == k) for j in around))
        begin, weights = hat.by_time()
        sums = price_sums(weights, 1)
        owners, starts, masses = columns
        near = starts + 1 < begin + len(weights)
        near &= starts + self.classes.outputs[owners] >= begin
        started = owners[near], starts[near], masses[near]
        cores = self._cores(begin, sums.tokens, *started)
        candidates = self._candidates(cores)
        shares, rounds, _, of = candidates
        use = np.zeros(len(shares))
        violations(
            (self.classes.prompts, self.classes.outputs),
            started,
            (begin, sums.tokens, sums.moments),
            *(candidates, cores, memory, use),
        )
        over = use / (float(memory) ** 2 * float(weights.sum())) - 1
        found: list[PricedRow] = []
        for best in np.argsort(-over, kind="stable").tolist():
            if over[best] <= VIOLATED or len(found) == 2:
                break
            ahead = int(rounds[best])
            if found and found[0].row.rounds / 2 <= ahead <= 2 * found[0].row.rounds:
                continue
            core = np.flatnonzero(cores[of[best]][self.classes.class_of])
            row = LookAheadRow(int(shares[best]), ahead, tuple(core.tolist()))
            found.append(replace(hat, row=row))
        return found

    def _cores(
        self, begin: int, sums: Floats, owners: Ints, starts: Ints, masses: Floats
    ) -> NDArray[np.uint8]:
        """Return which classes are in each core, shape (cores, classes)."""
        size = len(sums) - 1
        first = np.clip(starts + 1 - begin, 0, size)
        last = np.clip(starts + self.classes.outputs[owners] + 1 - begin, 0, size)
        covered = masses * (sums[last] - sums[first]) / sums[-1]
        running = np.bincount(owners, covered, len(self.classes)) / self.classes.sizes
        return (running[None, :] > np.array(CORES)[:, None]).astype(np.uint8)

    def _candidates(self, cores: NDArray[np.uint8]) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the rows that are tried; two cores that are one are tried once."""
        memory, classes = self.instance.memory, self.classes
        distinct = [k for k in range(len(cores)) if not k or (cores[k] != cores[k - 1]).any()]
        found = []
        for share, core in product(SHARES, distinct):
            own = memory - np.minimum(memory, share * (classes.prompts + 1))
            kappa = share * memory + int((own * classes.sizes)[cores[core] > 0].sum())
            if kappa > 0:
                found += [(share, rounds, kappa, core) for rounds in ROUNDS]
        columns = np.array(found, dtype=np.int64).reshape(-1, 4).T.copy()
        return columns[0], columns[1], columns[2], columns[3]
