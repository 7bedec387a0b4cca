"""Queues and quotas."""
