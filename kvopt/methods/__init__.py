"""Methods: the one grammar in which they are named, methods of one's own, what decides a result."""
