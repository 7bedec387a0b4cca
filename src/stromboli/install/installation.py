"""Settings of an installation, and the labels of its objects."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stromboli import __version__
from stromboli.controllers.names import CONTROLLERS
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.kube.objects.meta import SUBDOMAIN

NAME = "stromboli"
"""The name of an installation, and prefix of its objects."""


def selected(component: str) -> dict[str, str]:
    """The pod selector of a component. Selectors are immutable, so nothing else belongs here."""
    return {
        "app.kubernetes.io/name": NAME,
        "app.kubernetes.io/instance": NAME,
        "app.kubernetes.io/component": component,
    }


def labels(component: str) -> dict[str, str]:
    """Labels of a component's objects."""
    return {**selected(component), "app.kubernetes.io/part-of": NAME, "app.kubernetes.io/version": __version__}


NAMESPACE: str = f"{NAME}-system"
IMAGE = f"{NAME}:{__version__}"
SCHEDULER_NAMES = ("stromboli", "volcano")
METRICS_FROM = "stromboli.dev/metrics=enabled"
"""The label of namespaces that may read metrics."""
API_SERVER_PORTS = (443, 6443)
"""The port of the service `kubernetes`, and the usual one of API servers behind it."""

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SIZE = re.compile(r"[1-9][0-9]{0,5}(Mi|Gi|Ti)")
_IMAGE = re.compile(r"[\w][\w./:@-]*")
_LABEL = re.compile(r"([a-z0-9.-]+/)?\w([\w.-]{0,61}\w)?=(\w([\w.-]{0,61}\w)?)?", re.ASCII)


class InvalidChoice(ValueError):
    """An invalid setting. `option` is the command line option."""

    def __init__(self, option: str, problem: str) -> None:
        self.option = option
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class Installation:
    """Validated settings. Raises InvalidChoice."""

    namespace: str = NAMESPACE
    image: str = IMAGE
    replicas: int = 2
    scheduler_names: tuple[str, ...] = SCHEDULER_NAMES
    #: The text of volcano-scheduler.conf.
    configuration: str = DEFAULT_TEXT
    evict_by_delete: bool = False
    #: Node labels for HyperNode discovery, in the controllers' format; empty to disable it.
    discover_hypernodes: str = ""
    #: The controllers that are part of it; Volcano's may run instead.
    controllers: tuple[str, ...] = CONTROLLERS
    #: Whether a separate binder process binds pods from bind requests.
    binder: bool = False
    #: Whether the binding process may reserve GPUs for sharing.
    share_gpus: bool = False
    #: The label KEY=VALUE of namespaces that may read metrics; empty for all.
    metrics_from: str = METRICS_FROM
    #: Ports to which all processes may connect.
    api_server_ports: tuple[int, ...] = API_SERVER_PORTS
    #: Ports of metrics sources and extenders, to which the scheduler may connect.
    scheduler_egress_ports: tuple[int, ...] = ()
    #: Ports of pods, to which the controllers may connect for probes of JobFlows.
    controller_egress_ports: tuple[int, ...] = ()
    #: Whether the scheduler answers people who may not read the cluster, as an aggregated API.
    visibility: bool = True
    #: Whether the web console is served, and further names under which browsers reach it.
    console: bool = False
    console_hosts: tuple[str, ...] = ()
    #: The size of the volume of the history, such as 10Gi; empty for a volume that ends with the pod.
    history_storage: str = ""
    #: The Secret whose key `dsn` is the PostgreSQL server of the history; empty for a file.
    history_secret: str = ""

    def __post_init__(self) -> None:
        if not _NAMESPACE.fullmatch(self.namespace):
            raise InvalidChoice(
                "--namespace",
                f"{self.namespace!r} is not a valid namespace; use at most 63 lower-case letters, digits and hyphens, "
                "with a letter or digit at both ends",
            )
        if not _IMAGE.fullmatch(self.image):
            raise InvalidChoice(
                "--image", f"{self.image!r} is not a valid image; write one like registry/stromboli:{__version__}"
            )
        for name in self.scheduler_names:
            if not SUBDOMAIN.fullmatch(name) or len(name) > 253:
                raise InvalidChoice(
                    "--scheduler-name",
                    f"{name!r} is not a valid scheduler name; use lower-case letters, digits, hyphens and dots, "
                    "with a letter or digit at both ends",
                )
        for host in self.console_hosts:
            if not SUBDOMAIN.fullmatch(host):
                raise InvalidChoice("--console-host", f"{host!r} is not a DNS name such as console.example.com")
        if self.console_hosts and not self.console:
            raise InvalidChoice("--console-host", "has no effect without --with-console; add it")
        self._check_history()
        if self.metrics_from and not _LABEL.fullmatch(self.metrics_from):
            raise InvalidChoice(
                "--metrics-from", f"{self.metrics_from!r} is not a valid label; write one like {METRICS_FROM}"
            )

    def _check_history(self) -> None:
        if self.history_storage and not _SIZE.fullmatch(self.history_storage):
            raise InvalidChoice("--history-storage", f"{self.history_storage!r} is not a size such as 10Gi")
        if self.history_storage and self.replicas > 1:
            raise InvalidChoice(
                "--history-storage",
                f"the volume holds the file of one scheduler, not of {self.replicas}; add --replicas 1, or use a "
                "PostgreSQL server with --history-secret",
            )
        if self.history_secret and self.history_storage:
            raise InvalidChoice("--history-secret", "contradicts --history-storage; leave one of them out")
        if self.history_secret and not SUBDOMAIN.fullmatch(self.history_secret):
            raise InvalidChoice("--history-secret", f"{self.history_secret!r} is not a valid name of a Secret")
