"""allocate: give the tasks of admitted jobs their nodes, whole gangs or nothing.

Queues take turns by their live shares, jobs within a queue by their order. A job first gets as many tasks as it
must have to start, all in one statement; once it may run, it gets one more task per turn, so that others come
in between.
"""

from stromboli.core.actions.allocate.action import Allocate

__all__ = ["Allocate"]
