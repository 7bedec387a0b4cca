"""The numa-aware plugin: exclusive CPUs for containers, aligned to NUMA nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Event, Plugin
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.numa import DECISION, POLICY, PROCESSORS, WANTED, format_cpus
from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.task import Task, TaskStatus
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.plugins.numa_aware.assignment import CpuAssigner
from stromboli.core.plugins.numa_aware.rules import Alignment, FewNumaNodes, NumaPreference, SamePolicy, preference_of
from stromboli.core.plugins.numa_aware.states import NumaStates
from stromboli.core.search.class_cache import ClassCache
from stromboli.core.search.node_rules import NodeFilter, NodeScorer
from stromboli.core.session.session import Session

_KEPT = "states of the processors of nodes"


class NumaAwareArguments(Arguments):
    weight: int = Argument("weight", 1, "Weight of the score; 0 switches it off.", minimum=0)


class NumaAware(Plugin):
    name = "numa-aware"
    arguments = NumaAwareArguments()
    reads_annotations = (POLICY, WANTED)

    def __init__(self, arguments: NumaAwareArguments, hierarchy: bool = False) -> None:
        super().__init__(arguments, hierarchy)
        self._preferences = ClassCache(_cached_preference)
        self._alignment = Alignment(self._preference)
        self._filters = (SamePolicy(self._preference), self._alignment)
        self._scorers = (FewNumaNodes(self._preference, arguments.weight),) if arguments.weight else ()

    def open(self, session: Session) -> None:
        self._ledger, self._nodes = session.ledger, session.nodes
        states: NumaStates = session.nodes.remember(_KEPT, NumaStates)
        if states.has_too_many_shapes:
            states = session.nodes.answers[_KEPT] = NumaStates(session.nodes)
        self._assigner = CpuAssigner(states, session.nodes, session.snapshot.processors)
        for rule in (self._alignment, *self._scorers):
            rule.open(states, self._assigner)
        self._states = states

    def _preference(self, task_class: TaskClass) -> NumaPreference:
        return self._preferences.of(task_class, self._ledger)

    # -- nodes --------------------------------------------------------------------------------------------------

    def pre_predicate(self, task_class: TaskClass) -> Reason | None:
        return self._preference(task_class).fault

    def node_filters(self) -> Sequence[NodeFilter]:
        return self._filters

    def node_scorers(self) -> Sequence[NodeScorer]:
        return self._scorers

    # -- events -------------------------------------------------------------------------------------------------

    def on_allocate(self, event: Event) -> None:
        demand = self._preference(event.tasks[0].task_class).demand
        for task, node in zip(event.tasks, event.nodes, strict=True):
            waits = self._ledger.status_of(task) is not TaskStatus.ALLOCATED
            self._assigner.place(task.uid, self._nodes.index[node], demand, waits=waits)

    def on_deallocate(self, event: Event) -> None:
        for task, node in zip(event.tasks, event.nodes, strict=True):
            if self._ledger.status_of(task) is TaskStatus.RELEASING:
                self._assigner.evict(task.uid, self._nodes.index[node])
            else:
                self._assigner.take_back(task.uid)

    def on_reserve(self, task: Task, node: str) -> None:
        """Reserve the CPUs that a nominated task will need."""
        demand = self._preference(task.task_class).demand
        self._assigner.place(task.uid, self._nodes.index[node], demand, waits=True)

    def on_release(self, task: Task, node: str) -> None:
        self._assigner.take_back(task.uid)

    def bind_context(self, task: Task, context: dict[str, str]) -> None:
        """Add the assigned CPUs to the binding: they are reserved until the node reports its own assignment."""
        assignment = self._assigner.of(task.uid)
        if assignment is not None and assignment.allotment.cpus:
            containers = {name: format_cpus(cpus) for name, cpus in assignment.allotment.containers if cpus}
            context[PROCESSORS] = json.dumps(containers)
            context[DECISION] = json.dumps({"numa": self._by_numa_node(assignment.row, assignment.allotment.cpus)})

    def _by_numa_node(self, row: int, cpus: int) -> Mapping[str, Mapping[str, str]]:
        """Return the number of CPUs per NUMA node, in Volcano's format."""
        numa_nodes = self._states.processors_of(row).numa_nodes.items()
        return {str(numa_node): {"cpu": str((own & cpus).bit_count())} for numa_node, own in numa_nodes if own & cpus}


def _cached_preference(task_class: TaskClass, _: Ledger) -> NumaPreference:
    return preference_of(task_class)
