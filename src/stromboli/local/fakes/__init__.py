"""Fakes of what surrounds a bare API server: kubelets, and the controllers of Kubernetes that batch workloads need.

Each is an ordinary client of the API and runs unchanged against a real server. They implement only the behaviour that a
scheduler can observe.
"""

from stromboli.local.fakes.controllers import FakeControllers

__all__ = ["FakeControllers"]
