"""Commands about decisions: what the scheduler does, and why."""
