"""Preparations before a pod is bound: volumes, resource claims, shared GPUs, node locks."""
