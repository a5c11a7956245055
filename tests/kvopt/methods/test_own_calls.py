"""A file of one's own takes parameters and predictions, is shown by its name and told of."""

import re
import sys
import time
from pathlib import Path

import pytest

import kvopt
from heuristics.policy_registry import policies
from instances import Instance, Request, write_instance
from kvopt.commands.evaluate import main as evaluate
from kvopt.commands.solve import main as solve
from kvopt.methods import custom_declaration
from kvopt.methods.engine_table import named_engines
from kvopt.methods.grammar import MethodError, method_of_document, read_method, read_methods
from kvopt.methods.knowledge import WORDS, Knowledge, knowledge, knowledge_of
from kvopt.methods.method_names import only_bounds, shown_method
from kvopt.methods.syntax import split_methods
from kvopt.runs.execute import execute
from kvopt.runs.task import Task
from kvopt.store.row_files import read_rows
from kvopt.suites import SuiteSection
from kvopt.suites.instance_sources import InstanceSource
from kvopt.sweeps.plan import plan
from tests.kvopt.sweep_tools import Capture, Patch

#: M = 4, s = 1, o = 2 and 3: they do not fit together.  The shorter first 2 + 5, else 3 + 5.
TWO = Instance("two", 4, (Request(0, 0, 1, 2), Request(1, 0, 1, 3)))
POLICY = """\
import sys
from tests.kvopt.sweep_tools import Capture, Patch
from heuristics.policy import Choice, ListPolicy, Parameter

print("this is no answer")

def rank(known):
    assert known.upper.max() >= 3
    assert "{name}" != "blind" or [*known.lower, *known.upper] == [1, 1, 3, 3]
    return (known.values["sign"] * (known.upper if {known} else known.prompts + known.arrivals),)

POLICY = ListPolicy(
    "{name}",
    rank=rank,
    clairvoyant={clairvoyant},
    blind={blind},
    parameters=(
        Parameter("sign", 1, -1, 1, "which first", integer=True),
        Choice("mood", ("good", "bad"), "nothing"),
    ),
)
"""
SOLVE = """\
def solve(instance, report, *, first=0, how="plain", loud=False, seed=3, nothing=None):
    report("note", text=f"{first!r} {how!r} {loud!r} {nothing!r}")
    return [0, 2] if first == 0 else [3, 0]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Patch) -> Path:
    """Files of one's own in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("knows", "guesses", "blind"):
        told = {
            "clairvoyant": name != "guesses",
            "blind": name == "blind",
            "known": name != "blind",
        }
        (tmp_path / f"{name}.py").write_text(POLICY.format(name=name, **told), encoding="utf-8")
    (tmp_path / "mine.py").write_text(SOLVE, encoding="utf-8")
    (tmp_path / "plain.py").write_text("def solve(instance):\n    return [0, 2]\n")
    advised = 'POLICY = AdvisedPolicy("advised", order=lambda known, starts: starts.argsort())\n'
    text = f"from heuristics.policy import AdvisedPolicy\n{advised}"
    (tmp_path / "advised.py").write_text(text, encoding="utf-8")
    (tmp_path / "broken.py").write_text("x = 1 / 0\n")
    write_instance(TWO, tmp_path / "two.json")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "canonical", "declared"),
    [
        ("file:knows.py", "file:knows.py", Knowledge("outputs")),
        ("file:knows.py( SIGN = -1 )", "file:knows.py(sign=-1)", Knowledge("outputs")),
        ("file:knows.py(sign=1,mood=good)", "file:knows.py", Knowledge("outputs")),
        ("file:guesses.py", "file:guesses.py", Knowledge("file")),
        (
            "file:guesses.py(-1,bad)with Interval( 1, 40 )",
            "file:guesses.py(sign=-1,mood=bad) with interval(high=40)",
            Knowledge("intervals"),
        ),
        ("file:blind.py", "file:blind.py", Knowledge("nothing")),
        # A relaxation has the true outputs of all requests.
        ("file:advised.py", "file:advised.py", Knowledge("outputs", offline=True)),
        ("file:mine.py(first=1.0)", "file:mine.py(first=1)", Knowledge("outputs", offline=True)),
        ("file:mine.py(loud=YES)", "file:mine.py(loud=yes)", Knowledge("outputs", offline=True)),
        ("file:plain.py", "file:plain.py", Knowledge("outputs", offline=True)),
        ("file:broken.py", "file:broken.py", Knowledge("unknown")),
    ],
)
def test_one_text(text: str, canonical: str, declared: Knowledge) -> None:
    """The canonical text reads as itself; the declaration is known before the run."""
    (method,) = read_methods([text])
    assert method.text == canonical
    assert read_method(canonical) == method
    assert method_of_document(method.document()) == method
    assert split_methods(f"svf,{canonical},a-min") == ["svf", canonical, "a-min"]
    assert knowledge_of(method) == declared
    # A row's text is read where the file may not be.
    assert read_method(canonical, planned=True).kind == "file"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("file:knows.py(sgn=1)", "takes sign, mood, found 'sgn'; did you mean sign?"),
        ("file:knows.py(sign=2)", "expected sign as an integer from -1 to 1, found '2'"),
        ("file:knows.py with interval", "knows the outputs: it takes no prediction"),
        ("file:mine.py with interval", "solve is given the outputs: it takes no prediction"),
        ("file:mine.py(seed=1)", "takes first, how, loud, found 'seed'"),
        ("file:mine.py(first=1e99)", "expected first as a number"),
        ("file:mine.py(how=)", "expected how as a text"),
        ("file:plain.py(beta=1)", "takes no options, found 'beta'"),
        ("file:broken.py(beta=1)", "its parameters are not known: broken.py:1: ZeroDivisionError"),
    ],
)
def test_what_is_refused_before_anything_runs(text: str, reason: str, capsys: Capture) -> None:
    """One line, exit code 2, in a command as in the library."""
    with pytest.raises(MethodError, match=re.escape(reason)):
        read_method(text)
    assert solve(["two.json", "--method", text]) == 2
    assert evaluate(["two.json", "--methods", text]) == 2
    told_lines = capsys.readouterr()
    assert told_lines.out == ""
    assert [reason in line for line in told_lines.err.splitlines()] == [True, True]


