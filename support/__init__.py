"""What all folders use and what knows nothing of the problem: files, JSON, commands, compiling."""
