"""One run is one process with limits; an engine is imported only inside the process it runs in."""
