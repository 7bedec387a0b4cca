"""The binder as a process of its own, and the moments at which a test may have it die."""
