"""The pages of a report: which instances have one, and what is drawn on each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from reports.figures.bounds import BOUNDS_NOTE, bounds_figure
from reports.figures.style import try_drawing
from reports.pages.instance import InstancePage, make_page
from reports.pages.picture import Documents, Losing, Picture, draw_pictures, no_picture
from reports.parts import Figure
from reports.references import Contradiction
from reports.slugs import slugs
from reports.table import WORST_ON, Table
from reports.verdict import Sentence
from schedules.gap import gaps
from support.progress import telling

#: Policies of one page whose schedules are drawn below the best one.
MOST_LOSING = 6


def named_instances(
    sentences: Iterable[Sentence], parts: Iterable[Table | Figure]
) -> tuple[str, ...]:
    """Return the ``id`` of the instances that a reader is pointed to, in the order of the page.

    Those that a sentence of the verdict names, and those of the columns ``WORST_ON``.
    """
    named = [each for sentence in sentences for each in sentence.ids]
    for part in parts:
        if isinstance(part, Table) and any(each.title == WORST_ON for each in part.columns):
            named += part.frame.loc[part.frame["instance"].ne(""), "id"].tolist()
    return tuple(dict.fromkeys(named))


def page_names(reference: pd.DataFrame, most: int, named: Sequence[str] = ()) -> dict[str, str]:
    """Return the file name of each instance that gets a page, in the order of their pictures.

    First come those that are ``named``, then the others by family, size and name.
    """
    read = reference[reference["sha"].str.startswith("unread ").eq(False)]
    ordered = read.sort_values(["family", "n", "instance", "sha"])
    pairs = list(zip(ordered["instance"], ordered["sha"], strict=True))
    # Names are given before the cut, so that they do not depend on it.
    names = dict(zip(ordered.index, slugs(pairs), strict=True))
    first = {identity: names[identity] for identity in named if identity in names}
    return dict(list((first | names).items())[:most])


def report_pages(
    names: Mapping[str, str],
    reference: pd.DataFrame,
    rows: pd.DataFrame,
    wrong: Sequence[Contradiction],
    best_known: Mapping[str, Mapping[str, Any]],
    store: Documents | None,
    pictures: int,
    command: str = "reports.build",
    named: Set[str] = frozenset(),
) -> list[InstancePage]:
    """Return the pages of some instances.

    Parameters
    ----------
    names
        From :func:`page_names`, in the order in which pictures are drawn.
    rows
        From :func:`reports.rows.prepare`; an instance may have none.
    pictures
        After how many pictures of schedules no page gets any more; as many instances, those with
        the widest gap first, get one of their bounds over time.
    command
        What draws more of them.
    named
        From :func:`named_instances`: each gets its best schedule, if pictures are wanted at all.
    """
    shown = rows[rows["id"].isin(list(names))].join(reference[["opt"]], on="id")
    shown["gap_opt"] = gaps(shown["tel"], shown["opt"].where(~shown["unbounded"]))
    groups = dict(list(shown.groupby("id", sort=False)))
    followed = _followed(reference.loc[list(names)], pictures)
    made = []
    left = pictures
    for identity, name in telling(names.items(), "pages of instances made"):
        line: dict[str, Any] = {str(k): v for k, v in reference.loc[identity].items()}
        runs = groups.get(identity, shown.iloc[:0])
        key, told = str(line["found_key"]), best_known.get(str(line["sha"]), {})
        better = None if line["upper_key"] else told.get("schedule")
        if store is not None and (left > 0 or (pictures and identity in named)):
            policies = losing(runs, line["upper"]) if left > 0 else []
            drawn = draw_pictures(store, line, policies, better)
            left -= sum(bool(each.svg) for each in drawn)
        elif key or better:
            drawn = [no_picture(f"Not drawn here; {command} --pictures N draws more.")]
        else:
            drawn = [no_picture("No schedule is stored.")]
        draw = partial(bounds_figure, runs, line["upper"], line["lower"])
        bounds = try_drawing(f"bounds on {name}", draw) if identity in followed else None
        if bounds is not None:
            drawn.append(Picture("UB and LB over time", BOUNDS_NOTE, bounds.svg, ".bounds"))
        of_it = [each for each in wrong if each.sha == line["sha"]]
        made.append(make_page(name, line, runs, of_it, told, drawn))
    return made


def losing(runs: pd.DataFrame, upper: Any) -> list[Losing]:
    """Return the policies that UB betters, the best first, at most so many.

    Those that keep tokens, as vLLM's scheduler, are among them with their mark.

    Of several runs of a policy the best counts, of policies with one TEL the first by name; of
    more than ``MOST_LOSING`` the first, the last and those evenly between are taken.
    """
    own = runs[~runs["engine"] & ~runs["superseded"]]
    own = own[own["tel"].gt(upper).fillna(False)] if pd.notna(upper) else own.iloc[:0]
    own = own.sort_values(["tel", "label", "key"]).drop_duplicates("label").drop_duplicates("tel")
    places = np.linspace(0, len(own) - 1, min(len(own), MOST_LOSING)).round().astype(int)
    lines = own.iloc[places]
    return [
        Losing(label, key, (int(tel) - int(upper)) / int(tel))
        for label, key, tel in zip(lines["label"], lines["key"], lines["tel"], strict=True)
    ]


def _followed(reference: pd.DataFrame, most: int) -> set[str]:
    """Return the instances whose bounds are drawn over time: open ones first, by their gap."""
    open_gap = gaps(reference["upper"], reference["lower"]).astype(float).fillna(1.0)
    order = reference.assign(_gap=open_gap).sort_values(["_gap", "n", "instance"], kind="stable")
    return set(order.index[::-1][:most])
