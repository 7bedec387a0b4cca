"""Work on API objects in the background: the work queue, its retry policy, and the status writer on top of it."""