@pytest.mark.usefixtures("folder")
def test_what_is_given_arrives() -> None:
    """A policy's parameters and prediction, and a function's: as numbers, texts, truth values."""
    texts = ["file:knows.py", "file:knows.py(sign=-1)", "file:guesses.py with interval(1,9)"]
    assert [kvopt.solve(TWO, text).tel for text in (*texts, "file:blind.py")] == [7, 8, 7, 7]
    result = kvopt.solve(TWO, "file:mine.py(first=1,how=so so,loud=yes)")
    assert (result.tel, result.notes[-1]) == (8, "1 'so so' True None")


@pytest.mark.usefixtures("folder")
def test_seeds_are_for_what_draws() -> None:
    """``solve`` draws if it asks for a seed, a policy if it says so or its prediction does."""
    names = ("mine", "plain", "guesses", "broken")
    drawn = [read_method(f"file:{name}.py").seeded for name in names]
    assert drawn == [True, False, False, True]
    assert read_method("file:guesses.py with rank").seeded


@pytest.mark.slow("waits")
def test_a_file_that_cannot_be_asked_is_a_row(folder: Path, monkeypatch: Patch) -> None:
    """It is no end of a sweep: one that fails when imported, and one that takes too long."""
    monkeypatch.setattr(custom_declaration, "ASK_SECONDS", 1.0)
    slow = folder / "slow.py"
    slow.write_text("import time\ntime.sleep(3)\ndef solve(instance, first=0): return [0, 2]\n")
    broken, late = read_methods(["file:broken.py", "file:slow.py"])
    assert (broken.own, late.own) == (None, None)
    row = execute(Task(TWO, "two", broken, time_limit=20)).record
    assert (row.status, row.told) == ("error", "")
    assert "ZeroDivisionError" in row.detail
    assert execute(Task(TWO, "two", late, time_limit=20)).record.tel == 7
    with pytest.raises(MethodError, match="importing it takes more than 1 s"):
        read_method("file:slow.py(first=1)")


