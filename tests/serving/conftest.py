"""The fixtures of kvopt's tests."""

from tests.kvopt.conftest import hard, played, quick_bounds, refused, small, solve, solve_afresh

__all__ = ["hard", "played", "quick_bounds", "refused", "small", "solve", "solve_afresh"]
