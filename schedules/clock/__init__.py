"""Schedules in real time: their rounds on the clock, the times of each request, and their check."""

from schedules.clock.replay import Replay, ReplayError, RequestTimes, Stretch, replay
from schedules.clock.runs import Run, runs_of

__all__ = ["Replay", "ReplayError", "RequestTimes", "Run", "Stretch", "replay", "runs_of"]
