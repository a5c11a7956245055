"""Methods as text: every spelling of one has one canonical text; what is none is named."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvopt.methods.custom_python import OwnMethodError, load_own
from kvopt.methods.grammar import MethodError, method_of_document, read_method, read_methods
from kvopt.methods.method_names import shown_method
from kvopt.methods.syntax import MethodCall, MethodText, file_text, parse_method, split_methods
from kvopt.suites import SuiteSection
from kvopt.suites.instance_sources import draw_source
from kvopt.sweeps.plan import plan
from tests.kvopt.conftest import Command
from tests.kvopt.sweep_tools import Patch

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a,b(x=1,y=2)", ["a", "b(x=1,y=2)"]),
        (" a , b ,", ["a", "b"]),
        ("file:./mine,svf,file:my_policy.py", ["file:./mine", "svf", "file:my_policy.py"]),
        ('FILE : "x,y(1).py" ( how="a,b" ),svf', ['FILE : "x,y(1).py" ( how="a,b" )', "svf"]),
        ("file:a b.py(beta=0..2 step 0.5) WITH exact", None),
        ("cpsat:cpsat-strong(groups=no,differences=no)", None),
    ],
)
def test_commas_inside_brackets_and_quotes_split_nothing(
    text: str, pieces: list[str] | None
) -> None:
    """All others do, whatever stands before and after them."""
    expected = [text, "svf"] if pieces is None else pieces
    assert split_methods(f"{text},svf" if pieces is None else text) == expected


@pytest.mark.parametrize(
    "text", ["a(b,c", "a)b,c", 'file:"a.py', "svf mc-sf", 'file:a"b.py', "a(b=(c))"]
)
def test_what_is_unbalanced_is_one_line(text: str) -> None:
    """It is no method of another text."""
    with pytest.raises(MethodError, match=r"^'.*': expected .*, found .*; a method is NAME"):
        split_methods(text)


_WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]) | st.sampled_from('",()= '))
_NAMES = st.from_regex("[A-Za-z0-9_.+-]+", fullmatch=True).filter(lambda name: name != "file")
_KEYS = st.just("") | _NAMES
_ARGUMENTS = st.none() | st.lists(st.tuples(_KEYS, _WORDS), min_size=1).map(tuple)
_TEXTS = st.builds(
    MethodText,
    path=(_WORDS | st.sampled_from(["a with b.py", '"', "C:\\x.py"])).filter(bool),
    arguments=_ARGUMENTS,
    prediction=st.none() | st.builds(MethodCall, _NAMES, _ARGUMENTS),
) | st.builds(MethodText, name=_NAMES, formulation=st.none() | _NAMES, arguments=_ARGUMENTS)


@given(st.lists(_TEXTS))
def test_what_is_written_is_parsed(methods: list[MethodText]) -> None:
    """Whatever characters paths and values have, alone and among others."""
    texts = [str(each) for each in methods]
    assert split_methods(",".join(texts)) == texts
    assert [parse_method(text) for text in texts] == methods


@given(st.text(st.sampled_from('ab ,()"=:') | st.characters()))
def test_a_text_is_parsed_as_it_is_written_or_refused(text: str) -> None:
    """What is parsed has one canonical text."""
    try:
        parsed = parse_method(text)
    except MethodError:
        return
    assert str(parse_method(str(parsed))) == str(parsed)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" svf ", "svf"),
        ("cpsat:cpsat-strong( groups = no )", "cpsat:cpsat-strong(groups=no)"),
        # Defaults are left out, positions are spelled.
        ("alpha-beta(alpha=0.2,beta=0.1)", "alpha-beta(beta=0.1)"),
        ("a-min with interval(1,1000)", "a-min with interval"),
        ("a-min with interval(2,500)", "a-min with interval(low=2,high=500)"),
        # Case does not count, nor does _ for -, nor do blanks.
        ("SVF", "svf"),
        ("Mc_Sf", "mc-sf"),
        ("HiGHS : ILP_sparse ( Groups = YES )", "highs:ilp-sparse(groups=yes)"),
        ("A-min( Ties = Permutation )with Interval( 2 , 5 )", None),
        ("alpha-beta( beta = .1 )", "alpha-beta(beta=0.1)"),
        # No digit is lost, and none is added.
        ("a-min with interval(1,1234567)", "a-min with interval(high=1234567)"),
        ("alpha-beta(alpha=0.123456789)", "alpha-beta(alpha=0.123456789)"),
        ("local-search(moves=1000000)", "local-search(moves=1e+06)"),
        ("alpha-beta(alpha=-0)", "alpha-beta(alpha=0)"),
    ],
)
def test_canonical_text(text: str, canonical: str | None) -> None:
    """The canonical text is a fixed point, so rows of one method share one name."""
    canonical = canonical or "a-min(ties=permutation) with interval(low=2,high=5)"
    assert read_method(text).text == canonical
    assert read_method(canonical).text == canonical


def test_a_file_has_one_name(tmp_path: Path, monkeypatch: Patch) -> None:
    """However the path is spelled and wherever the command is called from."""
    path = tmp_path / "mine.py"
    path.write_text("def solve(instance): ...")
    monkeypatch.chdir(tmp_path)
    texts = ["file:mine.py", f"file:{path}", f"file:{tmp_path}/../{tmp_path.name}/mine.py"]
    texts += ["FILE:mine.py", "File : mine.py"]
    assert {read_method(text).text for text in texts} == {"file:mine.py"}
    (method,) = read_methods([",".join(texts)])
    assert (method.text, method.path, method.task_path) == ("file:mine.py", path, str(path))
    monkeypatch.chdir("/")
    assert method_of_document(method.document()) == method
    inside = read_method("file:tests/kvopt/bad_methods/segfault.py")
    assert inside.text == "file:tests/kvopt/bad_methods/segfault.py"
    assert inside.task_path == ""


@pytest.mark.parametrize(
    "name", ["a, b(1).py", "a with b.py", '"quoted" it\'s.py', "sp ace", "x=1.py"]
)
def test_odd_names_of_files_go_in_quotes(name: str, tmp_path: Path) -> None:
    """The canonical text reads as itself; tables show the name without quotes."""
    path = tmp_path / name
    python = name.endswith(".py")
    path.write_text("def solve(instance, how='a'): ..." if python else "#!/bin/sh\n")
    path.chmod(0o755)
    call = '(how="b, c")' if python else ""
    text = file_text(str(path)) + call
    (method, other) = read_methods([f"{text},svf"])
    assert (method.path, other.text) == (path, "svf")
    assert method.text == file_text(name) + call
    assert method_of_document(method.document()) == method
    assert parse_method(read_method(method.text, planned=True).text).path == name
    shown = shown_method(method.text, "mine")
    assert shown == (f"mine{call} [{name}]" if call else "mine [program]")


def test_two_files_of_one_name(tmp_path: Path) -> None:
    """In one command they are refused, in two their runs have keys of their own."""
    paths = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "mine.py")
        paths[-1].write_text(f"def solve(instance): return {folder!r}")
    told = r"file:mine\.py is two files, .*a/mine\.py and .*b/mine\.py"
    with pytest.raises(MethodError, match=told):
        read_methods([f"file:{path}" for path in paths])
    source = (draw_source("am1", 0, {"n": 3}),)
    sections = [SuiteSection(p.parent.name, source, (read_method(f"file:{p}"),)) for p in paths]
    with pytest.raises(MethodError, match=r"file:mine\.py is two files"):
        plan(sections)
    tasks = [*plan(sections[:1]), *plan(sections[1:])]
    assert [task.method.text for task in tasks] == ["file:mine.py"] * 2
    assert [task.method.path for task in tasks] == paths
    assert tasks[0].key != tasks[1].key
    moved = replace(tasks[0], method=replace(tasks[0].method, path=Path("/elsewhere/mine.py")))
    assert moved.key == tasks[0].key


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("svg", "unknown method 'svg'; did you mean svf"),
        ("opener", "unknown method 'opener', expected auto, bound, cpsat, highs, improve"),
        ("", "expected a name, found nothing"),
        ("a(b", "expected the end, found '(b'; a method is NAME[:FORMULATION]"),
        ("ilp-sparse", "it is a formulation; did you mean highs:ilp-sparse?"),
        ("svf:ilp", "svf is a policy: it takes no formulation"),
        ("svf with interval(1,10)", "svf knows the outputs: it takes no prediction"),
        ("alpha-beta with interval(1,40)", "uses nothing of the outputs: it takes no prediction"),
        ("a-min with interval(1000,1)", "expected low <= high, found 1000 and 1"),
        ("auto:ilp", "auto takes no formulation, found 'ilp'"),
        ("highs(groups=yes)", "highs: options go with a formulation, as in highs:ilp"),
        ("alpha-beta(alpha=1_0)", "expected alpha as a number from 0 to 0.999, found '1_0'"),
        ("vllm-v1(block=1.5)", "expected block as an integer from 0 to 4096"),
        ("a-min with magic", "unknown prediction 'magic'"),
        ("highs:nothing", "unknown formulation 'nothing'"),
        ("cpsat:ilp", "cpsat cannot solve 'ilp', it takes cpsat"),
        ("cpsat:cpsat(separation=no)x", "expected the end, found 'x'"),
        ("bound:bound-lp(groups=no)", "bound-lp takes no options, found 'groups'"),
        ("cpsat:cpsat(separation=1)", "expected separation as yes or no, found '1'"),
        ("cpsat:cpsat(separation=no,separation=no)", "separation occurs twice"),
        ("bound:bound-patterns(knots=4294967296)", "expected knots as an integer from 0"),
        ("baron", "not installed"),
        ("file:README.md", "expected a Python file"),
        ("mine.py(beta=2)", "unknown method 'mine.py(beta=2)'; did you mean file:mine.py(beta=2)?"),
    ],
)
def test_what_is_no_method(text: str, reason: str) -> None:
    """The one line names what there is."""
    with pytest.raises(MethodError, match=rf"\A.*{re.escape(reason)}.*\Z"):
        read_method(text)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("x = 1", r"mine.py: expected a function solve\(instance\) or a POLICY, found neither"),
        ("POLICY = 3", "expected POLICY as a Policy, found 3"),
        ("solve = 3", "expected solve as a function, found 3"),
        ("def solve(instance, magic): ...", "it asks for magic"),
        ("x = 1\ny = 1 / 0", r"mine.py:2: ZeroDivisionError"),
        ("import sys\nsys.exit(3)", r"mine.py:2: SystemExit: 3"),
    ],
)
def test_a_file_that_is_no_method(tmp_path: Path, source: str, reason: str) -> None:
    """It is told what a method looks like."""
    path = tmp_path / "mine.py"
    path.write_text(source)
    with pytest.raises(OwnMethodError, match=reason):
        load_own(path)


TYPOS = [
    ("sfv", "svf"),
    ("mcsf", "mc-sf"),
    ("aut", "auto"),
    ("gurobbi", "gurobi"),
    ("vllm", "vllm-v1"),
    ("A-MNI", "a-min"),
    ("highs:ilp-sprase", "ilp-sparse"),
    ("highs:ilp(gruops=yes)", "groups"),
    ("cpsat:cpsat(separation=yse)", "yes"),
    ("alpha-beta(aplha=0.1)", "alpha"),
    ("a-min(ties=frehs)", "fresh"),
    ("a-min with intervall", "interval"),
    ("a-min with noise(sgima=1)", "sigma"),
]


@pytest.mark.parametrize(("typo", "meant"), TYPOS)
def test_a_typo_is_told_what_was_meant(typo: str, meant: str) -> None:
    """Swapped, lost and doubled letters, of methods and of every part of one."""
    with pytest.raises(MethodError) as error:
        read_method(typo)
    told = str(error.value).partition("did you mean ")[2].rstrip("?").split(", ")
    assert meant in told
    assert len(told) <= 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--policy", "svvf"], "unknown policy 'svvf'; did you mean svf"),
        (["--policy", "highs"], "unknown policy 'highs', it is a solver"),
        (["--solver", "svf"], "unknown solver 'svf', it is a policy"),
        (["--solver", "true"], "unknown solver 'true', expected auto, bound, cpsat"),
        (["--solver", "highs:ilp"], "--solver highs:ilp: expected a solver's name"),
        (["--predict", "exact"], "--predict goes with --policy"),
        (["--method", "highs", "--formulation", "ilp"], "--method says all"),
        (["--method", "svf", "--policy", "svf"], "not allowed with --method"),
    ],
)
def test_solve_refuses_in_one_line(
    arguments: list[str], told: str, small: Path, solve: Command
) -> None:
    """Exit 2, one line on standard error, and nothing has been run."""
    result = solve(small, *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("solve.py: ")
    assert told in line
