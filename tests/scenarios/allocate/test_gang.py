"""Gangs: whole or not at all, then one more member at a time."""

import pytest

from tests.testing.cases.case import STANDARD, Case, configuration, plugin
from tests.testing.manifests.builders import Manifest, foreign, gang, gang_of, group, nodes, pod, priority_class

NO_GANG = configuration("predicates")
FAIR = configuration("gang", "drf", "predicates")


def _with_uid(members: list[Manifest], uid: str) -> list[Manifest]:
    """The same gang with another uid for its group."""
    members[0]["metadata"]["uid"] = uid
    return members


WHOLE_OR_NOTHING = [
    Case("every pod fits", nodes(4, 2), gang(3, cpu=2), binds="aab"),
    Case(
        "every pod fits with the default configuration",
        nodes(4, 2), gang(3, cpu=2, memory="32Gi"), conf=STANDARD, binds="aab",
    ),
    Case("one short: no pod is bound", nodes(4, 1), gang(3, cpu=2), binds="---"),
    Case("one short by the standard configuration", nodes(4, 1), gang(3, cpu=2), conf=STANDARD, binds="---"),
    Case("without the plugin every pod that fits is bound", nodes(4, 1), gang(3, cpu=2), conf=NO_GANG, binds="aa-"),
    Case("capacity in fragments that are too small", nodes(3, 2), gang(3, cpu=2), binds="---"),
    Case("no nodes", gang(1), binds="-", codes={"gang": ["NoNodes"]}),
    Case(
        "a job that does not fit leaves its capacity to the next",
        nodes(4, 1), gang(3, cpu=2, name="first"), gang(2, cpu=2, name="second"), binds="--- aa",
    ),
    Case(
        "what one failed to get others of its kind can still have",
        nodes(4, 1), gang(3, cpu=2, name="first"), gang(3, cpu=2, name="second"), gang(1, cpu=2, name="third"),
        binds="--- --- a",
    ),
    Case(
        "what was short beside others is not short alone",
        nodes(4, 1), gang_of(pod(3), pod(1), pod(1), name="first"), gang(4, name="second"), binds="--- aaaa",
    ),
    Case(
        "a member that runs already counts",
        nodes(4, 1), gang_of(pod(2, nodeName="a"), pod(2), phase="Inqueue"), binds="a", phases={"gang": "Running"},
    ),
    Case(
        "a gang with a part of its minimum comes before others, however much it holds",
        nodes(4, 1), gang(1, cpu=2, name="first"),
        gang_of(pod(2, nodeName="a"), pod(2), name="second", phase="Inqueue"), conf=STANDARD, binds="- a",
    ),
    Case("members of different sizes are one gang", nodes(4, 2), gang_of(pod(3), pod(2), pod(2)), binds="abb"),
    Case("the last and largest breaks the gang", nodes(4, 2), gang_of(pod(2), pod(2), pod(2), pod(3)), binds="----"),
    Case(
        "equal members on one node beside another member leave no capacity to the next job",
        nodes(6, 2), priority_class("high", 10), gang(1, cpu=2, name="first", priority="high"),
        gang_of(pod(2), pod(2), pod(1), pod(2), pod(2), name="second"), gang(1, cpu=2, name="third"),
        conf=configuration("priority", "gang", "predicates", "binpack"), binds="a aabbb -",
    ),
    Case(
        "members that were placed in vain report that",
        nodes(6, 1), foreign("a", cpu=2), gang(3, cpu=2), binds="---", phases={"gang": "Inqueue"},
        reasons={"gang": ["0/1 nodes are available: 1 Insufficient cpu."]},
        codes={"gang": ["InsufficientResource", "GangDoesNotFit"]},
    ),
    Case(
        "a job with the same unplaceable request gets the same reason",
        nodes(2, 2), gang(1, cpu=3, name="first"), gang(1, cpu=3, name="second"), binds="- -",
        reasons={name: ["a pod requests cpu 3, but the largest node has cpu 2"] for name in ("first", "second")},
        codes={name: ["ExceedsEveryNode"] for name in ("first", "second")},
    ),
]  # fmt: skip

