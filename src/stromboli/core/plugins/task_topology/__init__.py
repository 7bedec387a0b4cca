"""task-topology: co-locate roles of a job that communicate, and separate roles that interfere."""
