"""The reconciler of bind requests: looks at every decision again and again until it is carried out or undone."""
