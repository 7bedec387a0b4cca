"""Argo Workflows: pods of steps and tasks, and the workloads that they create."""
