"""Fake kubelets: nodes and the lifecycle of pods."""
