"""Bind requests as the scheduler writes and follows them."""
