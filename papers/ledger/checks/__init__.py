"""The checks: a file a paper, a function a statement, each within seconds."""
