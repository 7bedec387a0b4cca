"""The deviceshare plugin: its arguments, the back-ends they enable, and the annotations of a binding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Event, Plugin
from stromboli.core.config.spelling import quoted
from stromboli.core.model.devices.shared_devices import DEVICES, NODE_LOCK
from stromboli.core.model.tasks.task import Task
from stromboli.core.plugins.deviceshare.accounting import DeviceState
from stromboli.core.plugins.deviceshare.ascend import HamiAscend
from stromboli.core.plugins.deviceshare.backend import DeviceBackend, Policy
from stromboli.core.plugins.deviceshare.catalog import STANDARD, DeviceCatalog, read_catalog
from stromboli.core.plugins.deviceshare.gpu_sharing import GpuMemory, GpuNumber
from stromboli.core.plugins.deviceshare.mind_cluster import MindCluster
from stromboli.core.plugins.deviceshare.rules import DeviceColumns, DeviceFilter, DeviceScorer
from stromboli.core.plugins.deviceshare.vgpu import VirtualGpu
from stromboli.core.search.node_rules import NodeFilter, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_SHARING = "deviceshare.GPUSharingEnable"
_NUMBER = "deviceshare.GPUNumberEnable"
_VGPU = "deviceshare.VGPUEnable"
_EXCLUSIVE = "deviceshare.GPUExclusiveRules"


class DeviceShareArguments(Arguments):
    gpu_sharing: bool = Argument(_SHARING, False, "Whether pods share GPUs by memory.")
    gpu_number: bool = Argument(_NUMBER, False, "Whether pods get whole GPUs by number.")
    node_lock: bool = Argument("deviceshare.NodeLockEnable", False, "Lock a node until its device plugin has finished.")
    vgpu: bool = Argument(_VGPU, False, "Whether pods share GPUs by memory and cores, or by instances (MIG).")
    mind_cluster: bool = Argument("deviceshare.AscendMindClusterVNPUEnable", False, "Share Ascend chips as MindCluste")
    hami_ascend: bool = Argument("deviceshare.AscendHAMiVNPUEnable", False, "Share Ascend chips as HAMi does.")
    policy: str = Argument("deviceshare.SchedulePolicy", "", "Pack or spread.", choices=("", "binpack", "spread"))
    weight: float = Argument("deviceshare.ScheduleWeight", 0.0, "Weight of the score; 0 for none.", minimum=0)
    map_name: str = Argument(
        "deviceshare.KnownGeometriesCMName", "volcano-vgpu-device-config", "ConfigMap with the partitioning of devices."
    )
    map_namespace: str = Argument(
        "deviceshare.KnownGeometriesCMNamespace", "kube-system", "Namespace of that ConfigMap."
    )
    exclusive_rules: list[object] = Argument(_EXCLUSIVE, [], "Labels of pods that share no GPU with their like.")


class DeviceShare(Plugin):
    name = "deviceshare"
    arguments = DeviceShareArguments()

    def __init__(self, arguments: DeviceShareArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._backends = _backends(arguments)
        self.states = [DeviceState(backend) for backend in self._backends]
        self._columns = DeviceColumns(self.states)
        self._locks = arguments.node_lock
        self._map = f"{arguments.map_namespace}/{arguments.map_name}"
        self._data: Mapping[str, str] | None = {}
        self._warning = ""
        self.reads_labels = tuple(sorted({label for each in self._backends for label in each.reads_labels}))
        self.reads_annotations = tuple(
            sorted(
                {key for each in self._backends for key in (DEVICES + each.name, *each.reads_annotations)},
            )
        )
        self.reads_config_maps = (self._map,) if arguments.vgpu or arguments.hami_ascend else ()
        self._now = 0.0
        self._chooses = False

    def unused_extension_points(self) -> frozenset[str]:
        return frozenset() if self.states else frozenset({"on_allocate", "on_deallocate", "bind_context"})

    def open(self, session: Session) -> None:
        self._now = session.now
        self._read_map(session.snapshot.config_maps.get(self._map))
        if self._warning:
            session.warnings.append(self._warning)
        for states in self.states:
            states.open(session)
        self._columns.open()

    def _read_map(self, data: Mapping[str, str] | None) -> None:
        """Read the partitioning of devices, if the ConfigMap has changed."""
        if data is self._data:
            return
        self._data, self._warning, known = data, "", STANDARD
        if data is not None:
            try:
                known = read_catalog(data)
            except ValueError as error:
                self._warning = f"ConfigMap {self._map}: {error}; the default geometries are used"
        self._know(known)

    def _know(self, known: DeviceCatalog) -> None:
        for states in self.states:
            if isinstance(states.backend, VirtualGpu):
                states.backend.geometries = known.geometries
            elif isinstance(states.backend, HamiAscend):
                states.backend.models = known.chips
            states.forget()

    def node_filters(self) -> Sequence[NodeFilter]:
        """Return the filters. Without them no devices are allocated: a pod could be placed where none is free."""
        self._chooses = bool(self.states)
        return [DeviceFilter(self._columns)] if self.states else []

    def node_scorers(self) -> Sequence[NodeScorer]:
        weight = self.arguments.weight
        return [DeviceScorer(self._columns, weight)] if self.states and weight else []

    def on_allocate(self, event: Event) -> None:
        for states in self.states if self._chooses else ():
            states.follow_placement(event)

    def on_deallocate(self, event: Event) -> None:
        for states in self.states if self._chooses else ():
            states.follow_removal(event)

    def on_reserve(self, task: Task, node: str) -> None:
        self.on_allocate(Event([task], [node]))

    def on_release(self, task: Task, node: str) -> None:
        self.on_deallocate(Event([task], [node]))

    def bind_context(self, task: Task, context: dict[str, str]) -> None:
        for states in self.states if self._chooses else ():
            if states.wanted(task.task_class) is None:
                continue
            context.update(states.written(task, self._now))
            if self._locks and states.backend.lock:
                context[NODE_LOCK] = states.backend.lock


def _backends(arguments: DeviceShareArguments) -> list[DeviceBackend]:
    """Return the enabled back-ends. Raises ValueError for those that exclude each other."""
    switches = {_SHARING: arguments.gpu_sharing, _NUMBER: arguments.gpu_number, _VGPU: arguments.vgpu}
    on = [key for key, value in switches.items() if value]
    if len(on) > 1:
        raise ValueError(f"{' and '.join(on)} cannot be true together: they would count the same GPUs twice")
    policy = Policy(arguments.policy)
    backends: tuple[tuple[bool, DeviceBackend], ...] = (
        (arguments.gpu_sharing, GpuMemory(policy)),
        (arguments.gpu_number, GpuNumber(policy)),
        (arguments.vgpu, VirtualGpu(policy, _exclusive_rules(arguments.exclusive_rules))),
        (arguments.hami_ascend, HamiAscend(policy)),
        (arguments.mind_cluster, MindCluster(policy)),
    )
    return [backend for is_on, backend in backends if is_on]


def _exclusive_rules(rules: Sequence[object]) -> list[Mapping[str, str]]:
    found: list[Mapping[str, str]] = []
    for rule in rules:
        if not isinstance(rule, dict) or not rule:
            raise ValueError(f"{_EXCLUSIVE}: expected labels such as workloadType: training, got {quoted(rule)}")
        found.append({str(key): _label(value) for key, value in rule.items()})
    return found


def _label(value: object) -> str:
    """Return a label as text; YAML reads an unquoted true as a boolean."""
    return str(value).lower() if isinstance(value, bool) else str(value)
