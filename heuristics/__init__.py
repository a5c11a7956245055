"""Published policies, one a file, and the simulator that runs them."""
