"""fragmentation: prefer nodes on which a pod leaves GPUs that typical pods can use."""
