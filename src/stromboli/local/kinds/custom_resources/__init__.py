"""Kinds defined by CustomResourceDefinitions."""
