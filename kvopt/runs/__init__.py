"""One task in one process with limits: the process, what it sends, how that is judged, the row."""
