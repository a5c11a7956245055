"""The exact worst ratio of each policy over all small instances."""