MINIMUM = [
    Case("minimum reached, the rest waits", nodes(4, 1), gang(3, cpu=2, minimum=2), binds="aa-"),
    Case("more than the minimum, as far as there is capacity", nodes(4, 1), gang(4, minimum=2), binds="aaaa"),
    Case("minimum not reached", nodes(1, 1), gang(3, minimum=2), binds="---"),
    Case("minMember 0: each pod for itself", nodes(2, 1), gang(3, minimum=0), binds="aa-"),
    Case("no minMember is minMember 0", nodes(1, 1), group("gang"), gang(2)[1:], binds="a-"),
    Case("minMember 0 without pods", nodes(1, 1), group("gang", 0), binds="", phases={"gang": "Inqueue"}),
    Case(
        "fewer pods than minMember",
        nodes(4, 1), gang(2, minimum=3), binds="--", codes={"gang": ["NotEnoughTasks"]},
        reasons={"gang": ["Not enough valid tasks for gang-scheduling, valid: 2, min: 3"]},
    ),
    Case("fewer pods than minMember, without a plugin that checks it", nodes(4, 1), gang(2, minimum=3), conf=NO_GANG,
         binds="aa"),
    Case(
        "a failed member is no member",
        nodes(4, 1), gang_of(pod(), pod(), pod(nodeName="a", phase="Failed"), phase="Inqueue"), binds="--",
        codes={"gang": ["NotEnoughTasks"]},
    ),
    Case(
        "a succeeded member counts",
        nodes(4, 1), gang_of(pod(), pod(), pod(nodeName="a", phase="Succeeded"), phase="Inqueue"), binds="aa",
    ),
    Case(
        "a member that ended releases its capacity",
        nodes(2, 1), gang_of(pod(2), pod(2, nodeName="a", phase="Succeeded"), phase="Inqueue"), binds="a",
    ),
]  # fmt: skip

TURNS = [
    Case(
        "minimums first: no job gets a second member before all have one",
        nodes(3, 1), gang(2, minimum=1, name="first"), gang(2, minimum=1, name="second"), binds="aa a-",
    ),
    Case(
        "then in fair order",
        nodes(4, 1), gang(3, minimum=1, name="first"), gang(3, minimum=1, name="second"), conf=FAIR, binds="aa- aa-",
    ),
    Case(
        "in fair order by the resources of members",
        nodes(6, 1), gang(3, cpu=2, minimum=1, name="first"), gang(3, minimum=1, name="second"), conf=FAIR,
        binds="aa- aa-",
    ),
    Case(
        "by age without a fairness plugin",
        nodes(4, 1), gang(3, minimum=1, name="first"), gang(3, minimum=1, name="second"), binds="aaa a--",
    ),
    Case(
        "the older job first, whatever its name",
        nodes(2, 1), gang(2, name="first", created="2024-01-02T00:00:00Z"),
        gang(2, name="second", created="2024-01-01T00:00:00Z"), binds="-- aa",
    ),
    Case(
        "members are served by their number",
        nodes(2, 1), gang(2, name="late")[:1], reversed(gang(12, minimum=2, name="late")[1:]), binds="---------- aa",
    ),
    Case(
        "members are served by their priority",
        nodes(2, 1), priority_class("high", 100), gang_of(pod(), pod(), pod(priorityClassName="high"), minimum=1),
        conf=configuration("gang", "priority", "predicates"), binds="a-a",
    ),
    Case(
        "of equal age: by the name, not by the uid",
        nodes(2, 1), _with_uid(gang(2, name="first"), "z"), _with_uid(gang(2, name="second"), "a"), binds="aa --",
    ),
    Case(
        "a ready job continues with its next member when one finds no node",
        nodes(4, 1), gang_of(pod(nodeName="a"), pod(4), pod(), minimum=1, phase="Running"), binds="-a",
    ),
    Case(
        "and at the same time",
        nodes(3, 1), gang_of(pod(nodeName="a"), pod(4), pod(), name="first", minimum=1, phase="Running"),
        gang(2, name="second", minimum=0), binds="-a a-",
    ),
    Case(
        "a member too large, and no plugin that needs all of them",
        nodes(2, 1), gang_of(pod(3), pod()), conf=NO_GANG, binds="-a",
    ),
    Case(
        "others that are too large do not teach that the small one fails",
        nodes(2, 1), gang(1, cpu=3, name="first"), gang_of(pod(3), pod(), name="second"), conf=NO_GANG, binds="- -a",
    ),
    Case(
        "a job that cannot be served does not hold up its queue",
        nodes(2, 1), gang(1, cpu=3, name="first"), gang(2, name="second"),
        conf=configuration("gang", "predicates", plugin("proportion", enabledAllocatable=False)), binds="- aa",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", WHOLE_OR_NOTHING + MINIMUM + TURNS, ids=str)
def test_gang(case: Case) -> None:
    case.check()
