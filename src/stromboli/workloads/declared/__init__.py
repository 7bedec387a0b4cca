"""Kinds that the user describes: where their pod templates and numbers are."""
