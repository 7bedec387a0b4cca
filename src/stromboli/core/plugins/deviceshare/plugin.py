"""The plugin: its arguments, the back-ends that they switch on, and what travels with a binding."""

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
from stromboli.core.plugins.deviceshare.catalog import STANDARD, Known, read_catalog
from stromboli.core.plugins.deviceshare.gpu_sharing import GpuNumber, GpuSharing
from stromboli.core.plugins.deviceshare.mind_cluster import MindCluster
from stromboli.core.plugins.deviceshare.rules import Columns, DeviceFilter, DeviceScorer
from stromboli.core.plugins.deviceshare.vgpu import VirtualGpu
from stromboli.core.search.node_rules import NodeFilter, NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

_SHARING = "deviceshare.GPUSharingEnable"
_NUMBER = "deviceshare.GPUNumberEnable"
_VGPU = "deviceshare.VGPUEnable"
_HAMI = "deviceshare.AscendHAMiVNPUEnable"
_MIND_CLUSTER = "deviceshare.AscendMindClusterVNPUEnable"
_LOCK = "deviceshare.NodeLockEnable"
_POLICY, _WEIGHT = "deviceshare.SchedulePolicy", "deviceshare.ScheduleWeight"
_MAP, _MAP_NAMESPACE = "deviceshare.KnownGeometriesCMName", "deviceshare.KnownGeometriesCMNamespace"
_EXCLUSIVE = "deviceshare.GPUExclusiveRules"


class DeviceShare(Plugin):
    name = "deviceshare"
    arguments = (
        Argument(_SHARING, bool, False, "Whether pods share GPUs by memory."),
        Argument(_NUMBER, bool, False, "Whether pods get whole GPUs by number."),
        Argument(_LOCK, bool, False, "Whether a node is locked until its device plugin has handed out the devices."),
        Argument(_VGPU, bool, False, "Whether pods share GPUs by memory and cores, or by instances (MIG)."),
        Argument(_MIND_CLUSTER, bool, False, "Whether pods share Ascend 310P chips as MindCluster does it."),
        Argument(_HAMI, bool, False, "Whether pods share Ascend chips as HAMi does it."),
        Argument(_POLICY, str, "", "Whether devices are filled up or spared.", choices=("", "binpack", "spread")),
        Argument(_WEIGHT, float, 0, "Weight of the score; 0 for none.", minimum=0),
        Argument(_MAP, str, "volcano-vgpu-device-config", "ConfigMap that says what devices can be cut into."),
        Argument(_MAP_NAMESPACE, str, "kube-system", "Namespace of that ConfigMap."),
        Argument(_EXCLUSIVE, list, [], "Labels of pods that share no GPU with others of their like."),
    )

    def __init__(self, given: Arguments, hierarchy: bool = False) -> None:
        super().__init__(given, hierarchy)
        self._backends = _backends(given)
        self.books = [DeviceState(backend) for backend in self._backends]
        self._columns = Columns(self.books)
        self._locks = bool(given[_LOCK])
        self._map = f"{given[_MAP_NAMESPACE]}/{given[_MAP]}"
        self._data: Mapping[str, str] | None = {}
        self._warning = ""
        self.reads_labels = tuple(sorted({label for each in self._backends for label in each.reads_labels}))
        self.reads_annotations = tuple(
            sorted(
                {key for each in self._backends for key in (DEVICES + each.name, *each.reads_annotations)},
            )
        )
        self.reads_config_maps = (self._map,) if given[_VGPU] or given[_HAMI] else ()
        self._now = 0.0
        self._chooses = False

    def unused_extension_points(self) -> frozenset[str]:
        return frozenset() if self.books else frozenset({"on_allocate", "on_deallocate", "bind_context"})

    def open(self, session: Session) -> None:
        self._now = session.now
        self._read_map(session.snapshot.config_maps.get(self._map))
        if self._warning:
            session.warnings.append(self._warning)
        for books in self.books:
            books.open(session)
        self._columns.open()

    def _read_map(self, data: Mapping[str, str] | None) -> None:
        """What devices can be cut into, if that is another map than last time."""
        if data is self._data:
            return
        self._data, self._warning, known = data, "", STANDARD
        if data is not None:
            try:
                known = read_catalog(data)
            except ValueError as error:
                self._warning = f"ConfigMap {self._map}: {error}; the usual geometries are assumed"
        self._know(known)

    def _know(self, known: Known) -> None:
        for books in self.books:
            if isinstance(books.backend, VirtualGpu):
                books.backend.geometries = known.geometries
            elif isinstance(books.backend, HamiAscend):
                books.backend.models = known.chips
            books.forget()

    def node_filters(self) -> Sequence[NodeFilter]:
        """Without a say in where pods go, devices cannot be promised: whoever is switched off here hands out none."""
        self._chooses = bool(self.books)
        return [DeviceFilter(self._columns)] if self.books else []

    def node_scorers(self) -> Sequence[NodeScorer]:
        weight = self.given[_WEIGHT]
        return [DeviceScorer(self._columns, weight)] if self.books and weight else []

    def on_allocate(self, event: Event) -> None:
        for books in self.books if self._chooses else ():
            books.follow_placement(event)

    def on_deallocate(self, event: Event) -> None:
        for books in self.books if self._chooses else ():
            books.follow_removal(event)

    def on_reserve(self, task: Task, node: str) -> None:
        self.on_allocate(Event([task], [node]))

    def on_release(self, task: Task, node: str) -> None:
        self.on_deallocate(Event([task], [node]))

    def bind_context(self, task: Task, context: dict[str, str]) -> None:
        for books in self.books if self._chooses else ():
            if books.wanted(task.task_class) is None:
                continue
            context.update(books.written(task, self._now))
            if self._locks and books.backend.lock:
                context[NODE_LOCK] = books.backend.lock


def _backends(given: Arguments) -> list[DeviceBackend]:
    """The back-ends that are switched on. Raises ValueError for those that cannot be together."""
    on = [key for key in (_SHARING, _NUMBER, _VGPU) if given[key]]
    if len(on) > 1:
        raise ValueError(f"{' and '.join(on)} cannot be true together: they would count the same GPUs twice")
    policy = Policy(given[_POLICY])
    made: dict[str, DeviceBackend] = {
        _SHARING: GpuSharing(policy),
        _NUMBER: GpuNumber(policy),
        _VGPU: VirtualGpu(policy, _exclusive_rules(given[_EXCLUSIVE])),
        _HAMI: HamiAscend(policy),
        _MIND_CLUSTER: MindCluster(policy),
    }
    return [backend for key, backend in made.items() if given[key]]


def _exclusive_rules(rules: Sequence[object]) -> list[Mapping[str, str]]:
    found: list[Mapping[str, str]] = []
    for rule in rules:
        if not isinstance(rule, dict) or not rule:
            raise ValueError(f"{_EXCLUSIVE}: expected labels such as workloadType: training, got {quoted(rule)}")
        found.append({str(key): _label(value) for key, value in rule.items()})
    return found


def _label(value: object) -> str:
    """Labels are text; YAML takes an unquoted true for something else."""
    return str(value).lower() if isinstance(value, bool) else str(value)
