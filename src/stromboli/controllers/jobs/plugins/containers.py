"""Changes of pods that several plugins make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def containers_of(pod: dict[str, Any], *, with_init: bool = False) -> Iterator[dict[str, Any]]:
    spec = pod["spec"]
    for part in ("initContainers", "containers") if with_init else ("containers",):
        yield from spec.get(part) or ()


def variable(name: str, value: object) -> dict[str, Any]:
    """Return an environment variable."""
    return {"name": name, "value": str(value)}


def add_variables(container: dict[str, Any], variables: Iterable[dict[str, Any]]) -> None:
    """Append environment variables: they replace those of the template with the same names."""
    container["env"] = [*(container.get("env") or ()), *variables]


def add_volume(pod: dict[str, Any], volume: dict[str, Any], path: str, **mount: Any) -> None:
    """Add a volume, and mount it in all containers, also those that initialise the pod."""
    spec = pod["spec"]
    spec["volumes"] = [*(spec.get("volumes") or ()), volume]
    for container in containers_of(pod, with_init=True):
        mounted = {"name": volume["name"], "mountPath": path, **mount}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mounted]


def open_port(pod: dict[str, Any], name: str, number: int) -> None:
    """Declare a port of all containers. In the network of the host only one container of the pod can have it."""
    containers = list(containers_of(pod))
    without = [each for each in containers if not has_port(each, number)]
    if pod["spec"].get("hostNetwork"):
        without = without[:1] if len(without) == len(containers) else []
    for container in without:
        add_port(container, name, number)


def has_port(container: dict[str, Any], number: int) -> bool:
    return any(port.get("containerPort") == number for port in container.get("ports") or ())


def add_port(container: dict[str, Any], name: str, number: int) -> None:
    container["ports"] = [*(container.get("ports") or ()), {"name": name, "containerPort": number}]
