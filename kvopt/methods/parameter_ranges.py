"""A range of a parameter, ``mine(beta=0..2 step 0.5)``, as one method for each of its values."""

import re
from decimal import Decimal
from itertools import product
from math import prod

from kvopt.methods.syntax import MethodError

#: Most methods that one text stands for.
MOST_METHODS = 1000
#: Few digits: sums and quotients of decimals are exact.
_NUMBER = r"[+-]?(?:[0-9]{1,12}(?:\.[0-9]{1,12})?|\.[0-9]{1,12})"
#: A value in parentheses.
_RANGE = re.compile(
    rf"(?<=[=(,])\s*(?P<first>{_NUMBER})\s*\.\.\s*(?P<last>{_NUMBER})"
    rf"(?:\s+step\s+(?P<step>{_NUMBER}))?\s*(?=[,)])",
    re.IGNORECASE,
)
#: A path, which has no ranges.
_PATH = re.compile(r"\s*file\s*:.*\.py(?=\s*(?:\(|$|with\s))", re.IGNORECASE | re.DOTALL)


def expand_ranges(text: str) -> list[str]:
    """Return a method's text with each value of its ranges, the last range changing first.

    ``FIRST..LAST step STEP`` is exact in decimals; between integers the step is 1 by default.
    Raises MethodError for an empty range, a wrong step, or too many methods.
    """
    path = _PATH.match(text)
    found = list(_RANGE.finditer(text, path.end() if path else 0))
    values = [_values(each) for each in found]
    count = prod(map(len, values))
    if count > MOST_METHODS:
        raise MethodError(f"{text}: expected at most {MOST_METHODS} methods, found {count}")
    ends = [*(each.start() for each in found), len(text)]
    starts = [0, *(each.end() for each in found)]
    between = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return [
        between[0] + "".join(v + rest for v, rest in zip(chosen, between[1:], strict=True))
        for chosen in product(*values)
    ]


def _values(found: re.Match[str]) -> list[str]:
    given = found[0].strip()
    first, last = Decimal(found["first"]), Decimal(found["last"])
    if found["step"] is None and (first % 1 or last % 1):
        raise MethodError(f"range {given}: expected {given} step STEP, as an end is not whole")
    step = Decimal(found["step"] or 1)
    if step <= 0 or last < first:
        raise MethodError(f"range {given}: expected FIRST..LAST step STEP, upwards, STEP above 0")
    steps = (last - first) / step
    if steps >= MOST_METHODS:
        raise MethodError(f"range {given}: expected at most {MOST_METHODS} values, found more")
    return [f"{(first + k * step).normalize():f}" for k in range(int(steps) + 1)]
