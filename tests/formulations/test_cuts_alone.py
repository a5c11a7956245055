"""No optimal schedule of a tiny instance or draw violates any family of cuts by itself."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyomo.environ as pyo
import pytest

import formulations.valid.windows as from_volumes
from formulations.cp import _windows as plain
from formulations.dp.forward import search
from formulations.formulation_registry import RELAXED, formulations
from formulations.lagrangian.priced_starts import start_costs
from formulations.valid.volume_bounds import completion_bounds
from formulations.valid.window_groups import exclusive_groups, window_groups
from formulations.valid.windows import start_windows
from instances import Instance, read_instance
from kvopt.methods.option_values import format_formulation
from tests.cp_accepts import accepted
from tests.oracles.brute_force import all_optima
from tests.oracles.draws import crowd, instance_of
from tests.programs import program_of

ROOT = Path(__file__).resolve().parents[2]
TINY = [read_instance(path) for path in sorted((ROOT / "instances" / "tiny").glob("*.json"))]
DRAWS = [crowd(seed) for seed in range(120)]
#: Draws, and optimal schedules of each instance, that are tried on whole models.
FEW_DRAWS, FEW_SCHEDULES = 36, 4

#: Tells whether a schedule, given by its starts, keeps to the cuts of an instance.
Keeps = Callable[[Sequence[int]], bool]
#: Makes the cuts of an instance, whose optimum is known.
Family = Callable[[Instance, int], Keeps]


#: An instance, its optimum, and all of its optimal schedules or some of them.
Case = tuple[Instance, int, list[tuple[int, ...]]]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Every tiny instance and draw, its optimum and all of its optimal schedules."""
    return [(instance, *all_optima(instance)) for instance in [*TINY, *DRAWS]]


def _windows(module: object, above: int | None, cut: int = 0) -> Family:
    """Start windows for a known schedule of TEL OPT + ``above``, their ends ``cut`` earlier."""

    def family(instance: Instance, optimum: int) -> Keeps:
        known = None if above is None else optimum + above
        windows = module.start_windows(instance, known)  # type: ignore[attr-defined]
        return lambda starts: all(
            first <= start <= last - cut
            for first, start, last in zip(windows.earliest, starts, windows.latest, strict=True)
        )

    return family


def _groups(sizes: tuple[int, ...] | None, longer: int = 0) -> Family:
    """At most ``most`` windows of a group hold a round, windows being ``longer`` at their end."""

    def family(instance: Instance, _: int) -> Keeps:
        groups = exclusive_groups(instance) if sizes is None else window_groups(instance, sizes)

        def keeps(starts: Sequence[int]) -> bool:
            for group in groups:
                own = [(starts[m.request], m) for m in group.members]
                windows = [(start - m.before, start + m.after + longer) for start, m in own]
                # If more than most windows hold one round, they hold the one where one begins.
                for begin, _ in windows:
                    if sum(low <= begin < high for low, high in windows) > group.most:
                        return False
            return True

        return keeps

    return family


def _ranks(later: int = 0) -> Family:
    """The j-th completion is no earlier than the volumes allow, or ``later`` than that."""

    def family(instance: Instance, _: int) -> Keeps:
        bounds = completion_bounds(instance.requests, instance.memory)

        def keeps(starts: Sequence[int]) -> bool:
            ends = sorted(p + r.output for p, r in zip(starts, instance.requests, strict=True))
            return all(end >= bound + later for end, bound in zip(ends, bounds, strict=True))

        return keeps

    return family


