"""API servers to test and measure against: the embedded one in a process of its own, and a real one with its store."""
