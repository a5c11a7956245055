"""The commands: they read arguments, call the machinery and print."""
