"""The pictures of an instance: the best schedules, and the losses of policies against them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from instances import Instance
from instances.instance_files import parse_instance
from kvopt.store import StoreError
from reports.table import written
from schedules import Schedule, check_schedule, read_schedule
from schedules.schedule_picture import pair_picture, picture_image, picture_of
from support.message_text import one_line
from support.output_checks import describe_error


class DocumentStore(Protocol):
    """Store of documents; ``kvopt.store.Store`` is one."""

    def schedule(self, key: str) -> dict[str, Any] | None:
        """Return the schedule document of a run, None without one."""

    def instance(self, sha256: str) -> dict[str, Any] | None:
        """Return the document of an instance, None without one."""


@dataclass(frozen=True)
class Picture:
    """A picture of schedules, or else the reason why there is none, as its ``note``.

    Its file's name is the page's and ends in ``mark``.  With the ``name`` of a policy, which may
    hold anything, and its ``loss`` it is folded away.
    """

    title: str
    note: str
    svg: str = ""
    mark: str = ""
    name: str = ""
    loss: str = ""


@dataclass(frozen=True)
class LosingPolicy:
    """A policy's worst run of so many seeds: its key, seed, and gap to the best schedule."""

    name: str
    key: str
    gap: float
    seed: int
    seeds: int


STORED = "Best schedule of this store"
_KNOWN = "Best known schedule"
_ABOVE = "Best schedule above that of"
_NOTE = "KV memory over time under M, requests that run and wait. Lower bound: OPT or certified."
_ABOVE_NOTE = "On the same axes: where the lower one runs other requests or leaves room, it loses."


def draw_pictures(
    store: DocumentStore,
    line: Mapping[str, Any],
    policies: Sequence[LosingPolicy],
    known: str | Path | None,
) -> list[Picture]:
    """Return the best stored schedule, the best known one, and the best above each policy's.

    ``line`` is the instance's, of :func:`reports.best_references.find_references`; all titles have
    its bound, whatever the runs had.  ``known`` is the file of a better schedule, of the registry.
    """
    described = store.instance(str(line["instance_sha256"]))
    if described is None:
        return [Picture(STORED, "The instance is not in the store.")]
    made: list[Picture] = []
    try:
        instance = parse_instance(described)
        best, reason = _stored(store, str(line["found_key"]), instance)
        if best is not None:
            best = bounded(best, line)
            if line["upper_key"] == line["found_key"]:
                # The name in the tables, which a custom file gives itself.
                best = replace(best, method=str(line["upper_by"]))
            svg = picture_image(picture_of(instance, best), "svg").decode()
            made.append(Picture(STORED, _NOTE, svg))
        elif known is None:
            made.append(Picture(STORED, reason))
        if known is not None:
            best = bounded(read_schedule(known), line)
            if not (verdict := check_schedule(instance, best)).valid:
                return [*made, Picture(STORED, f"Not drawn: {verdict}")]
            svg = picture_image(picture_of(instance, best), "svg").decode()
            made.append(Picture(_KNOWN, _NOTE, svg, ".best-known"))
        if best is not None:
            made += _pairs(store, instance, best, policies, line)
    except StoreError:
        raise
    except Exception as error:
        made.append(Picture(STORED, f"Not drawn: {one_line(describe_error(error), 200)}"))
    return made


def bounded(schedule: Schedule, line: Mapping[str, Any]) -> Schedule:
    """Return a schedule with OPT or the certified bound of its instance's page.

    The report of a solver alone enters no gap of a picture.
    """
    bound = line["certified"] if pd.isna(line["opt"]) else line["opt"]
    lower = None if pd.isna(bound) else int(bound)
    met = schedule.tel == lower and not schedule.easier
    return replace(schedule, lower_bound=lower, status="optimal" if met else "feasible")


def _pairs(
    store: DocumentStore,
    instance: Instance,
    best: Schedule,
    policies: Sequence[LosingPolicy],
    line: Mapping[str, Any],
) -> Iterator[Picture]:
    """Yield the best schedule above each policy's, over the same axes."""
    for place, policy in enumerate(policies):
        other, _ = _stored(store, policy.key, instance)
        if other is not None:
            name, seed = policy.name, f" with seed {policy.seed}" * (policy.seeds > 1)
            named = replace(bounded(other, line), method=name + seed)
            svg = picture_image(pair_picture(instance, best, named), "svg").decode()
            loss = f"loses {written(policy.gap, 'share')}{seed}"
            loss += seed and f", the worst of {policy.seeds}; the table has the mean"
            mark = f".beside-{place + 1}" if place else ".beside"
            yield Picture(_ABOVE, _ABOVE_NOTE, svg, mark, name, loss)


def _stored(store: DocumentStore, key: str, instance: Instance) -> tuple[Schedule | None, str]:
    """Return the checked schedule of a run, or why there is none."""
    if not key:
        return None, "No schedule is stored."
    document = store.schedule(key)
    if document is None:
        return None, "The schedule is not in the store."
    schedule = Schedule(**{name: value for name, value in document.items() if name != "schema"})
    verdict = check_schedule(instance, schedule)
    return (schedule, "") if verdict.valid else (None, f"Not drawn: {verdict}")
