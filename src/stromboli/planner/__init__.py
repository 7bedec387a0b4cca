"""Scheduling cycles over manifests, with the same core as in a cluster: plans, explanations and remedies."""
