"""Experiments and statements of the papers, judged by rules on stored rows."""
