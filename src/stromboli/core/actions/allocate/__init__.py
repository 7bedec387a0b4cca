"""allocate: assign nodes to the tasks of admitted jobs, whole gangs or nothing.

Queues are ordered by their current shares, jobs within a queue by their order. A job first gets as many tasks as it
needs to start, all in one statement; once it is ready, it gets one more task at a time, so that other jobs are served
in between.
"""

from stromboli.core.actions.allocate.action import Allocate

__all__ = ["Allocate"]