LIAR = """\
import sys
from dataclasses import replace
from heuristics.policy_registry import policies

DECLARED = "kvopt.methods.declaration_process" in sys.modules
POLICY = replace(policies()["mc-sf"], clairvoyant=not DECLARED)
"""


def test_what_declares_something_else_when_it_runs_is_caught(tmp_path: Path) -> None:
    """It says that it takes intervals, and would then see the outputs."""
    (tmp_path / "two_faced.py").write_text(LIAR)
    method = read_method(f"file:{tmp_path / 'two_faced.py'} with interval(1,40)")
    record = execute(Task(TWO, TWO.name, method, time_limit=10)).record
    assert (record.status, record.tel) == ("error", None)
    assert "declares something else" in record.detail


@pytest.mark.parametrize(
    "answer",
    [
        '{"name": ["a"], "is_policy": "yes", "parameters": [], "clairvoyant": {"a": 1}}',
        '{"name": "n", "is_policy": false, "parameters": [{"kind": "Keyword", "name": "beta", '
        '"default": [1]}]}',
        "[" * 100_000,
        "7",
    ],
)
def test_an_answer_of_the_files_own_is_none(answer: str, tmp_path: Path) -> None:
    """What it writes in place of ours, in every file that is open, is one line, never a fault."""
    path = tmp_path / "own.py"
    event = f'{{"kind": "answer", "document": {answer}}}\n'
    path.write_text(
        "import os, sys\n"
        "if 'kvopt.methods.declaration_process' in sys.modules:\n"
        "    for place in range(1, 30):\n"
        "        try:\n"
        f"            os.write(place, {event!r}.encode())\n"
        "        except OSError:\n"
        "            pass\n"
        "    os._exit(0)\n"
        "def solve(instance, beta=1):\n    return [0] * len(instance)\n"
    )
    with pytest.raises(MethodError, match=r"own\.py: the process that imports it ends"):
        read_method(f"file:{path}(beta=2)")


@pytest.mark.slow("waits")
def test_asking_leaves_nothing_behind(folder: Path, monkeypatch: Patch) -> None:
    """What the file starts when it is imported ends with the answer; nothing is imported here."""
    # Other tests of this process may have loaded one.
    monkeypatch.delitem(sys.modules, "_own_method", raising=False)
    mark = folder / "mark"
    code = f"import time; time.sleep(3); open({str(mark)!r}, 'w')"
    (folder / "forks.py").write_text(
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {code!r}], start_new_session=True)\n"
        "def solve(instance, beta=1): return [0, 2]\n"
    )
    assert read_method("file:forks.py(beta=2)").text == "file:forks.py(beta=2)"
    assert "_own_method" not in sys.modules
    time.sleep(4)
    assert not mark.exists()


@pytest.mark.slow("waits")
def test_two_calls_of_one_file_side_by_side(folder: Path) -> None:
    """By --methods and in a suite; rows say who it is and what it was told, and so do labels."""
    # Told 1 to 9 of both, the policy takes the first; told the outputs, by the other sign, 3 first.
    texts = ["file:guesses.py(sign=-1)", "file:guesses.py(sign=-1) with interval(1,9)"]
    texts.append("file:mine.py")
    assert evaluate(["two.json", "--methods", ",".join(texts), "--store", "a.sqlite"]) == 0
    (folder / "one.toml").write_text(
        'summary = "one"\n[[section]]\nname = "one"\ninstances = ["./two.json"]\n'
        f"methods = {texts}\n"
    )
    assert evaluate(["one.toml", "--store", "b.sqlite"]) == 0
    for name in ("a.sqlite", "b.sqlite"):
        rows = read_rows(folder / name).set_index("method").sort_index()
        assert rows["own_name"].tolist() == ["guesses", "guesses", "mine"]
        told = [WORDS["exact"], WORDS["intervals"], f"{WORDS['outputs']}, offline"]
        assert (rows["told"].tolist(), rows["tel"].tolist()) == (told, [8, 7, 7])
        shown = [shown_method(each, rows.loc[each, "own_name"]) for each in rows.index]
        assert shown == ["guesses(sign=-1)", "guesses(sign=-1) with interval(1,9)", "mine"]


