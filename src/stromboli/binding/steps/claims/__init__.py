"""Resource claims get their devices before their pods are bound: as a step, and as a plugin."""
