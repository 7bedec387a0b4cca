"""Past usage: what queues and users have used over time, with or without decay."""
