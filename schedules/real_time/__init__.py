"""Schedules in real time: when every round and every request began and ended, and metrics."""
