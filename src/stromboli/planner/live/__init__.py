"""A living cluster as the input of a plan: its objects, the policy of its scheduler, and what is about to be submitted.

Everything is read, nothing is written.
"""
