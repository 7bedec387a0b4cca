"""Gangs with a minimum for each role, and gangs that are made of smaller gangs."""

from typing import Any

import pytest

from tests.testing.cases.case import Case, configuration
from tests.testing.manifests.builders import Manifest, gang, gang_of, node, nodes, pod, pods, priority_class, running

ONE_EACH = {"master": 1, "worker": 1}
NO_GANG = configuration("predicates")

ROLES = [
    Case(
        "every role has its minimum",
        nodes(3, 1), gang(3, roles=["master", "worker", "worker"], minimums=ONE_EACH), binds="aaa",
    ),
    Case(
        "the total suffices, a role is short: no pod is bound",
        nodes(3, 1), gang_of(pod(4, role="master"), *pods(3, role="worker"), minimum=2, minimums=ONE_EACH),
        binds="----",
    ),
    Case(
        "without role minimums the total is enough",
        nodes(3, 1), gang_of(pod(4, role="master"), *pods(3, role="worker"), minimum=2), binds="-aaa",
    ),
    Case(
        "a role has fewer pods than its minimum",
        nodes(4, 1), gang(3, roles=["worker"] * 3, minimum=2, minimums=ONE_EACH), binds="---",
        reasons={"gang": ["Not enough valid pods of each task for gang-scheduling: master"]},
        codes={"gang": ["NotEnoughPodsOfTask"]},
    ),
    Case(
        "a role minimum may be zero",
        nodes(2, 1), gang(2, roles=["worker"] * 2, minimums={"master": 0, "worker": 2}), binds="aa",
    ),
    Case(
        "role minimums above the total do not bind",
        nodes(2, 1), gang(3, roles=["worker"] * 3, minimum=2, minimums={"worker": 3}), binds="aa-",
    ),
    Case(
        "a required role without a node holds up the others",
        node("a", 1), node("b", 4, labels={"disk": "ssd"}),
        gang_of(
            pod(2, role="master", nodeSelector={"disk": "hdd"}), *pods(3, role="worker"), minimum=3,
            minimums={"master": 1, "worker": 2},
        ),
        binds="----",
        reasons={"gang": ["0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."]},
    ),
    Case(
        "a member without a request counts for its role before it has a node",
        nodes(4, 1),
        gang_of(
            pod(0, role="master"), pod(9, role="master"), pod(2, role="worker"), minimum=2,
            minimums={"master": 1, "worker": 1},
        ),
        binds="a-a",
    ),
    Case(
        "a role that has its minimum can be done without more",
        nodes(4, 1),
        gang_of(
            pod(2, role="master"), pod(3, role="master"), *pods(2, role="worker"), minimum=3,
            minimums={"master": 1, "worker": 1},
        ),
        binds="a-aa",
    ),
    Case(
        "after one of a role failed, the others of it are not tried",
        nodes(2, 1), gang_of(pod(3, role="worker"), pod(1, role="worker"), pod(1, role="helper"), minimum=1),
        binds="--a", codes={"gang": ["ExceedsEveryNode", "InsufficientResource", "RoleAlreadyRefused"]},
    ),
    Case("without a role each is tried", nodes(2, 1), gang_of(pod(3), pod(1), pod(1), minimum=1), binds="-aa"),
    Case(
        "too many roles failed to reach the total",
        nodes(1, 1),
        gang_of(
            pod(2, role="worker"), pod(2, role="master"), pod(1, role="helper"), minimum=2,
            minimums={"worker": 2, "master": 1},
        ),
        binds="---",
    ),
    Case(
        "enough of the other roles are left to reach the total",
        nodes(2, 1),
        gang_of(
            pod(3, role="worker"), pod(role="master"), pod(role="helper"), minimum=2,
            minimums={"worker": 2, "master": 1},
        ),
        binds="-aa",
    ),
    Case(
        "a running member counts for its role",
        nodes(2, 1), gang_of(pod(role="master", nodeName="a"), pod(role="worker"), minimums=ONE_EACH, phase="Inqueue"),
        binds="a",
    ),
    Case(
        "a member without a request counts for its role",
        nodes(1, 1), gang_of(pod(role="master"), pod(0, role="worker"), minimums=ONE_EACH), binds="aa",
    ),
    Case(
        "a role may be a label",
        nodes(2, 1), gang_of(*pods(2, labels={"volcano.sh/task-spec": "master"}), minimums={"master": 2}), binds="aa",
    ),
]  # fmt: skip


