"""The pages of a report: the instances with a page, and the pictures on each."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial

import numpy as np
import pandas as pd

from kvopt.methods.witness import is_own
from reports.figures.bounds import BOUNDS_NOTE, bounds_figure
from reports.figures.figure_parts import try_drawing
from reports.page_parts import ReportFigure
from reports.pages.instance_page import InstancePage, make_page
from reports.pages.instance_pictures import (
    STORED,
    DocumentStore,
    LosingPolicy,
    Picture,
    draw_pictures,
)
from reports.pages.page_lines import PageLines
from reports.stored_results import Results
from reports.table import WORST_ON, Table
from reports.time_units import Unit
from reports.verdict_sentences import Sentence
from schedules.gap import gap
from support.progress import count_progress

#: Policies of one page whose schedules are drawn below the best one.
MOST_LOSING = 6
_LONGEST = 60
#: Names of files that stay as they are; no dot, so no ``..`` and no second suffix.
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
#: Names of devices on some systems, whatever the suffix.
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d|index|readme")


def named_instances(
    found: Iterable[Unit], sentences: Iterable[Sentence], parts: Iterable[Table | ReportFigure]
) -> dict[str, set[str]]:
    """Return the named instances by ``id``, first those worst for custom policies, with these."""
    worst: dict[str, set[str]] = {}
    for lines in (unit.standings for unit in found if len(unit.policies)):
        own = lines[lines["method"].map(is_own) & lines["instance"].ne("")]
        for identity, label in zip(own["id"], own["label"], strict=True):
            worst.setdefault(identity, set()).add(label)
    named = [each for sentence in sentences for each in sentence.ids]
    for part in parts:
        if isinstance(part, Table) and any(each.title == WORST_ON for each in part.columns):
            named += part.frame.loc[part.frame["instance"].ne(""), "id"].tolist()
    return worst | {each: set() for each in named if each not in worst}


def page_names(reference: pd.DataFrame, most: int, named: Iterable[str] = ()) -> dict[str, str]:
    """Return the file name of each instance that gets a page, the ``named`` ones first."""
    read = reference[reference["sha"].str.startswith("unread ").eq(False)]
    ordered = read.sort_values(["family", "n", "instance", "sha"])
    pairs = list(zip(ordered["instance"], ordered["sha"], strict=True))
    # Names are given before the cut, so that they do not depend on it.
    names = dict(zip(ordered.index, slugs(pairs), strict=True))
    first = {identity: names[identity] for identity in named if identity in names}
    return dict(list((first | names).items())[:most])


def slugs(names: Sequence[tuple[str, str]]) -> list[str]:
    """Return one file name (without suffix), safe on every system, for each pair of name and hash.

    A plain name stays as it is. Every other one, and every one that two identities share, gets a
    part of the hash of both. So no two pairs share a file, also where case is ignored.
    """
    shared = Counter(name for name, _ in names)
    return [_slug(name, identity, alone=shared[name] == 1) for name, identity in names]


def _slug(name: str, identity: str, *, alone: bool) -> str:
    if alone and _PLAIN.fullmatch(name) and not _RESERVED.fullmatch(name):
        return name
    stem = re.sub(r"[^a-z0-9_]+", "-", name.lower())[:_LONGEST].strip("-_") or "instance"
    mark = hashlib.sha256(f"{name}\0{identity}".encode("utf-8", "replace")).hexdigest()[:12]
    # Two hyphens: a plain name that looks like this one would need the same hash.
    return f"{stem}--{mark}"


def report_pages(
    names: Mapping[str, str],
    results: Results,
    rows: pd.DataFrame,
    store: DocumentStore | None,
    pictures: int,
    named: Mapping[str, Set[str]],
    command: str = "reports.build",
) -> list[InstancePage]:
    """Return the pages of the instances of :func:`page_names`, which are drawn in that order.

    ``rows`` are the shown ones of the results; an instance may have none.  After so many
    ``pictures`` no page gets any more, except that ``named`` instances get their best schedule, and
    the schedules of their policies.  As many instances, the widest gaps first, get their bounds
    over time.  ``command`` draws more.
    """
    reference = results.reference.loc[list(names)]
    lines = PageLines(rows[rows["id"].isin(list(names))], reference)
    # The widest gaps first, missing ones above.
    widest = reference.sort_values(["gap", "n", "instance"], kind="stable").index[::-1]
    made = []
    left = pictures
    about = zip(names.items(), reference.itertuples(index=False, name=None), strict=True)
    for (identity, name), values in count_progress(list(about), "pages of instances made"):
        line = dict(zip(map(str, reference.columns), values, strict=True))
        registered = results.best_known.get(str(line["sha"]), {})
        better = None if line["upper_key"] else registered.get("schedule")
        if store is not None and (left > 0 or (pictures and identity in named)):
            most = MOST_LOSING if left > 0 else 0
            policies = _losing(lines.losing.of(identity), named.get(identity, set()), most)
            drawn = draw_pictures(store, line, policies, better)
            left -= sum(bool(each.svg) for each in drawn)
        elif line["found_key"] or better:
            drawn = [Picture(STORED, f"Not drawn here; {command} --pictures N draws more.")]
        else:
            drawn = [Picture(STORED, "No schedule is stored.")]
        if identity in widest[:pictures]:
            traced = lines.runs.of(identity)
            draw = partial(bounds_figure, traced, line["upper"], line["lower"])
            if (bounds := try_drawing(f"bounds on {name}", draw)) is not None:
                drawn.append(Picture("UB and LB over time", BOUNDS_NOTE, bounds.svg, ".bounds"))
        wrong = [each for each in results.contradictions if each.sha == line["sha"]]
        made.append(make_page(name, identity, line, lines, wrong, registered, drawn))
    return made


def _losing(own: pd.DataFrame, always: Set[str], most: int) -> list[LosingPolicy]:
    """Return the policies that are drawn: some ``always``, with any others all custom ones.

    Published ones fill up to ``most``: the first, the last and those evenly between.
    """
    kept, rest = own[own["label"].isin(always) | (own["custom"] & (most > 0))], own[~own["custom"]]
    count = max(min(len(rest), most - len(kept)), 0)
    places = np.linspace(0, len(rest) - 1, count).round().astype(int)
    lines = pd.concat([kept, rest.iloc[places]]).sort_values("tel", kind="stable")
    return [
        LosingPolicy(label, key, gap(int(tel), int(upper)), seed, seeds)
        for label, key, tel, upper, seed, seeds in lines.drop(columns=["id", "custom"]).to_numpy()
    ]
