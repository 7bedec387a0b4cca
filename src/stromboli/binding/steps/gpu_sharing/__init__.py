"""Pods that share GPUs: how they are admitted, what they are told, as a step and as a plugin."""
