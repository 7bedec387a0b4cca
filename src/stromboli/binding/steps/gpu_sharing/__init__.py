"""Pods that share GPUs: admission, environment, and the binder plugin."""
