"""The processes of an installation: arguments, ports and resources."""

from __future__ import annotations

from dataclasses import dataclass, field

from stromboli.controllers.names import CONTROLLERS
from stromboli.core.config.config_map import PREFERRED_KEY
from stromboli.install.gpu_sharing import RESERVATIONS
from stromboli.install.installation import NAME, Installation
from stromboli.install.roles import LEASES

CONFIGURATION_FOLDER = "/volcano.scheduler"
"""The path of the configuration in Volcano's own manifests."""
METRICS_PORT = 8080
VISIBILITY_PORT = 8443
CONSOLE_PORT = 8443
HISTORY_FOLDER = "/history"
HISTORY_CLAIM = f"{NAME}-scheduler-history"


@dataclass(frozen=True, slots=True)
class InstalledProcess:
    """One process. Requests and limits suit a cluster of some hundreds of nodes."""

    component: str
    arguments: tuple[str, ...]
    #: Where probes ask over HTTP; the console has them at its own port, over HTTPS.
    health_port: int | None
    requests: dict[str, str]
    limits: dict[str, str]
    metrics_port: int | None = None
    #: Where people ask; None if they cannot.
    visibility_port: int | None = None
    console_port: int | None = None
    #: None for that of the installation.
    replicas: int | None = None
    #: Volumes by mount path.
    mounts: dict[str, dict[str, object]] = field(default_factory=dict)
    #: Environment variables, as in a container.
    environment: tuple[dict[str, object], ...] = ()
    #: Whether an old pod must be gone before a new one starts, because of its volume.
    is_exclusive: bool = False

    @property
    def name(self) -> str:
        return f"{NAME}-{self.component}"


def configuration_name() -> str:
    return f"{NAME}-scheduler-configmap"


def processes(installation: Installation) -> tuple[InstalledProcess, ...]:
    chosen = [scheduler(installation)]
    if installation.controllers:
        chosen.append(controller(installation))
    if installation.binder:
        chosen.append(binder(installation))
    if installation.console:
        chosen.append(console(installation))
    return tuple(chosen)


def scheduler(installation: Installation) -> InstalledProcess:
    return InstalledProcess(
        component="scheduler",
        arguments=(
            *_names(installation),
            f"--scheduler-conf={CONFIGURATION_FOLDER}/{PREFERRED_KEY}",
            f"--listen-address=:{METRICS_PORT}",
            "--healthz-address=:11251",
            f"--leader-elect-resource-name={LEASES['scheduler']}",
            "--log-format=json",
            *(() if installation.history_secret else (f"--history={HISTORY_FOLDER}/history.db",)),
            *((f"--visibility-address=:{VISIBILITY_PORT}",) if installation.visibility else ()),
            *(("--bind-mode=request",) if installation.binder else ()),
            *(("--evict-by-delete=true",) if installation.evict_by_delete else ()),
        ),
        health_port=11251,
        metrics_port=METRICS_PORT,
        visibility_port=VISIBILITY_PORT if installation.visibility else None,
        requests={"cpu": "500m", "memory": "256Mi"},
        limits={"memory": "2Gi"},
        mounts={
            CONFIGURATION_FOLDER: {"name": "configuration", "configMap": {"name": configuration_name()}},
            "/tmp": {"name": "dumps", "emptyDir": {"sizeLimit": "1Gi"}},  # noqa: S108 - of the container
            **_history_mounts(installation),
        },
        environment=_history_environment(installation),
        is_exclusive=bool(installation.history_storage),
    )


def _history_mounts(installation: Installation) -> dict[str, dict[str, object]]:
    """A file of the history is on a claim, or else on a volume that ends with the pod."""
    if installation.history_secret:
        return {}
    claim: dict[str, object] = {"persistentVolumeClaim": {"claimName": HISTORY_CLAIM}}
    volume = claim if installation.history_storage else {"emptyDir": {"sizeLimit": "2Gi"}}
    return {HISTORY_FOLDER: {"name": "history", **volume}}


def _history_environment(installation: Installation) -> tuple[dict[str, object], ...]:
    if not installation.history_secret:
        return ()
    reference = {"secretKeyRef": {"name": installation.history_secret, "key": "dsn"}}
    return ({"name": "STROMBOLI_HISTORY", "valueFrom": reference},)


def controller(installation: Installation) -> InstalledProcess:
    return InstalledProcess(
        component="controller",
        arguments=(
            *_names(installation),
            f"--listen-address=:{METRICS_PORT}",
            "--healthz-address=:11252",
            f"--leader-elect-resource-name={LEASES['controller']}",
            "--log-format=json",
            *((f"--controllers={','.join(chosen)}",) if (chosen := installation.controllers) != CONTROLLERS else ()),
            *((f"--discover-hypernodes={keys}",) if (keys := installation.discover_hypernodes) else ()),
        ),
        health_port=11252,
        metrics_port=METRICS_PORT,
        requests={"cpu": "100m", "memory": "128Mi"},
        limits={"memory": "512Mi"},
    )


def binder(installation: Installation) -> InstalledProcess:
    return InstalledProcess(
        component="binder",
        arguments=(
            f"--listen-address=:{METRICS_PORT}",
            "--healthz-address=:11253",
            f"--leader-elect-resource-name={LEASES['binder']}",
            "--log-format=json",
            *(_gpu_options(installation) if installation.share_gpus else ()),
        ),
        health_port=11253,
        metrics_port=METRICS_PORT,
        requests={"cpu": "200m", "memory": "128Mi"},
        limits={"memory": "1Gi"},
    )


def console(installation: Installation) -> InstalledProcess:
    """Sessions are in memory, so there is one replica."""
    service = f"{NAME}-console"
    hosts = (service, f"{service}.{installation.namespace}", f"{service}.{installation.namespace}.svc")
    return InstalledProcess(
        component="console",
        arguments=(
            f"--console-address=:{CONSOLE_PORT}",
            f"--installation={installation.namespace}/{NAME}",
            *(f"--allowed-host={host}" for host in (*hosts, *installation.console_hosts)),
            "--log-format=json",
        ),
        health_port=None,
        console_port=CONSOLE_PORT,
        replicas=1,
        requests={"cpu": "100m", "memory": "256Mi"},
        limits={"memory": "2Gi"},
        mounts={"/tmp": {"name": "dumps", "emptyDir": {"sizeLimit": "1Gi"}}},  # noqa: S108 - of the container
        environment=_history_environment(installation),
    )


def _gpu_options(installation: Installation) -> tuple[str, ...]:
    """Reservation pods run the binder's image."""
    options = {"namespace": RESERVATIONS, "image": installation.image}
    return tuple(f"--plugin-option=gpusharing.{name}={value}" for name, value in options.items())


def _names(installation: Installation) -> tuple[str, ...]:
    return tuple(f"--scheduler-name={name}" for name in installation.scheduler_names)
