"""What Volcano's controllers do for the scheduler: PodGroups for plain pods, and the queues everybody expects."""
