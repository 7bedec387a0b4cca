"""task-topology: co-locate roles of a job that communicate, and separate roles that interfere."""

from stromboli.core.plugins.task_topology.plugin import TaskTopology

__all__ = ["TaskTopology"]
