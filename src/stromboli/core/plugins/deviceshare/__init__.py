"""deviceshare: which devices of a node a pod gets, and how much of each."""
