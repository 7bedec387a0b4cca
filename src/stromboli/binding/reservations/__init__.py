"""Shared GPUs are held by pods of ours: which there must be, which there are, and what to do about the difference."""
