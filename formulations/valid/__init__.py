"""What holds of every feasible schedule, or of some optimal one; nothing here knows of prices."""
