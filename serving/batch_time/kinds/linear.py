"""Five numbers that the user states, in milliseconds, and where they hold; unset ones are 0."""

from instances.batch_time import BatchTime, BatchTimeError, MeasuredRange, milliseconds
from serving.batch_time.batch_time_kind import BatchTimeKind, BatchTimeOption, picoseconds, whole

NAME = "linear"
_COEFFICIENTS = ("base", "prefill", "square", "decode", "read")
_RANGE = ("prefill_to", "decode_to", "read_to")


def linear(
    coefficients: tuple[int, ...], stated: MeasuredRange | None = None, origin: str = ""
) -> BatchTime:
    """Return the model with five coefficients (picoseconds), named by these numbers."""
    named = zip(_COEFFICIENTS, coefficients, strict=True)
    parts = [f"{name}={milliseconds(value)}" for name, value in named if value]
    if stated is not None:
        ends = (stated.prefill, stated.decoding, stated.read)
        parts += [f"{name}={value}" for name, value in zip(_RANGE, ends, strict=True)]
    base, prefill, square, decode, read = coefficients
    text = f"{NAME}({','.join(parts)})"
    return BatchTime(text, base, prefill, square, decode, read, range=stated, origin=origin)


def _build(options: dict[str, str]) -> BatchTime:
    coefficients = tuple(picoseconds(f"{NAME}, {name}", options[name]) for name in _COEFFICIENTS)
    ends = [name for name in _RANGE if options[name]]
    if not ends:
        return linear(coefficients)
    if len(ends) < len(_RANGE):
        raise BatchTimeError(f"{NAME}: expected {', '.join(_RANGE)} together, found {ends[0]}")
    return linear(
        coefficients, MeasuredRange(*(whole(f"{NAME}, {name}", options[name]) for name in ends))
    )


KIND = BatchTimeKind(
    NAME,
    _build,
    options=(
        BatchTimeOption("base", "0", "milliseconds a round"),
        BatchTimeOption("prefill", "0", "milliseconds a prompt token"),
        BatchTimeOption("square", "0", "milliseconds a prompt token squared"),
        BatchTimeOption("decode", "0", "milliseconds a decoding request"),
        BatchTimeOption("read", "0", "milliseconds a token that decoding requests read"),
        BatchTimeOption("prefill_to", "", "most prompt tokens of a round that was measured"),
        BatchTimeOption("decode_to", "", "most decoding requests of a round that was measured"),
        BatchTimeOption("read_to", "", "most tokens read in a round that was measured"),
    ),
)