FAMILIES: dict[str, Family] = {
    "windows": _windows(from_volumes, None),
    "windows, UB = OPT": _windows(from_volumes, 0),
    "windows, UB = OPT + 5": _windows(from_volumes, 5),
    "plain windows": _windows(plain, None),
    "plain windows, UB = OPT": _windows(plain, 0),
    "cliques": _groups(None),
    "groups of 2": _groups((2,)),
    "groups of 3": _groups((3,)),
    "groups of 4": _groups((4,)),
    "volumes": _ranks(),
}
#: The same families, made wrong by as little as possible: each loses an optimal schedule.
DAMAGED: dict[str, Family] = {
    "windows": _windows(from_volumes, None, cut=1),
    "windows, UB = OPT": _windows(from_volumes, 0, cut=1),
    "plain windows": _windows(plain, None, cut=1),
    "plain windows, UB = OPT": _windows(plain, 0, cut=1),
    "plain windows, UB = OPT - 1": _windows(plain, -1),
    "cliques": _groups(None, longer=1),
    "groups of 2": _groups((2,), longer=1),
    "groups of 3": _groups((3,), longer=1),
    "groups of 4": _groups((4,), longer=1),
    "volumes": _ranks(later=1),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_no_optimal_schedule_violates_the_family(name: str, cases: list[Case]) -> None:
    """Every optimal schedule of every instance keeps to the cuts of the family alone."""
    for instance, optimum, schedules in cases:
        assert schedules
        keeps = FAMILIES[name](instance, optimum)
        for starts in schedules:
            assert keeps(starts), (instance, starts)


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_family_is_caught(name: str, cases: list[Case]) -> None:
    """A family that is wrong by one round loses an optimal schedule of some instance here."""
    assert any(
        not DAMAGED[name](instance, optimum)(starts)
        for instance, optimum, schedules in cases
        for starts in schedules
    )


@pytest.fixture(scope="module")
def few(cases: list[Case]) -> list[Case]:
    """The tiny instances and some draws, each with a few optimal schedules of different shape."""
    chosen = []
    for instance, optimum, schedules in cases[: len(TINY) + FEW_DRAWS]:
        shapes = sorted({_in_order(instance, starts) for starts in schedules})
        chosen.append((instance, optimum, shapes[:: -(-len(shapes) // FEW_SCHEDULES)]))
    return chosen


def _in_order(instance: Instance, starts: Sequence[int]) -> tuple[int, ...]:
    """Exchange the starts of equal requests so that they grow in the instance's order."""
    keys = [(int(r.arrival), r.prompt, r.output) for r in instance.requests]
    rows = list(zip(starts, keys, strict=True))
    waiting = {key: sorted(s for s, k in rows if k == key) for key in keys}
    return tuple(waiting[key].pop(0) for key in keys)


def _alone(kind: str) -> Iterator[str]:
    """Yield each exact formulation of a kind with one switch on, the others off, and with all."""
    for each in formulations().values():
        if each.kind != kind or each.relaxation:
            continue
        own = [option for option in each.options if option != RELAXED]
        switches = [o.name for o in own if isinstance(o.default, bool)]
        yield each.name
        if switches:
            yield format_formulation(each, dict.fromkeys(switches, False))
        for switch in switches:
            name = format_formulation(each, dict.fromkeys(switches, False) | {switch: True})
            if name != each.name:
                yield name


@pytest.mark.parametrize("name", list(_alone("mip")))
def test_no_row_of_an_integer_program_cuts_off_an_optimum(name: str, few: list[Case]) -> None:
    """With known TEL OPT + 1, every optimal schedule satisfies every row and bound of the model."""
    program, options = program_of(name)
    for instance, optimum, schedules in few:
        windows = start_windows(instance, optimum + 1)
        model = program.build(instance, windows, **options)
        for starts in schedules:
            program.set_starts(model, instance, starts)
            assert pyo.value(model.tel) == optimum
            assert _violated(model) == [], (instance, starts)


def _violated(model: object) -> list[str]:
    """Return the names of the rows and bounds that the values of the variables violate."""
    found = []
    for row in model.component_data_objects(pyo.Constraint, active=True):  # type: ignore[attr-defined]
        value = pyo.value(row.body)
        low, high = pyo.value(row.lower), pyo.value(row.upper)
        if (low is not None and value < low - 1e-6) or (high is not None and value > high + 1e-6):
            found.append(row.name)
    for variable in model.component_data_objects(pyo.Var):  # type: ignore[attr-defined]
        low, high = variable.bounds
        value = variable.value
        if (low is not None and value < low - 1e-6) or (high is not None and value > high + 1e-6):
            found.append(variable.name)
    return found


def test_violated_rows_are_found() -> None:
    """The check above names a row that a schedule violates: two requests of peak M at once."""
    instance = instance_of(4, (0, 2, 2), (0, 2, 2))
    rows = {"ilp": "memory", "ilp-sparse": "memory", "ilp-sparse(groups=yes)": "group"}
    for name, row in rows.items():
        program, options = program_of(name)
        model = program.build(instance, start_windows(instance), **options)
        program.set_starts(model, instance, [0, 0])
        assert any(each.startswith(row) for each in _violated(model)), (name, _violated(model))


CP = list(_alone("cp"))


@pytest.fixture(scope="module")
def accepted_by(few: list[Case]) -> dict[str, list[list[bool]]]:
    """What each CP model, built for a known TEL of OPT, accepts of the optimal schedules."""
    return accepted(CP, few)


@pytest.mark.parametrize("name", CP)
def test_no_constraint_of_a_cp_model_cuts_off_an_optimum(
    name: str, few: list[Case], accepted_by: dict[str, list[list[bool]]]
) -> None:
    """The model accepts every optimal schedule when its starts are fixed."""
    answers = accepted_by[name]
    assert len(answers) == len(few)
    for (instance, _, schedules), answer in zip(few, answers, strict=True):
        assert answer == [True] * len(schedules), (instance, schedules)


def test_a_cp_model_refuses_what_is_no_schedule() -> None:
    """The check above can fail: two requests of peak M at once, and equal ones out of order."""
    instance = instance_of(4, (0, 2, 2), (0, 2, 2))
    case = [(instance, 6, [[0, 0], [0, 2], [2, 0]])]
    names = ["cpsat(separation=no)", "cpsat-strong"]
    answers = accepted(names, case)
    assert [answers[name] for name in names] == [[[False, True, True]], [[False, True, False]]]


@pytest.mark.parametrize("price", [0.0, 0.1])
def test_no_rule_of_the_search_loses_the_optimum(price: float, cases: list[Case]) -> None:
    """From a known TEL of OPT + 1 the search finds OPT and proves it."""
    for instance, optimum, schedules in cases:
        costs = start_costs(instance, [price] * 12, [], [])
        # Starts of the schedule with TEL OPT + 1 are not looked at, only handed back.
        windows, known = start_windows(instance, optimum + 1), (optimum + 1, [0] * len(instance))
        found = search(instance, windows, costs, known, 20_000)
        assert found is not None
        assert (found.tel, found.bound) == (optimum, optimum), instance
        assert tuple(found.starts) in schedules
