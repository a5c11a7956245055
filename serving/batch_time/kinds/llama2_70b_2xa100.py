"""Llama-2-70B on two A100, fitted to Vidur's profiles: held-out error 2.8 % (mean, absolute).

Least squares on 12,000 batches of the profiled operators.  The profiles reach to batches of 4,096
prompt tokens, 128 decoding requests and contexts of 4,096 tokens; beyond these the numbers are an
extrapolation.  ``scale`` multiplies all of them: a calibration against measured latencies.

A token read takes 144 ns in the fit, in which two A100 (2.039 TB/s each) read 587 kB.  With 8 KV
heads a token has 328 kB, with 64, as jaillet2025_v1 counts, 2,621 kB.  So the memory of these
rounds is of 8 KV heads, 61,035 tokens, and not 16,492 (``serving.kv_memory``, docs/errata.md E14).
"""

from dataclasses import replace
from fractions import Fraction

from instances.batch_time import BatchTime, BatchTimeError, MeasuredRange, decimal
from serving.batch_time.batch_time_kind import BatchTimeKind, BatchTimeOption, exact
from serving.deployments import DEFAULT_GPU
from serving.kv_memory import LLAMA2_70B_2XA100

_NAME = "llama2-70b-2xa100"
#: Picoseconds: 54.26 ms a round, 0.3119 ms a prompt token, 1.63e-5 ms a prompt token squared,
#: 0.1963 ms a decoding request and 1.44e-4 ms a token read.
_COEFFICIENTS = (54_260_000_000, 311_900_000, 16_300, 196_300_000, 144_000)
_RANGE = MeasuredRange(prefill=4096, decoding=128, read=128 * 4096)
_SMALLEST, _LARGEST = "0.001", "1000"
#: Decimals of a scale, so that the name is the number that is meant.
_PLACES = 12


def _build(options: dict[str, str]) -> BatchTime:
    scale = exact(f"{_NAME}, scale", options["scale"])
    if not Fraction(_SMALLEST) <= scale <= Fraction(_LARGEST):
        raise BatchTimeError(
            f"{_NAME}: expected a scale of {_SMALLEST} to {_LARGEST}, found {options['scale']}"
        )
    numerator = scale * 10**_PLACES
    if numerator.denominator != 1:
        raise BatchTimeError(f"{_NAME}: expected a scale of at most {_PLACES} decimals")
    name, origin = _NAME, "Vidur's profiles of Llama-2-70B on two A100, held-out error 2.8 %"
    if scale != 1:
        written = decimal(int(numerator), _PLACES)
        name, origin = f"{_NAME}(scale={written})", f"{origin}, times {written}"
    base, prefill, square, decode, read = (round(scale * value) for value in _COEFFICIENTS)
    model = BatchTime(name, base, prefill, square, decode, read, _RANGE, origin)
    return replace(model, served=LLAMA2_70B_2XA100, gpu=DEFAULT_GPU)


KIND = BatchTimeKind(
    _NAME, _build, options=(BatchTimeOption("scale", "1", "multiplies every coefficient"),)
)
