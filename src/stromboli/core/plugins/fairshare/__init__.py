"""The fairshare plugin: queues and users by what they have used over time."""
