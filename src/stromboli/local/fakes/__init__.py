"""Stand-ins for what surrounds a bare API server: kubelets, and the controllers of Kubernetes that batch work needs.

Each is a client of the API like any other and runs unchanged against a real server. They are not the real thing: they
do what a scheduler can see, and nothing else.
"""

from stromboli.local.fakes.controllers import FakeControllers

__all__ = ["FakeControllers"]
