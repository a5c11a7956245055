"""Page and figures of exact worst cases."""

from collections.abc import Sequence

from matplotlib.patches import Rectangle

from instances.worst_case_rows import WorstCase, worst_of_each
from papers.worst_cases.exhaustive import POLICIES, left_out
from reports import markdown
from reports.figures.figure_parts import COLOURS, INK, drawing
from reports.markdown import pipe_table

_HEAD = """\
The page ranks policies by their largest TEL over the optimum, among **all** instances of n requests
with memory M, in every order of the requests.  A request is (s, o), or (a, s, o) with arrivals,
with s ≥ 0, o ≥ 1, s + o ≤ M.  Dynamic programming gives the exact optimum.  The ratio is exact for
kvopt's order of ties.  The paper of Sorted-F leaves ties between batches open, and another order
may be worse.

A ratio that is constant in M here may grow at larger M: W Theorem 2.1 shows this for MC-SF.

```sh
python -m papers.worst_cases --run 3,5     # runs all instances of 3 requests and 5 tokens
python -m papers.worst_cases --run 3,3,3   # the same with arrivals from 0 to 3
python -m papers.worst_cases --check       # compares the page with the rows
python solve.py worst_case_svf --policy svf
```

The worst of each policy is in [the library](../../reports/library/README.md), as family
`worst-case`.
"""
_PARTS = (
    ("All arrive at 0", "at_0", "The size is n and M."),
    (
        "With arrivals",
        "arrivals",
        "Arrivals are whole rounds from 0 to the latest, and the first is 0.  The optimum knows "
        "future arrivals, a policy does not.",
    ),
)
_LARGEST_ALPHA = 0.65


def page_text(rows: Sequence[WorstCase]) -> str:
    """Return the page: policies by worst ratio, ratios by size, and policies left out."""
    parts = [_HEAD]
    for place, (title, slug, about) in enumerate(_PARTS):
        of_part = [row for row in rows if (row.latest > 0) == bool(place)]
        ranked = worst_of_each(of_part, arrivals=bool(place))
        parts += [
            f"## {title}\n\n{about}\n",
            pipe_table(["policy", "worst ratio", "memory", "requests"], list(map(_line, ranked))),
            f"![Worst ratios by n and M, a panel a policy: {title.lower()}]({slug}.svg)\n",
            _by_size(of_part, [row.policy for row in ranked]),
        ]
    reasons: dict[str, list[str]] = {}
    for name, reason in left_out().items():
        reasons.setdefault(reason, []).append(f"`{name}`")
    lines = [f"- {', '.join(names)}: {reason}.\n" for reason, names in sorted(reasons.items())]
    count = sum(map(len, reasons.values()))
    parts.append(f"## Left out\n\n{count} of {count + len(POLICIES)} policies:\n")
    return markdown.page_text("Exact worst cases on small instances", [*parts, "".join(lines)])


def _line(row: WorstCase) -> list[str]:
    named = [f"({s}, {o})" if not row.latest else f"({a}, {s}, {o})" for a, s, o in row.requests]
    ratio = f"{float(row.ratio):.4f} = {row.tel}/{row.optimum}"
    return [f"`{row.policy}`", ratio, f"M = {row.memory}", ", ".join(named)]


def _by_size(rows: Sequence[WorstCase], ranked: Sequence[str]) -> str:
    arrivals = any(row.latest for row in rows)
    ratios = {(row.policy, row.size): f"{float(row.ratio):.3f}" for row in rows}
    sizes = sorted({row.size for row in rows})
    lines = [
        [*map(str, size if arrivals else size[:2]), *(ratios[name, size] for name in ranked)]
        for size in sizes
    ]
    heads = ["n", "M", *(["latest"] if arrivals else []), *(f"`{name}`" for name in ranked)]
    return pipe_table(heads, lines)


def figures(rows: Sequence[WorstCase]) -> dict[str, str]:
    """Return the two heat maps as SVG, by the stem of their file."""
    return {
        slug: heat_map([row for row in rows if (row.latest > 0) == bool(place)])
        for place, (_, slug, _) in enumerate(_PARTS)
    }


def heat_map(rows: Sequence[WorstCase]) -> str:
    """Draw each policy's worst ratio over n and M, the best policy first."""
    ranked = worst_of_each(rows, arrivals=bool(rows[0].latest))
    largest = max(float(row.ratio) for row in rows)
    memories = sorted({row.memory for row in rows})
    numbers = sorted({row.n for row in rows})
    with drawing(9.4, 5.2) as made:
        panels = made.figure.subplots(3, -(-len(ranked) // 3), sharex=True, sharey=True)
        for axes, row in zip(panels.flat, ranked, strict=False):
            for each in (each for each in rows if each.policy == row.policy):
                share = (float(each.ratio) - 1) / (largest - 1)
                corner = (each.memory - 0.5, each.n - 0.5)
                alpha = _LARGEST_ALPHA * share
                axes.add_patch(Rectangle(corner, 1, 1, color=COLOURS[1], alpha=alpha, linewidth=0))
                text = f"{float(each.ratio):.2f}"
                axes.text(each.memory, each.n, text, ha="center", va="center", fontsize=7)
            axes.set_title(row.policy, loc="left", fontsize=9)
            axes.set(
                xlim=(memories[0] - 0.5, memories[-1] + 0.5),
                ylim=(numbers[0] - 0.5, numbers[-1] + 0.5),
            )
            axes.set_xticks(memories)
            axes.set_yticks(numbers)
            axes.grid(visible=False)
        for axes in panels.flat[len(ranked) :]:
            axes.set_visible(False)
        made.figure.supxlabel("memory M (tokens)", color=INK, fontsize=10)
        made.figure.supylabel("requests n", color=INK, fontsize=10)
    return made.svg
