"""The scheduler of a cluster: its policy, and the options that decisions depend on, as its installation states them.

The Deployment of the scheduler names its options and the ConfigMap with its policy. Where there is no Deployment, as in
a local cluster, the ConfigMap alone is read: it may name the options as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TypeVar

import msgspec

from stromboli.core.config.config_map import ARGUMENTS_KEY, PREFERRED_KEY
from stromboli.install.installation import NAME, NAMESPACE
from stromboli.kube.client.api_errors import ApiError
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CONFIG_MAPS, DEPLOYMENTS
from stromboli.kube.objects.meta import Wire

T = TypeVar("T")

_ENVIRONMENT = "STROMBOLI_"


@dataclass(frozen=True, slots=True)
class InstallationName:
    """Where the scheduler is installed: its namespace, and the name that its objects begin with."""

    namespace: str = NAMESPACE
    name: str = NAME

    @classmethod
    def parse(cls, text: str) -> InstallationName:
        """Parse `NAMESPACE` or `NAMESPACE/NAME`. Raises ValueError."""
        namespace, slash, name = text.partition("/")
        if not namespace or (slash and not name) or "/" in name:
            raise ValueError(f"{text!r} is not of the form NAMESPACE or NAMESPACE/NAME, such as {NAMESPACE}/{NAME}")
        return cls(namespace, name or NAME)

    @property
    def deployment(self) -> str:
        return f"{self.name}-scheduler"

    @property
    def config_map(self) -> str:
        return f"{self.name}-scheduler-configmap"

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class RunningScheduler:
    """What the scheduler of the cluster runs with. Empty values are the defaults of the scheduler."""

    #: The text of the policy; None if it was not found.
    policy: str | None = None
    #: The ConfigMap of the policy.
    source: str = ""
    #: Options of its command line by name, such as `--scheduler-name`, with all their values.
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Why the policy or the options are unknown; empty if they are known.
    problem: str = ""

    def option(self, name: str) -> str | None:
        """Return the last value of an option."""
        values = self.options.get(name)
        return values[-1] if values else None


#: The options that decisions depend on.
OPTIONS = (
    *("--scheduler-name", "--default-queue", "--node-selector", "--seed"),
    *("--scheduler-sharding-mode", "--scheduler-sharding-name", "--shard-selector"),
)
_POLICY_FILE = ("--scheduler-conf", "--conf")


async def find_scheduler(client: Client, installation: InstallationName) -> RunningScheduler:
    """Read the policy and the options. An installation that is absent or may not be read is described in `problem`;
    other failures raise RequestFailed.
    """
    deployment, config_map = await asyncio.gather(
        _get(client, DEPLOYMENTS.path(namespace=installation.namespace, name=installation.deployment), _Deployment),
        _get_policy(client, installation.namespace, installation.config_map),
    )
    if isinstance(deployment, ApiError):
        return _by_config_map(installation, config_map, denied=deployment.is_denied)
    container = deployment.container
    options = container.options()
    volume = deployment.policy_volume(container)
    if volume is None:
        return RunningScheduler(options=options, problem=_unread(installation, "its policy is not in a ConfigMap"))
    name, key = volume
    if name != installation.config_map:
        config_map = await _get_policy(client, installation.namespace, name)
    return _with_policy(installation, config_map, name, key, options)


def _by_config_map(
    installation: InstallationName, config_map: _ConfigMap | ApiError, *, denied: bool
) -> RunningScheduler:
    if isinstance(config_map, ApiError) and not denied and not config_map.is_denied:
        return RunningScheduler(problem=f"no scheduler is installed as {installation}")
    options = {} if isinstance(config_map, ApiError) else config_map.options()
    return _with_policy(installation, config_map, installation.config_map, PREFERRED_KEY, options)


def _with_policy(
    installation: InstallationName,
    config_map: _ConfigMap | ApiError,
    name: str,
    key: str,
    options: Mapping[str, Sequence[str]],
) -> RunningScheduler:
    source = f"ConfigMap {installation.namespace}/{name}"
    if isinstance(config_map, ApiError):
        cause = "may not be read" if config_map.is_denied else "does not exist"
        return RunningScheduler(options=options, problem=_unread(installation, f"{source} {cause}"))
    text = config_map.text(key)
    if text is None:
        return RunningScheduler(options=options, problem=_unread(installation, f"{source} has no key {key}"))
    return RunningScheduler(text, source, options)


def _unread(installation: InstallationName, cause: str) -> str:
    return f"the policy of the scheduler {installation} is unknown: {cause}"


async def _get_policy(client: Client, namespace: str, name: str) -> _ConfigMap | ApiError:
    return await _get(client, CONFIG_MAPS.path(namespace=namespace, name=name), _ConfigMap)


async def _get(client: Client, path: str, wanted: type[T]) -> T | ApiError:
    """Get an object; None of the usual refusals is an exception."""
    try:
        return msgspec.json.decode(await client.request("GET", path), type=wanted)
    except ApiError as error:
        if error.status != 401 and (error.is_missing or error.is_denied):
            return error
        raise


class _ConfigMap(Wire):
    data: dict[str, str] | None = None

    def text(self, key: str) -> str | None:
        """Return the entry of a key, or the only configuration that there is."""
        data = self.data or {}
        others = [each for each in data if each.endswith(".conf")]
        return data.get(key, data[others[0]] if len(others) == 1 else None)

    def options(self) -> dict[str, list[str]]:
        """Return the options that decisions depend on, of a scheduler without a Deployment."""
        return _ProcessContainer(args=(self.data or {}).get(ARGUMENTS_KEY, "").split()).options()


class _Variable(Wire):
    name: str = ""
    value: str | None = None


class _Mount(Wire):
    name: str = ""
    mount_path: str = ""


class _ProcessContainer(Wire):
    args: list[str] | None = None
    command: list[str] | None = None
    env: list[_Variable] | None = None
    volume_mounts: list[_Mount] | None = None

    def options(self) -> dict[str, list[str]]:
        """Return the options that decisions depend on, from the command line or else from the environment."""
        found = {name: self.values(name) for name in OPTIONS}
        return {name: values for name, values in found.items() if values}

    def values(self, name: str) -> list[str]:
        """Return the values of an option, written as `--name=value` or `--name value`."""
        words = [*(self.command or ()), *(self.args or ())]
        values = [word.removeprefix(f"{name}=") for word in words if word.startswith(f"{name}=")]
        values += [value for word, value in pairwise(words) if word == name]
        if values:
            return values
        variable = _ENVIRONMENT + name.removeprefix("--").replace("-", "_").upper()
        return [text for each in self.env or () if each.name == variable for text in (each.value or "").split()]


class _ConfigMapVolume(Wire):
    name: str = ""


class _ProcessVolume(Wire):
    name: str = ""
    config_map: _ConfigMapVolume | None = None


class _PodSpec(Wire):
    containers: list[_ProcessContainer] | None = None
    volumes: list[_ProcessVolume] | None = None


class _PodTemplate(Wire):
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _DeploymentSpec(Wire):
    template: _PodTemplate = msgspec.field(default_factory=_PodTemplate)


class _Deployment(Wire):
    """A Deployment, with the parts that state how its process runs."""

    spec: _DeploymentSpec = msgspec.field(default_factory=_DeploymentSpec)

    @property
    def container(self) -> _ProcessContainer:
        """The container of the scheduler; others in its pod have no policy."""
        containers = self.spec.template.spec.containers or [_ProcessContainer()]
        return next((each for each in containers if any(map(each.values, _POLICY_FILE))), containers[0])

    def policy_volume(self, container: _ProcessContainer) -> tuple[str, str] | None:
        """Return the ConfigMap that is mounted where the policy is read, and its key."""
        files = [value for name in _POLICY_FILE for value in container.values(name)]
        if not files:
            return None
        path = PurePosixPath(files[-1])
        mounted = {PurePosixPath(each.mount_path): each.name for each in container.volume_mounts or ()}
        volume = mounted.get(path.parent)
        for each in self.spec.template.spec.volumes or ():
            if each.name == volume and each.config_map is not None:
                return each.config_map.name, path.name
        return None
