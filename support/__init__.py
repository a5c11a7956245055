"""Helpers of all folders that know nothing of the problem: files, JSON, commands, compiling."""
