"""The ladder, ``python -m instances.ladder [--check]``: drawn families over sizes from 5 to 10,000.

Each instance is a row of ``ladder.csv``: the command that draws it, its sha256, and numbers that
say how hard it is.  It has no file: by its name it is drawn, held against the sha256, and written
where the user's caches are.
"""

import csv
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import get_type_hints

from instances.generate import draw_family
from instances.instance import Instance
from instances.instance_files import InstanceFileError, format_instance
from support.click_command import Generated, generating_command
from support.json_files import file_holds, write_text
from support.message_text import csv_text
from support.progress import count_progress
from support.project_root import cache_folder

#: A row an instance.
ROWS = Path(__file__).with_suffix(".csv")
SIZES = (5, 8, 10, 12, 16, 20, 24, 30, 40, 60, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
#: Larger sizes have one seed, the others three.
_SEVERAL = 200
_SEEDS = 3


@dataclass(frozen=True)
class _Kind:
    """A family with parameters, from the size that fills the memory to the one drawn last."""

    family: str
    least: int
    most: int = SIZES[-1]
    set: str = ""


#: Rates a round are such that nine tenths of the memory is asked for, on average.
_KINDS = (
    _Kind("am1", 5, 200),
    _Kind("am2", 5, 60),
    _Kind("uniform", 5),
    _Kind("uniform", 5, set="rate=0.08"),
    _Kind("normal", 5),
    _Kind("binomial", 5),
    _Kind("exponential", 5),
    _Kind("exponential", 5, set="rate=1.6"),
    _Kind("mixed", 5),
    _Kind("two-point", 60),
    _Kind("geometric", 100),
    _Kind("linearly-weighted-geometric", 100),
    _Kind("chat", 200),
    _Kind("chat", 200, set="rate=1.2"),
    _Kind("chat", 200, set="rate=10 seconds=true"),
    _Kind("chat", 200, set="rate=50 seconds=true"),
    _Kind("chat-lognormal", 200),
    _Kind("summarize", 100),
    _Kind("mix80-20", 100),
    _Kind("mix80-20-lognormal", 100),
)


@dataclass(frozen=True)
class InstanceShape:
    """Size and tightness of an instance, known before anything runs on it.

    ``kinds`` are different pairs of prompt and output; ``tightness`` is the largest peak over M (α
    of the papers), ``area`` Σ volumes over M (rounds); ``last_arrival`` is in rounds or seconds.
    """

    n: int
    memory: int
    kinds: int
    tightness: float
    area: float
    last_arrival: float


def measure_shape(instance: Instance) -> InstanceShape:
    """Return the shape of an instance; tightness has four decimals, area two."""
    requests, memory = instance.requests, instance.memory
    return InstanceShape(
        n=len(requests),
        memory=memory,
        kinds=len({(request.prompt, request.output) for request in requests}),
        tightness=round(max(request.peak for request in requests) / memory, 4),
        area=round(sum(request.volume for request in requests) / memory, 2),
        last_arrival=float(max(request.arrival for request in requests)),
    )


_SHAPE = (each.name for each in fields(InstanceShape))
_COLUMNS = ("name", "family", "seed", "set", *_SHAPE, "sha256")


@dataclass(frozen=True)
class Rung(InstanceShape):
    """An instance of the ladder, and what ``kvopt generate`` draws it with (``set``: KEY=VALUE)."""

    name: str
    family: str
    seed: int
    set: str
    sha256: str

    @property
    def in_seconds(self) -> bool:
        """Return whether arrivals are in seconds."""
        return "seconds=true" in self.set.split()

    def draw(self) -> Instance:
        """Draw it."""
        return draw_family(self.family, self.seed, self.set.split())


@cache
def read_ladder() -> Mapping[str, Rung]:
    """Return the committed rows by name, in their order."""
    kinds = get_type_hints(Rung)
    with ROWS.open(encoding="utf-8", newline="") as file:
        read = csv.DictReader(file)
        rungs = [Rung(**{key: kinds[key](text) for key, text in row.items()}) for row in read]
    return {rung.name: rung for rung in rungs}


def draw_rung(name: str) -> Instance:
    """Draw an instance of the ladder, or raise InstanceFileError if its sha256 differs."""
    rung = read_ladder()[name]
    try:
        instance = rung.draw()
    except RuntimeError as error:
        raise InstanceFileError(f"{name}: {error}") from None
    if instance.sha256 != rung.sha256:
        raise InstanceFileError(
            f"{name}: expected sha256 {rung.sha256[:12]}, drew {instance.sha256[:12]}; "
            "a library on this machine rounds otherwise"
        )
    return instance


def write_rung_file(name: str) -> Path:
    """Return the file of an instance of the ladder in the user's caches, drawn every time.

    It is written unless exactly that stands there; raises an InstanceFileError.
    """
    instance = draw_rung(name)
    try:
        file = cache_folder("instances") / f"{name}-{instance.sha256[:12]}" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_symlink():
            file.unlink()
        text = format_instance(instance)
        if not file_holds(file, text):
            write_text(file, text)
    except (OSError, RuntimeError) as error:  # of a user without a home, too
        raise InstanceFileError(f"{name}: {error}") from None
    return file


def draw_rungs() -> Iterator[Rung]:
    """Draw all instances; their rows as they shall be."""
    for kind in _KINDS:
        for n in (size for size in SIZES if kind.least <= size <= kind.most):
            for seed in range(_SEEDS if n <= _SEVERAL else 1):
                parameters = f"n={n} {kind.set}".strip()
                instance = draw_family(kind.family, seed, parameters.split())
                yield Rung(
                    **asdict(measure_shape(instance)),
                    name=instance.name,
                    family=kind.family,
                    seed=seed,
                    set=parameters,
                    sha256=instance.sha256,
                )


def _generated() -> Generated:
    rungs = count_progress(draw_rungs(), "instances drawn")
    rows = ([getattr(rung, column) for column in _COLUMNS] for rung in rungs)
    return {ROWS: csv_text(_COLUMNS, rows)}, [ROWS]


main = generating_command("python -m instances.ladder", _generated)


if __name__ == "__main__":
    sys.exit(main())
