"""Answers from the cache: documents of one frame, with the names that a person may read."""
