"""Conversion of API objects to the model: one module per kind."""
