"""Devices of claims, shared GPUs."""
