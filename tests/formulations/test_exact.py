"""Every formulation against a brute force over start times, on tiny instances and draws."""

import math
import random
from pathlib import Path

import pytest

from formulations.formulation_registry import formulations
from instances import Instance, Request, read_instance
from instances.families import am1, am2
from tests.engine_batch import Answer, solve_batch
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import instance_of
from tests.tiers import in_two

TINY = sorted((Path(__file__).parents[2] / "instances" / "tiny").glob("*.json"))
EXACT = [name for name, each in formulations().items() if not each.relaxation]
EXACT += ["ilp(groups=yes)", "ilp-sparse(groups=yes)"]
RELAXED = ["ilp(relaxed=yes)", "ilp-sparse(relaxed=yes)", "ilp-sparse(groups=yes,relaxed=yes)"]
BOUNDS = [name for name, each in formulations().items() if each.kind == "bound" and each.in_rounds]
#: Draws of both arrival models.
DRAWS = [
    *(am1.generate(seed=seed, n=5, memory=12 + seed % 5) for seed in range(5)),
    *(am2.generate(seed=seed, n=5, memory=12) for seed in range(2)),
]
#: Cutting at the best heuristic makespan would lose its optimum (17, makespan 10).
HORIZON_TRAP = instance_of(13, (0, 3, 4), (0, 3, 1), (0, 3, 2), (0, 2, 9))
CASES = {path.stem: read_instance(path) for path in TINY} | {
    f"draw {k}": instance for k, instance in enumerate([*DRAWS, HORIZON_TRAP])
}


#: Optimum of an instance, and what every formulation says of it.
Solved = tuple[int, dict[str, Answer]]


@pytest.fixture(scope="module", params=in_two(CASES, 8))
def solved(request: pytest.FixtureRequest) -> dict[str, Solved]:
    """Committed tiny instances, and draws, by name."""
    names = (*EXACT, *RELAXED, *BOUNDS)
    answers = iter(solve_batch([(CASES[case], name) for case in request.param for name in names]))
    return {
        case: (brute_force_optimum(CASES[case]), {name: next(answers) for name in names})
        for case in request.param
    }


@pytest.mark.parametrize("formulation", EXACT)
def test_exact_formulations_equal_brute_force(formulation: str, solved: dict[str, Solved]) -> None:
    """Schedule and bound both meet the brute-force optimum."""
    for name, (optimum, answers) in solved.items():
        answer = answers[formulation]
        assert (name, answer.tel, answer.bound) == (name, optimum, optimum)


@pytest.mark.parametrize("formulation", [*RELAXED, *BOUNDS])
def test_relaxations_and_bounds_never_exceed_the_optimum(
    formulation: str, solved: dict[str, Solved]
) -> None:
    """What bounds stays below OPT; of a relaxation the certified bound is the LP rounded up."""
    for name, (optimum, answers) in solved.items():
        answer = answers[formulation]
        assert 0 < answer.bound <= optimum, name
        if formulation in RELAXED:
            assert answer.relaxation is not None
            assert answer.relaxation <= optimum + 1e-6, name
            # Prices that are exact LP duals certify the LP value; rounding may cost the last unit.
            assert answer.bound >= math.ceil(answer.relaxation - 1e-4), name


def test_relaxations_are_one_lp(solved: dict[str, Solved]) -> None:
    """Dense rows, sparse rows and generated columns: one LP, to 1e-6, and bounds near it."""
    for name, (_, answers) in solved.items():
        whole, columns = answers["ilp-sparse(relaxed=yes)"], answers["bound-lp"]
        dense, strong = answers["ilp(relaxed=yes)"], answers["ilp-sparse(groups=yes,relaxed=yes)"]
        assert dense.relaxation == pytest.approx(whole.relaxation, abs=1e-6), name
        assert columns.relaxation == pytest.approx(whole.relaxation, rel=1e-6), name
        assert min(columns.bound, answers["bound-dual"].bound) >= whole.bound - 1
        assert whole.bound <= strong.bound, name


#: Our own search must not be its own witness.
ENGINES = ("layers", "bidirectional", "cpsat", "cpsat-strong")


def _drawn(seed: int) -> Instance:
    """Draw up to nine requests that crowd the memory, with arrivals or equal requests."""
    draws = random.Random(seed)
    memory = draws.randint(6, 30)
    kind = seed % 3
    requests: list[Request] = []
    for i in range(draws.randint(6, 9)):
        output = draws.randint(1, max(1, memory * 2 // 3))
        prompt = draws.randint(0, memory - output if kind else min(3, memory - output))
        arrival = 0 if kind == 1 else draws.choice([0, 0, draws.randint(0, memory)])
        if kind == 2 and i in (1, 2):
            first = requests[0]
            arrival, prompt, output = int(first.arrival), first.prompt, first.output
        requests.append(Request(i, arrival, prompt, output))
    return Instance(f"drawn_{seed}", memory, tuple(requests))


@pytest.mark.parametrize("seeds", in_two(range(60), 5))
def test_engines_agree_on_drawn_instances(seeds: list[int]) -> None:
    """All prove the same optimum on 60 draws with up to nine requests."""
    drawn = [_drawn(seed) for seed in seeds]
    pairs = [(instance, engine) for instance in drawn for engine in ENGINES]
    answers = iter(solve_batch(pairs))
    for instance in drawn:
        found = [next(answers) for _ in ENGINES]
        assert len({(answer.tel, answer.bound) for answer in found}) == 1, instance
        assert found[0].tel == found[0].bound, instance


@pytest.mark.parametrize(
    ("memory", "requests", "optimum"),
    [
        (21, [(0, 15, 6), (0, 10, 4), (0, 5, 3), (0, 9, 12), (0, 7, 12), (0, 2, 9)], 101),
        (
            25,
            [
                (0, 3, 14), (0, 6, 9), (0, 20, 3), (0, 18, 6),
                (0, 9, 15), (0, 19, 5), (0, 14, 9), (0, 4, 6),
            ],
            199,
        ),
        (
            9,
            [
                (4, 8, 1), (4, 8, 1), (4, 8, 1), (0, 2, 5), (7, 1, 1),
                (4, 2, 4), (0, 2, 4), (0, 6, 1), (4, 0, 5),
            ],
            52,
        ),
    ],
)  # fmt: skip
def test_states_merged_with_what_another_holds(
    memory: int, requests: list[tuple[int, int, int]], optimum: int
) -> None:
    """A cheaper equal state must bring its own tokens: the search once proved 103, 202 and 54."""
    instance = instance_of(memory, *requests)
    for answer in solve_batch([(instance, engine) for engine in ENGINES]):
        assert (answer.tel, answer.bound) == (optimum, optimum)


@pytest.mark.parametrize("formulation", ["ilp", "cpsat"])
@pytest.mark.parametrize("seed", [1, 2])
def test_seeds_change_no_optimum(seed: int, formulation: str) -> None:
    """Both engines prove the same optimum under other seeds."""
    chosen = list(CASES.values())[::5]
    found = solve_batch([(instance, formulation) for instance in chosen], seed=seed)
    optima = [brute_force_optimum(instance) for instance in chosen]
    assert [(each.tel, each.bound) for each in found] == [(each, each) for each in optima]
