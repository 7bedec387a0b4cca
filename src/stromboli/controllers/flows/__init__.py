"""Volcano's JobFlows and JobTemplates: Jobs that are created in the order of their dependencies."""
