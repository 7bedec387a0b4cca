"""Binding by the scheduler itself: bounded workers carry out commits in its own process."""
