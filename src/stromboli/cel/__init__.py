"""Expressions in CEL, as Kubernetes writes them, with a limit on what one may cost."""
