"""Metrics, health, logs, and the process around a scheduler, binder, controller or webhook."""
