"""Schedules in real time: their rounds on the clock, the times of each request, and their check."""

from schedules.clock.replay import Replay, ReplayError, RequestTimes, Stretch, replay_schedule
from schedules.clock.request_runs import RequestRun, runs_of

__all__ = [
    "Replay",
    "ReplayError",
    "RequestRun",
    "RequestTimes",
    "Stretch",
    "replay_schedule",
    "runs_of",
]
