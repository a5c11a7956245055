"""Statements about every feasible schedule, or some optimal one; nothing here knows of prices."""
