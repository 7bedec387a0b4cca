"""task-topology: roles of a job that talk to each other stand together, roles that are in each other's way do not."""

from stromboli.core.plugins.task_topology.plugin import TaskTopology

__all__ = ["TaskTopology"]
