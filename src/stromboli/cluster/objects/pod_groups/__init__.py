"""Volcano's and Kubernetes' pod groups."""
