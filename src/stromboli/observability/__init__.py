"""Running as a process: logs, metrics, health. Nothing here decides anything."""
