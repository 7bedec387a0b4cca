"""Every extension point, declared once.

A row has the name of the method that a plugin overrides, the rule that combines the answers, and the switch that
disables a plugin's answer in the configuration file. `Plugin` has the signatures and their meaning.
"""

from dataclasses import dataclass

from stromboli.core.config.combining import Rule


@dataclass(frozen=True, slots=True)
class ExtensionPoint:
    name: str
    rule: Rule
    #: The key in the configuration file as Volcano writes it; None if the extension point cannot be disabled.
    switch: str | None = None

    @property
    def switch_spellings(self) -> tuple[str, ...]:
        """Return both accepted spellings: `enableX` and `enabledX`."""
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
    # events
    ExtensionPoint("on_allocate", Rule.NOTIFY_ALL),
    ExtensionPoint("on_deallocate", Rule.NOTIFY_ALL),
    ExtensionPoint("bind_context", Rule.NOTIFY_ALL),
)

BY_NAME: dict[str, ExtensionPoint] = {point.name: point for point in EXTENSION_POINTS}

#: A switch that belongs to no extension point: whether a queue plugin uses the hierarchy of queues.
HIERARCHY_SWITCH = "enableHierarchy"

#: Topics of Volcano's switches without an extension point here: accepted with a warning.
_RETIRED_TOPICS = ("ClusterOrder", "NamespaceOrder", "ReservedNodes", "TargetJob")
RETIRED_SWITCHES = frozenset(f"{start}{topic}" for topic in _RETIRED_TOPICS for start in ("enable", "enabled"))


def _spellings() -> dict[str, str]:
    known = {
        spelling: point.switch for point in EXTENSION_POINTS for spelling in point.switch_spellings if point.switch
    }
    known |= {HIERARCHY_SWITCH: HIERARCHY_SWITCH, "enabledHierarchy": HIERARCHY_SWITCH}
    return known


#: Every accepted spelling of every switch -> its canonical name.
SWITCHES: dict[str, str] = _spellings()
OFF_BY_DEFAULT: frozenset[str] = frozenset({HIERARCHY_SWITCH})
