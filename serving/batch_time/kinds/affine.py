"""A time for every round and a time for each token that it processes, prefilled or decoded."""

from instances.batch_time import BatchTime, milliseconds
from serving.batch_time.batch_time_kind import BatchTimeKind, BatchTimeOption, picoseconds

_NAME = "affine"


def _build(options: dict[str, str]) -> BatchTime:
    base, token = (picoseconds(f"{_NAME}, {name}", text) for name, text in options.items())
    text = f"{_NAME}(base={milliseconds(base)},token={milliseconds(token)})"
    return BatchTime(text, base=base, per_prefill=token, per_decode=token)


KIND = BatchTimeKind(
    _NAME,
    _build,
    options=(
        BatchTimeOption("base", "50", "milliseconds a round"),
        BatchTimeOption("token", "0.3", "milliseconds a token"),
    ),
)
