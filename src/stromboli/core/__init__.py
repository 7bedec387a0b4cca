"""The pure part of the scheduler: no clock, chance, thread, socket, file or log."""
