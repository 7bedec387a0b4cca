"""One cluster for several schedulers: which nodes are surely ours, who else lives, and who takes over from whom."""
