"""Controllers of Jobs, Deployments, ReplicaSets and StatefulSets."""