def test_words_and_what_they_mean() -> None:
    """What a row says is read as it was written; a file whose row says nothing is not declared."""
    for lengths in ("outputs", "exact", "file", "intervals", "nothing"):
        for offline in (False, True):
            each = Knowledge(lengths, offline)
            assert knowledge("file:x.py(beta=2)", str(each)) == each
            # Of what the project has, the text itself says it.
            assert knowledge("svf", str(each)) == Knowledge("outputs")
    assert knowledge("file:x.py", "") == knowledge("file:x.py", "<b>") == Knowledge("unknown")


def test_groups() -> None:
    """``policies`` and ``solvers`` are all of them, beside others, each once."""
    assert [each.text for each in read_methods(["solvers"])] == list(named_engines())
    found = [each.text for each in read_methods(["svf,Policies with interval(1,50),auto"])]
    assert (found[0], found[-1]) == ("svf", "auto")
    assert "a-min with interval(high=50)" in found
    assert len(found) == len(policies()) + 1
    with pytest.raises(MethodError):
        read_methods(["solvers with interval"])


@pytest.mark.slow("walks")
def test_a_group_leaves_out_what_does_not_apply() -> None:
    """In seconds: solvers of models in rounds, and policies advised by a relaxation in rounds."""
    late = Instance("late", 9, (Request(0, 0.0, 1, 2), Request(1, 0.5, 1, 3)), time_unit="second")
    sources = (InstanceSource("late", lambda: (late, None)),)
    tasks = plan([SuiteSection("", sources, read_methods(["policies,solvers"]))])
    texts = {task.method.text for task in tasks}
    assert {"svf", "auto", "bound"} <= texts
    assert not {"highs", "cpsat", "search", "sorted-lp"} & texts
    assert not [task.fault for task in tasks if task.fault]
    named = plan([SuiteSection("", sources, read_methods(["highs"]))])
    assert "solves models in rounds" in named[0].fault


def test_what_a_method_knows() -> None:
    """Of outputs and arrivals: what the policy declares, and what it is called with."""
    assert knowledge("local-search") == Knowledge("outputs", offline=True)
    told = {"svf": "outputs", "a-min": "file", "a-min with exact": "exact", "cpsat": "unknown"}
    told |= {"a-min with deciles": "deciles", "alpha-beta(alpha=0.2)": "nothing"}
    told |= {"<script>": "unknown"}
    assert {text: knowledge(text) for text in told} == {k: Knowledge(v) for k, v in told.items()}  # type: ignore[arg-type]
    for upper, lengths in ((2, "exact"), (3, "intervals")):
        one = Instance("one", 9, (Request(0, 0, 0, 2, 2, upper),))
        assert knowledge("a-min").on(one).lengths == lengths


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        # A prediction's values are written out; whatever is none of ours stays as it is.
        ("a-min with interval", "", "a-min with interval(1,1000)"),
        ("a-min(ties=permutation) with bins(width=9)", "", "a-min(ties=permutation) with bins(9)"),
        ("a-min with exact", "", "a-min with exact"),
        ("no method with interval", "", "no method with interval"),
        ("file:mine.py(beta=2)", "mine", "mine(beta=2)"),
        ("file:age_density.py with bins(width=5)", "age-density", "age-density with bins(5)"),
        ("file:a/mine.py", "mine", "mine [a/mine.py]"),
        # Two files could claim the name, and a published policy has it.
        ("file:age-density.py", "age-density", "age-density [age-density.py]"),
        ("file:svf.py(beta=2)", "svf", "svf(beta=2) [svf.py]"),
        ("file:mine", "mine", "mine [program]"),
    ],
)
def test_how_a_method_is_shown(text: str, name: str, expected: str) -> None:
    """A file stands behind a name that is not its own, so that no two methods have one label."""
    assert shown_method(text, name) == expected


def test_what_only_bounds() -> None:
    """Formulations that bound and relaxations have no schedule of their own."""
    texts = ["bound", "bound:bound-lp", "highs:ilp(relaxed=yes)", "highs:ilp", "auto", "svf", ""]
    assert [only_bounds(each) for each in texts] == [True] * 3 + [False] * 4
