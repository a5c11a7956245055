"""Branching trees of prices: never above the optimum, whatever they hold, and grown up to it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.bounds.tree_search import BetterScheduleError, grow
from formulations.lagrangian.budget import Budget, CertificateError
from formulations.lagrangian.certificate import evaluate, shrink
from formulations.lagrangian.certificate_file import (
    Certificate,
    certificate_document,
    read_certificate,
)
from formulations.lagrangian.tree import (
    Branch,
    Leaf,
    Node,
    TreeError,
    TreeNode,
    children,
    evaluate_tree,
    root,
)
from instances import Instance
from kvopt.methods.witness import model_code
from tests.oracles.brute_force import brute_force_optimum
from tests.oracles.draws import alike, instance_of

#: M = 5, s = 1, o = (1, 1, 3, 3): the optimum is 12 (tests/kvopt/best_known/registry.py).
FOUR = instance_of(5, (0, 1, 1), (0, 1, 1), (0, 1, 3), (0, 1, 3))


def _drawn_tree(draw: st.DrawFn, instance: Instance, value: int, node: Node) -> list[TreeNode]:
    if draw(st.integers(0, 2)) == 0:
        prices = st.lists(st.integers(0, 40), max_size=14).map(tuple)
        rows = tuple(draw(st.integers(0, 60)) for _ in node.rows)
        return [Leaf(draw(st.integers(1, 60)), draw(prices), rows)]
    members = sorted(draw(st.sets(st.integers(0, len(instance) - 1), min_size=1)))
    branch = Branch(tuple(members), draw(st.integers(0, 8)), draw(st.integers(0, len(members) - 1)))
    few, many = children(instance, value, node, branch)
    return [
        branch,
        *_drawn_tree(draw, instance, value, few),
        *_drawn_tree(draw, instance, value, many),
    ]


@settings(max_examples=40, deadline=None)
@given(data=st.data(), instance=alike(), above=st.integers(-3, 6))
def test_no_tree_exceeds_the_optimum(data: st.DataObject, instance: Instance, above: int) -> None:
    """Whatever its branches and prices and whatever it claims, it proves at most OPT."""
    optimum = brute_force_optimum(instance)
    value = max(0, optimum + above)
    try:
        start = root(instance, value)
    except TreeError:
        # More than one request after the other has: refused.
        assert value > optimum
        return
    nodes = data.draw(st.composite(_drawn_tree)(instance, value, start))
    assert evaluate_tree(instance, nodes, value, Budget(len(instance), {})) <= optimum


@settings(max_examples=25, deadline=None)
@given(instance=alike())
def test_a_grown_tree_proves_the_optimum(instance: Instance) -> None:
    """It reaches OPT exactly, comes back from its file, and never proves one round more."""
    optimum = brute_force_optimum(instance)
    certificate = Certificate("tree", optimum, tree=tuple(grow(instance, optimum)))
    again = read_certificate(certificate_document(certificate))
    assert again == certificate
    assert evaluate(instance, again) == optimum
    with pytest.raises((BetterScheduleError, TreeError)):
        list(grow(instance, optimum + 1))


def test_a_tree_goes_on_where_it_was_stopped() -> None:
    """Any first part of the nodes leads to the same tree."""
    nodes = list(grow(FOUR, 12))
    assert len(nodes) > 3
    for stop in range(len(nodes) + 1):
        assert list(grow(FOUR, 12, nodes[:stop])) == nodes[stop:]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda nodes: nodes[:-1], "1 nodes are missing"),
        (lambda nodes: [*nodes, Leaf()], "nodes are left over"),
        (lambda _: [Branch((4,), 0, 0), Leaf(), Leaf()], "increasing positions"),
        (lambda _: [Branch((1, 0), 0, 0), Leaf(), Leaf()], "increasing positions"),
        (lambda _: [Branch((0, 0), 0, 0), Leaf(), Leaf()], "increasing positions"),
        (lambda _: [Branch((0, 1), 0, 2), Leaf(), Leaf()], "expected fewer than 2"),
        (lambda _: [Branch((0, 1), 0, 0), Leaf(), Leaf()], "expected 1 prices of rows"),
        (lambda _: [Leaf(1, (), (1,))], "expected 0 prices of rows"),
    ],
)
def test_what_is_no_tree_is_refused(damage: object, told: str) -> None:
    """Missing, surplus and impossible nodes prove nothing, and the message says what is wrong."""
    nodes = tuple(damage(list(grow(FOUR, 12))))  # type: ignore[operator]
    with pytest.raises(CertificateError, match=told):
        evaluate(FOUR, Certificate("tree", 12, tree=nodes))


def test_every_leaf_is_needed() -> None:
    """A leaf whose prices are taken away proves less, unless its windows alone are enough."""
    nodes = list(grow(FOUR, 12))
    priced = [i for i, node in enumerate(nodes) if isinstance(node, Leaf) and any(node.memory)]
    assert priced
    for i in priced:
        node = nodes[i]
        assert isinstance(node, Leaf)
        bare = [*nodes[:i], Leaf(rows=(0,) * len(node.rows)), *nodes[i + 1 :]]
        assert evaluate_tree(FOUR, bare, 12, Budget(4, {})) < 12


def test_a_tree_has_its_prices_in_its_leaves() -> None:
    """Prices or groups beside it, a tree of another kind, and none at all are refused."""
    nodes = tuple(grow(FOUR, 12))
    for wrong in (
        Certificate("tree", 12),
        Certificate("prices", 12, tree=nodes),
        Certificate("tree", 12, memory=(1,), tree=nodes),
        Certificate("tree", 12, upper_bound=12, tree=nodes),
    ):
        with pytest.raises(CertificateError, match="tree: expected"):
            evaluate(FOUR, wrong)
    whole = Certificate("tree", 12, tree=nodes)
    assert shrink(FOUR, whole) is whole


def test_the_evaluation_shares_no_code_with_any_model() -> None:
    """What evaluates a tree imports the instance, what counts steps, and nothing else of ours."""
    own = {"formulations.lagrangian.tree", "formulations.lagrangian.budget"}
    assert model_code("formulations.lagrangian.tree") == own
