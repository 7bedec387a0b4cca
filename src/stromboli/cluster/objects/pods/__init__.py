"""Pods: requests, constraints, classes."""
