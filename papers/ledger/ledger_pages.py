"""Pages of the ledger and the errata as Markdown."""

from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import fill

from papers.ledger.statements import (
    VERDICTS,
    Erratum,
    Paper,
    PaperStatement,
    errata,
    papers,
    statements,
)
from reports.markdown import pipe_table

_INDEX = """\
# The ledger of statements

The ledger has every numbered statement, table and figure of the four
[papers](../../docs/papers.md) that define the problem.  It adds statements of K, A, NSZ and v5 of
J2, and the abstract of F.  Each has a verdict and its evidence.

- **confirmed**, **refuted**: by a proof, or by a computation in integers or fractions.  A refuted
  statement has a smallest counterexample, and the checker judges every schedule in it.
- **not reproduced**: our figures on the stated settings differ.
- **not comparable**: the paper does not state settings that its figures depend on.
- **not run**: nothing is computed here.
- **open**: our computations do not decide it, since no number of instances confirms a statement
  about all.

```sh
python -m papers J1                  # lists the statements of a paper
python -m papers "J1 Theorem 5.3"    # computes one again, --plot FILE draws its schedules
python -m papers --all               # computes all again
python -m papers.ledger --check      # compares the pages and the errata with the rows
```

"""

_ERRATA = """\
# Errata of the papers

The page lists defects in the published texts that we found while implementing them.  Each item has
its place, the printed text, the reason for its failure or the right text, the smallest known
instance, its verdict in the [ledger](../papers/ledger/README.md), and its tests.

- E items are errors of the text.  N items are notes on the assumptions of a stated guarantee.
- Numbers are final.  A wrong item is struck, not removed.  To cite one: "kvopt errata, item E1",
  with the version of [how to cite](citing.md).
- Papers are cited as on [their page](papers.md).  Schedules follow [the convention](problem.md).
- Instances are lists of (a, s, o), or of (s, o) if all arrive at round 0.
- `python -m papers.ledger` makes the page.  A second program that imports nothing of kvopt
  confirms E1 to E16: [errata_alone.py](../papers/tests/errata_alone.py).
"""
_WIDTH = 150


def _counts() -> str:
    """Return the number of statements by paper and verdict."""
    rows = [
        [f"[{paper.letter}]({paper.letter.lower()}.md)"]
        + [str(paper.counts()[verdict]) for verdict in VERDICTS]
        for paper in papers().values()
    ]
    every = Counter(each.verdict for each in statements().values())
    rows.append(["all", *(str(every[verdict]) for verdict in VERDICTS)])
    return pipe_table(["paper", *VERDICTS], rows)


def index_text() -> str:
    """Return the first page of the ledger."""
    refuted = [
        [name, each.states, _links(each.errata, "../../docs/")]
        for name, each in statements().items()
        if each.verdict == "refuted"
    ]
    table = pipe_table(["statement", "states", "erratum"], refuted)
    return f"{_INDEX}{_counts()}\n## Refuted statements\n\n{table}"


def paper_text(paper: Paper) -> str:
    """Return the page of a paper."""
    checked = sum(1 for each in paper.statement if each.check)
    head = (
        f"# {paper.letter}: statements and verdicts\n\n"
        f"`{paper.key}`, arXiv {paper.arxiv}: {paper.version}.  Of {len(paper.statement)} rows "
        f'{checked} have a check, which `python -m papers "{paper.letter} ..."` computes.\n\n'
    )
    rows = [
        [each.id, _states(each), f"**{each.verdict}**", _known(paper, each)]
        for each in paper.statement
    ]
    return head + pipe_table(["statement", "states", "verdict", "evidence"], rows)


def _states(each: PaperStatement) -> str:
    return f"{each.states} *Assumes*: {each.assumes}" if each.assumes else each.states


def _known(paper: Paper, each: PaperStatement) -> str:
    parts = [each.counterexample, each.evidence]
    if each.page:
        parts.append(f"[Its page](../{each.page}.md).")
    if each.errata:
        parts.append(f"Errata {_links(each.errata, '../../docs/')}.")
    parts += [f"`{test}`" for test in each.tests]
    if each.check:
        parts.append(f'`python -m papers "{paper.letter} {each.id}"`')
    return " ".join(part for part in parts if part)


def _links(numbers: Iterable[str], folder: str) -> str:
    return ", ".join(f"[{number}]({folder}errata.md)" for number in numbers)


def errata_text() -> str:
    """Return the page of the errata."""
    return "\n".join([_ERRATA, "\n".join(_item(each) for each in errata().values())])


def _item(item: Erratum) -> str:
    """Return an item: the printed text, its failure, and its statements."""
    about = {name: each for name, each in statements().items() if item.number in each.errata}
    parts: list[tuple[str, str]] = []
    text = item.text
    if item.number.startswith("E") and "**Printed**" not in text:
        said = " ".join(dict.fromkeys(each.states for each in about.values()))
        text = "\n".join([*_bullets([("Printed", said)]), text])
    shown = list(
        dict.fromkeys(each.counterexample for each in about.values() if each.counterexample)
    )
    if shown and item.number.startswith("E"):
        parts.append(("Smallest instance", " ".join(shown).replace("](../../", "](../")))
    verdicts = "; ".join(f"{name} *{each.verdict}*" for name, each in about.items())
    tests = ", ".join(f"`{test}`" for test in item.tests)
    parts.append(("Verdict", f"{verdicts}; **Test**: {tests}"))
    if item.text.startswith("- "):
        return "\n".join([f"## {item.number}. {item.title}\n", text, *_bullets(parts), ""])
    plain = [_filled(f"**{word}**: {said}") for word, said in parts]
    return "\n".join([f"## {item.number}. {item.title}\n", text, "", "\\\n".join(plain), ""])


def _bullets(parts: Sequence[tuple[str, str]]) -> list[str]:
    return [_filled(f"- **{word}**: {said}", "  ") for word, said in parts]


def _filled(text: str, indent: str = "") -> str:
    """Return a text wrapped at blanks."""
    return fill(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
