"""Batches of least F by dynamic programming over (size, tokens): wang2025 Alg. 2, and Alg. 1.

For each size k the table holds the least sum of outputs of k requests, by the tokens they need;
F of the best batch is then the least of that sum divided by k².  Equal F prefers the larger batch
(Alg. 1, line 4), then fewer tokens; among batches equal in all three the requests that come first
by arrival and position are kept, as in Alg. 2, whose strict comparison keeps what it found first.

For every request one bit a cell says whether it improved the cell.  A batch is read off by walking
back: the batch behind a cell after the first i requests either gained request i (the bit is set),
and the rest of it stands behind the cell it came from, or it is as it was before request i.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from heuristics.batching import Mask, batches
from heuristics.policy import Ints, Known, NotApplicableError

#: Largest table (cells of 8 bytes) and largest history (cells of 1 bit), each 1 GiB.
MOST_CELLS = 2**27
MOST_BITS = 2**33

_UNREACHED = np.int64(2**60)


def batches_by_peaks(known: Known) -> Iterator[Ints]:
    """Yield batches of least F with Σ (s + o) ≤ M (W Alg. 2), in O(n²M) a batch.

    It raises NotApplicableError if the table, linear in the batch size times M, would not fit.
    """

    def choose(line: Ints) -> Mask:
        peaks = known.peaks[line]
        most = int(np.searchsorted(np.cumsum(np.sort(peaks)), known.memory, side="right"))
        return _least_f(peaks, known.outputs[line], known.memory, most, together=False)

    return batches(known, known.sorted_by(), choose)


def batches_exactly(known: Known) -> Iterator[Ints]:
    """Yield batches of least F that fit when started together (W Alg. 1, Phase 1).

    If the requests X start together at 0, then at time t those with o ≥ t hold Σ s + |·|·t.  This
    grows between completions, so it is enough that it stays within M at t = o_j for each j in X.

    Add requests in nonincreasing order of o.  When request j is added, all with a longer output
    that X holds are there already, so with c requests of prompt sum S among them, j included, the
    tokens at t = o_j are at least S + c·o_j, with equality for the last of those with output o_j.
    Hence X is feasible if and only if S + c·o_j ≤ M at every addition: the equalities are the
    constraints, and the other checks are implied by them, as tokens and c only grow among equal
    outputs.  Feasibility of the next addition depends on the earlier ones only through (c, S), so
    for each (c, S) it is enough to keep the least sum of outputs: a dynamic program over (c, S)
    visits a best feasible batch of every size, in O(n²M).  Raises as ``batches_by_peaks``.
    """

    def choose(line: Ints) -> Mask:
        prompts, outputs = known.prompts[line], known.outputs[line]
        # At the first completion all members are there, each with its prompt and as many tokens.
        least = np.cumsum(np.sort(prompts)) + np.arange(1, len(line) + 1) * int(outputs.min())
        most = int(np.searchsorted(least, known.memory, side="right"))
        return _least_f(prompts, outputs, known.memory, most, together=True)

    return batches(known, known.sorted_by(-known.outputs), choose)


def _least_f(tokens: Ints, outputs: Ints, memory: int, most: int, *, together: bool) -> Mask:
    """Return the batch of least F among at most ``most`` requests whose ``tokens`` sum to ≤ M.

    With ``together`` the sum of the tokens may be at most M − c·o when the c-th request is added.
    """
    n = len(tokens)
    width = min(memory, int(tokens.sum())) + 1
    if (most + 1) * width > MOST_CELLS or n * most * width > MOST_BITS:
        raise NotApplicableError(
            f"expected a table of batches of at most {MOST_CELLS:,} cells and {MOST_BITS:,} bits, "
            f"found {most + 1:,} × {width:,} cells for each of {n:,} requests"
        )
    least = np.full((most + 1, width), _UNREACHED)
    least[0, 0] = 0
    history = []
    reach = 1  # columns that the requests so far can reach
    for i in range(n):
        needed, output = int(tokens[i]), int(outputs[i])
        rows, columns = min(i + 1, most), min(reach, width - needed)
        trial = least[:rows, :columns] + output
        cells = least[1 : rows + 1, needed : needed + columns]
        better = trial < cells
        if together:
            sums = np.arange(needed, needed + columns)
            sizes = np.arange(1, rows + 1)[:, np.newaxis]
            better &= sums + sizes * output <= memory
        np.copyto(cells, trial, where=better)
        history.append((np.packbits(better), columns))
        reach = min(width, reach + needed)
    return _walk_back(history, tokens, *_best_cell(least))


def _best_cell(least: Ints) -> tuple[int, int]:
    """Return size and tokens of the best batch: least F, then the largest, then fewest tokens."""
    totals = enumerate(least[1:].min(axis=1).tolist(), 1)
    # F in fractions, so that equal values are seen as equal.
    found = [(Fraction(total, k * k), -k) for k, total in totals if total < _UNREACHED]
    size = -min(found)[1]
    return size, int(least[size].argmin())


def _walk_back(
    history: list[tuple[NDArray[np.uint8], int]], tokens: Ints, size: int, held: int
) -> Mask:
    chosen = np.zeros(len(tokens), dtype=np.bool_)
    for i in range(len(tokens) - 1, -1, -1):
        bits, columns = history[i]
        column = held - int(tokens[i])
        if size == 0 or not 0 <= column < columns:
            continue
        place = (size - 1) * columns + column
        if bits[place >> 3] >> (7 - (place & 7)) & 1:
            chosen[i] = True
            size, held = size - 1, column
    return chosen
