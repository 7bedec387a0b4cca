"""Every question that the scheduler asks and plugins answer, declared once.

A row gives the name of the method a plugin overrides, the rule that combines the answers, and the switch that
turns a plugin's answer off in the configuration file. The signature and what the question means stand on
`Plugin`.
"""

from dataclasses import dataclass

from stromboli.core.config.combining import Rule


@dataclass(frozen=True, slots=True)
class ExtensionPoint:
    name: str
    rule: Rule
    #: The key in the configuration file as Volcano writes it; None when the question cannot be switched off.
    switch: str | None = None
    on_by_default: bool = True

    @property
    def switch_spellings(self) -> tuple[str, ...]:
        """Both `enableX` and `enabledX` are understood."""
        if self.switch is None:
            return ()
        topic = self.switch.removeprefix("enabled").removeprefix("enable")
        return f"enable{topic}", f"enabled{topic}"


EXTENSION_POINTS: tuple[ExtensionPoint, ...] = (
    # order
    ExtensionPoint("job_order", Rule.SORT_KEYS, "enableJobOrder"),
    ExtensionPoint("sub_job_order", Rule.SORT_KEYS, "enabledSubJobOrder"),
    ExtensionPoint("task_order", Rule.SORT_KEYS, "enableTaskOrder"),
    ExtensionPoint("queue_order", Rule.SORT_KEYS, "enableQueueOrder"),
    ExtensionPoint("victim_queue_order", Rule.SORT_KEYS),
    ExtensionPoint("cluster_order", Rule.SORT_KEYS, "enabledClusterOrder", on_by_default=False),
    # admission and readiness
    ExtensionPoint("job_valid", Rule.ALL_MUST_AGREE),
    ExtensionPoint("job_enqueueable", Rule.VOTE_BY_TIER, "enableJobEnqueued"),
    ExtensionPoint("job_enqueued", Rule.NOTIFY_ALL, "enableJobEnqueued"),
    ExtensionPoint("job_ready", Rule.ALL_MUST_AGREE, "enableJobReady"),
    ExtensionPoint("tasks_until_ready", Rule.LARGEST, "enableJobReady"),
    ExtensionPoint("sub_job_ready", Rule.ALL_MUST_AGREE, "enabledSubJobReady"),
    ExtensionPoint("job_pipelined", Rule.VOTE_BY_TIER, "enableJobPipelined"),
    ExtensionPoint("sub_job_pipelined", Rule.VOTE_BY_TIER, "enabledSubJobPipelined"),
    ExtensionPoint("job_starving", Rule.FIRST_TIER_DECIDES, "enableJobStarving"),
    ExtensionPoint("target_job", Rule.FIRST_ANSWER, "enableTargetJob"),
    ExtensionPoint("reserved_nodes", Rule.NOTIFY_ALL, "enableReservedNodes"),
    # queues
    ExtensionPoint("overused", Rule.ANY, "enabledOverused"),
    ExtensionPoint("allocatable", Rule.SMALLEST, "enabledAllocatable"),
    ExtensionPoint("preemptive", Rule.ALL_MUST_AGREE, "enablePreemptive"),
    # victims
    ExtensionPoint("preemptable", Rule.INTERSECTION_BY_TIER, "enablePreemptable"),
    ExtensionPoint("reclaimable", Rule.INTERSECTION_BY_TIER, "enableReclaimable"),
    ExtensionPoint("evictable", Rule.INTERSECTION),
    ExtensionPoint("victim_tasks", Rule.UNION_BY_TIER, "enabledVictim"),
    # nodes
    ExtensionPoint("pre_predicate", Rule.ALL_MUST_AGREE, "enablePredicate"),
    ExtensionPoint("predicate", Rule.ALL_MUST_AGREE, "enablePredicate"),
    ExtensionPoint("node_order", Rule.SUM, "enableNodeOrder"),
    ExtensionPoint("batch_node_order", Rule.SUM, "enableNodeOrder"),
    ExtensionPoint("node_map", Rule.SUM, "enableNodeOrder"),
    ExtensionPoint("node_reduce", Rule.SUM, "enableNodeOrder"),
    ExtensionPoint("best_node", Rule.FIRST_ANSWER, "enableBestNode"),
    # domains of nodes
    ExtensionPoint("hyper_node_order", Rule.SUM, "enabledHyperNodeOrder"),
    ExtensionPoint("hyper_node_gradient_for_job", Rule.FIRST_ANSWER, "enabledHyperNodeGradient"),
    ExtensionPoint("hyper_node_gradient_for_sub_job", Rule.FIRST_ANSWER, "enabledHyperNodeGradient"),
    # what-if
    ExtensionPoint("simulate_add_task", Rule.ALL_MUST_AGREE, "enablePreemptable"),
    ExtensionPoint("simulate_remove_task", Rule.ALL_MUST_AGREE, "enablePreemptable"),
    ExtensionPoint("simulate_predicate", Rule.ALL_MUST_AGREE, "enablePredicate"),
    ExtensionPoint("simulate_allocatable", Rule.ALL_MUST_AGREE, "enabledAllocatable"),
    # what happened
    ExtensionPoint("on_allocate", Rule.NOTIFY_ALL),
    ExtensionPoint("on_deallocate", Rule.NOTIFY_ALL),
    ExtensionPoint("bind_context", Rule.NOTIFY_ALL),
)

BY_NAME: dict[str, ExtensionPoint] = {point.name: point for point in EXTENSION_POINTS}

#: A switch that is not about one question: whether a queue policy sees queues as a tree.
HIERARCHY_SWITCH = "enableHierarchy"

#: Simulation of adding and removing tasks is on when either of these is.
ALSO_SWITCHED_BY = {"simulate_add_task": "enabledAllocatable", "simulate_remove_task": "enabledAllocatable"}


def _spellings() -> dict[str, str]:
    known = {
        spelling: point.switch for point in EXTENSION_POINTS for spelling in point.switch_spellings if point.switch
    }
    known |= {HIERARCHY_SWITCH: HIERARCHY_SWITCH, "enabledHierarchy": HIERARCHY_SWITCH}
    return known


#: Every accepted spelling of every switch -> its canonical name.
SWITCHES: dict[str, str] = _spellings()
OFF_BY_DEFAULT: frozenset[str] = frozenset(
    {
        HIERARCHY_SWITCH,
        *(point.switch for point in EXTENSION_POINTS if point.switch and not point.on_by_default),
    }
)