def policy(size: int | None = None, minimum: int | None = None, **more: Any) -> Manifest:
    """Sub-groups by the label `part`."""
    sizes = {"subGroupSize": size, "minSubGroups": minimum}
    return {"name": "part", "matchLabelKeys": ["part"], **{k: v for k, v in sizes.items() if v is not None}, **more}


def parts(text: str, cpu: object = 1, **facts: Any) -> list[Manifest]:
    """A pod for each letter or figure, which is its sub-group."""
    return [pod(cpu, labels={"part": part}, **facts) for part in text]


SUB_GROUPS = [
    Case("two sub-groups of two, both fit", nodes(2, 2), gang_of(*parts("0011"), policies=[policy(2, 2)]),
         binds="aabb"),
    Case(
        "one sub-group of two is enough for the group",
        nodes(2, 1), gang_of(*parts("0011"), minimum=2, policies=[policy(2, 1)]), binds="aa--",
    ),
    Case(
        "both sub-groups are needed and only one fits",
        nodes(3, 1), gang_of(*parts("0011"), minimum=2, policies=[policy(2, 2)]), binds="----",
    ),
    Case(
        "a sub-group that does not fit whole is skipped",
        nodes(3, 1), gang_of(*parts("000", 2), *parts("11"), minimum=2, policies=[policy(2, 1)]), binds="--- aa",
    ),
    Case(
        "fewer sub-groups than required",
        nodes(9, 1), gang_of(*parts("0000"), minimum=2, policies=[policy(2, 2)]), binds="----",
        reasons={"gang": ["Not enough valid subGroups of each task for gang-scheduling: part"]},
        codes={"gang": ["NotEnoughSubGroups"]},
    ),
    Case(
        "enough sub-groups, but too few pods for the group",
        nodes(2, 1), gang_of(*parts("0011"), minimum=3, policies=[policy(2, 1)]), binds="----",
    ),
    Case(
        "sub-groups are served by their number",
        nodes(2, 1), gang_of(*parts("2"), *parts("1"), *parts("0"), minimum=2, policies=[policy(1, 2)]), binds="-aa",
    ),
    Case(
        "sub-groups are served by priority",
        nodes(1, 1), priority_class("high", 9),
        gang_of(*parts("0"), *parts("1", priorityClassName="high"), minimum=1, policies=[policy(1, 1)]),
        conf=configuration("gang", "priority", "predicates"), binds="-a",
    ),
    Case(
        "pods of no sub-group are placed beside",
        nodes(3, 1), gang_of(*parts("00"), pod(), minimum=3, policies=[policy(2, 1)]), binds="aaa",
    ),
    Case(
        "a selector decides the members of a sub-group",
        nodes(2, 1),
        gang_of(
            *parts("00"), *parts("11", role="worker"), minimum=2,
            policies=[
                policy(2, 1, labelSelector={"matchExpressions": [{"key": "part", "operator": "In", "values": ["1"]}]}),
            ],
        ),
        binds="-- aa",
    ),
    Case(
        "members above the minimum follow, sub-group by sub-group",
        nodes(5, 1), gang_of(*parts("000"), *parts("111"), minimum=4, policies=[policy(2, 2)]), binds="aaa aa-",
    ),
    Case(
        "all members of a sub-group are needed, more than its size",
        nodes(4, 1), gang_of(*parts("0000"), policies=[policy(2, 1)]), binds="aaaa",
    ),
    Case(
        "a sub-group has size 1 by default",
        nodes(4, 1), gang_of(*parts("0011"), policies=[policy(None, 1)]), binds="aaaa",
    ),
    Case(
        "whole sub-groups are added in turn until the group has its minimum",
        nodes(4, 1), gang_of(*parts("000"), *parts("111"), minimum=4, policies=[policy(1, 1)]), binds="aa- aa-",
    ),
    Case(
        "sub-groups wait for capacity that is being released",
        nodes(2, 1), running("a", cpu=2, releasing=True), gang_of(*parts("01"), policies=[policy(1, 2)]), binds="AA",
    ),
    Case(
        "a pipelined sub-group waits for one that does not fit",
        nodes(2, 1), running("a", releasing=True), gang_of(*parts("01"), policies=[policy(1, 2)]), binds="-A",
    ),
    Case(
        "without the plugin sub-groups are not kept whole",
        nodes(3, 1), gang_of(*parts("0011"), minimum=2, policies=[policy(2, 2)]), conf=NO_GANG, binds="aaa-",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", ROLES + SUB_GROUPS, ids=str)
def test_roles_and_sub_groups(case: Case) -> None:
    case.check()
