"""The scheduler process: watches a cluster, runs scheduling cycles, and executes their decisions."""
