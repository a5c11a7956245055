"""Solution files of solvers from outside: each format becomes its schedule."""

import gzip
import subprocess
from pathlib import Path

import pytest

import kvopt.commands.read_solution
import kvopt.commands.solve
from instances import Instance, Request, write_instance
from instances.instance_files import read_instance
from instances.instance_names import find_instance
from kvopt.commands.read_solution import main
from kvopt.registry_lookup import find_registered
from kvopt.solution_file import name_of_model
from schedules import read_schedule
from tests.commands import run_command
from tests.kvopt.sweep_tools import in_fork

#: M = 6, s = 1, o = (1, 3): at time 3 request 1 holds 4 tokens, beside it request 0 holds 2.
PAIR = Instance("pair", 6, (Request(7, 0, 1, 1), Request(3, 0, 1, 3)))
MODEL = (
    f"* Source: Pyomo\nNAME {name_of_model('ilp', PAIR)}\nROWS\n N  tel\n E  once\nCOLUMNS\n"
    "     x(0_0) once 1\n     x(0_2) tel 2\n     x(0_2) once 1\n     x(1_0) once 1\n"
    "RHS\n     RHS once 1\n"
)

#: Request 0 starts at round 2, request 1 at round 0, as each solver writes it.
FORMATS = {
    "gurobi": "# Solution for model x(1_1) 1\n# Objective value = 6\n"
    "x(0_0) 0\nx(0_2) 1\nx(1_0) 9.9999999e-01\nx(1_1) 1e-09\ny(0_1) 1\n",
    "scip": "solution status: optimal solution found\nobjective value:            6\n"
    "x(0_2)                   1 \t(obj:2)\nx(1_0)                   1 \t(obj:0)\n",
    "cbc": "Optimal - objective value 6.00000000\n"
    "      2 x(0_2)                 1                       2\n"
    "**    3 x(1_0)                 1                       0\n",
    "highs": "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 6\n"
    "# Columns 3\nx(0_0) 0\nx(0_2) 1\nx(1_0) 1\n# Rows 1\nc_e_start_once(0)_ 1\n\n"
    "# Dual solution values\nFeasible\n# Columns 3\nx(0_0) 2\nx(0_2) 0\nx(1_0) 0\n",
    "highs pretty": "Columns\n    Index Status  Lower  Upper  Primal  Dual  Type     Name\n"
    "        0             0      1       0        Integer  x(0_0)\n"
    "        1     LB      0      1       1  0.25  Integer  x(0_2)\n"
    "        2             0    inf       1        Integer  x(1_0)\nRows\n",
    "glpk": "   No. Column name       Activity     Lower bound   Upper bound\n"
    "     1 x(0_0)       *              0             0             1\n"
    "     2 x(0_2)\n                    *              1             0             1\n"
    "     3 x(1_0)       NU             1             0             1      0.2857\n",
    "cplex": '<?xml version = "1.0"?>\n<CPLEXSolution>\n <variables>\n'
    '  <variable name="x(0_0)" index="0" value="0"/>\n'
    '  <variable name="x(0_2)" index="1" value="1"/>\n'
    '  <variable name="x(1_0)" index="2" value="1"/>\n </variables>\n</CPLEXSolution>\n',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the instance and a model of it."""
    write_instance(PAIR, tmp_path / "pair.json")
    (tmp_path / "model.mps").write_text(MODEL)
    return tmp_path


def _read(folder: Path, *more: object) -> subprocess.CompletedProcess[str]:
    return run_command(main, "model.mps", "found.sol", "--instance", "pair.json", *more, cwd=folder)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("wrapping", ["", "gzip", "mark", "windows"])
def test_each_format_is_read(name: str, wrapping: str, folder: Path) -> None:
    """TEL 3 + 3: request 0 (id 7) completes at 2 + 1, request 1 at 0 + 3."""
    for file, text in (("found.sol", FORMATS[name]), ("model.mps", MODEL)):
        if wrapping == "windows":
            encoding = "utf-8" if file == "model.mps" else "utf-16"
            data = text.replace("\n", "\r\n").encode(encoding)
        else:
            data = text.encode("utf-8-sig" if wrapping == "mark" else "utf-8")
        (folder / file).write_bytes(gzip.compress(data) if wrapping == "gzip" else data)
    result = _read(folder, "--out", "found.json", "--by", f"{name} 9")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "valid: instance 'pair', n=2, TEL 6\n"
    schedule = read_schedule(folder / "found.json")
    assert (schedule.starts, schedule.method, schedule.lower_bound) == ((2, 0), f"{name} 9", None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "as SCIP, Gurobi, HiGHS (solution style 0 or 1), "),
        ("solution status: infeasible\nno solution available\n", "write them, found none"),
        ("x(0_0) 0\n", "found no x(0_t) above a half"),
        ("PK\x03\x04", "expected text, found a zip archive"),
        ("x(0_0) 1\nx(1_0) 0.5\nx(1_1) 0.5\n", "found no x(1_t) above a half"),
        ("x(0_0) 1\nx(0_2) 1\nx(1_0) 1\n", "request 0 of the model has two"),
        ("x(0_0) 1\nx(1_0) 1\nx(2_0) 1\n", "expected a request below 2, found 2"),
        ("x(0_0) 1\nx(1_0) nan\n", "found no x(1_t)"),
    ],
)
def test_what_is_no_solution_is_one_line(text: str, told: str, folder: Path) -> None:
    """It names the file and what is missing; nothing is written."""
    (folder / "found.sol").write_text(text)
    result = _read(folder, "--out", "found.json")
    assert (result.returncode, result.stderr.count("\n")) == (10, 1)
    assert "found.sol: " in result.stderr
    assert told in result.stderr
    assert not (folder / "found.json").exists()


def test_a_solution_that_breaks_the_memory_is_refused(folder: Path) -> None:
    """Of the instance with M = 4: at time 1 both hold 2, at time 2 one of 5 tokens cannot be."""
    tight = Instance("tight", 4, (Request(0, 0, 1, 3), Request(1, 0, 1, 3)))
    write_instance(tight, folder / "pair.json")
    (folder / "model.mps").write_text(f"NAME {name_of_model('ilp-xy', tight)}\n")
    (folder / "found.sol").write_text("x(0_0) 1\nx(1_0) 1\n")
    result = _read(folder, "--out", "found.json")
    assert result.returncode == 21
    assert result.stdout.startswith("infeasible: at time 2, 6 tokens are held, memory is 4")
    assert not (folder / "found.json").exists()


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("NAME ilp\nROWS\n", "expected a model that --write-model wrote"),
        (f"NAME ilp_of_{'0' * 64}\n", "expected the model of 'pair', found another one"),
        (None, "No such file"),
    ],
)
def test_a_model_of_something_else_is_one_line(model: str | None, told: str, folder: Path) -> None:
    """A solution is of no other instance than its model."""
    (folder / "found.sol").write_text(FORMATS["gurobi"])
    (folder / "model.mps").unlink()
    if model is not None:
        (folder / "model.mps").write_text(model)
    result = _read(folder)
    assert result.returncode == 10
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("suffix", "formulation"), [("mps", "ilp"), ("lp", "ilp-sparse")])
def test_highs_solves_an_exported_model(suffix: str, formulation: str, tmp_path: Path) -> None:
    """Its own solution files of a model of the library are a schedule of the known optimum."""
    name = "tiny_ids_with_gaps"
    model = tmp_path / f"m.{suffix}"
    given = [name, "--formulation", formulation, "--write-model", model]
    assert run_command(kvopt.commands.solve.main, *given, cwd=tmp_path).returncode == 0
    code = (
        "import os, sys, highspy; h = highspy.Highs(); h.setOptionValue('output_flag', False)\n"
        "h.readModel(sys.argv[1]); h.run(); os.chdir(sys.argv[2])\n"
        "[h.writeSolution(f'of{k}.sol', k) for k in (0, 1, 3, 4)]"
    )
    in_fork(code, model, tmp_path)
    instance = read_instance(find_instance(name))
    known = find_registered(instance)
    assert known is not None
    assert known.reason == "optimal"
    told = f"valid: instance {name!r}, n={len(instance)}, TEL {known.upper}\n"
    # Raw, pretty, GLPK's, sparse.
    for style in (0, 1, 3, 4):
        result = run_command(main, model, f"of{style}.sol", cwd=tmp_path)
        assert (result.returncode, result.stdout, result.stderr) == (0, told, ""), style
