"""Claims for volumes are made ready before their pods are bound: as a step, and as a plugin."""
