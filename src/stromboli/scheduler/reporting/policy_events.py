"""Events about the policy file: on the pod of this process, or on the namespace `default` outside of a cluster."""

from __future__ import annotations

import socket

from stromboli.cluster.state.pods import Pods
from stromboli.kube.objects.event import ObjectReference
from stromboli.scheduler.policy import ActivePolicy
from stromboli.scheduler.reporting.announcer import EventAnnouncer, reference

#: The log and the metric have all of them.
MAX_WARNINGS = 10
_OUTSIDE = ObjectReference(api_version="v1", kind="Namespace", name="default")


class PolicyEvents:
    """Announces the problem and the warnings of a policy once."""

    def __init__(self, policy: ActivePolicy, pods: Pods, announcer: EventAnnouncer) -> None:
        self._policy = policy
        self._pods = pods
        self._announcer = announcer
        self._announced: tuple[str, tuple[str, ...]] = ("", ())

    def announce_changes(self) -> None:
        problem, warnings = self._policy.problem, self._policy.warnings
        announced_problem, announced_warnings = self._announced
        self._announced = (problem, warnings)
        if problem and problem != announced_problem:
            self._announcer.policy_rejected(self._process(), problem)
        if warnings != announced_warnings:
            for warning in warnings[:MAX_WARNINGS]:
                self._announcer.policy_warning(self._process(), warning)

    def _process(self) -> ObjectReference:
        """Return the pod of this process: its host name is the pod's name."""
        name = socket.gethostname()
        found = (pod for pod in self._pods.all() if pod.metadata.name == name)
        return next((reference(pod) for pod in found), _OUTSIDE)
