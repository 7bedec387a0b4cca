"""The rules of shared devices one by one: orders, scores, instances, templates, and what annotations say."""

from __future__ import annotations

import pytest

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.plugins.deviceshare.backend import Policy, assigned, formatted
from stromboli.core.plugins.deviceshare.catalog import FILE, STANDARD, read_catalog
from stromboli.core.plugins.deviceshare.instances import instance_for, named
from stromboli.core.plugins.deviceshare.mind_cluster import part_for
from stromboli.core.plugins.deviceshare.node_devices import Share, SharedDevice, Use
from stromboli.core.plugins.deviceshare.plugin import DeviceShare
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session
from stromboli.planner.virtual_cluster import PlannedCluster
from tests.testing.cases.case import BUILT_IN, SCHEDULER_NAMES, flattened, objects
from tests.testing.manifests.builders import gang, gang_of, pod
from tests.testing.manifests.shared_devices import A100, gpu_node, having, sharing, vgpu

USES = [Use(users=1, memory=10), Use(users=0, memory=0), Use(users=2, memory=5)]


@pytest.mark.parametrize(
    ("policy", "order"), [("", [2, 1, 0]), ("binpack", [0, 2, 1]), ("spread", [1, 0, 2])], ids=["none", "full", "idle"]
)
def test_devices_are_tried_in_policy_order(policy: str, order: list[int]) -> None:
    assert list(Policy(policy).places(USES)) == order


@pytest.mark.parametrize(
    ("policy", "users_before", "memory_after", "points"),
    [("binpack", 1, 25, 25.0), ("binpack", 0, 100, 100.0), ("spread", 0, 25, 100.0), ("spread", 1, 25, 0.0),
     ("", 0, 25, 0.0)],
)  # fmt: skip
def test_device_score(policy: str, users_before: int, memory_after: int, points: float) -> None:
    assert Policy(policy).score(users_before, memory_after, 100) == points


def test_device_without_memory_scores_zero() -> None:
    assert Policy("binpack").score(0, 0, 0) == 0.0


@pytest.mark.parametrize(
    ("taken", "memory", "instance"),
    [
        ([], 5000, "group1-0"),
        ([], 5121, "group2-0"),
        ([], 15000, "group3-0"),
        ([], 30000, "group4-0"),
        ([], 40960, "group4-0"),
        ([], 50000, None),
        (["group2-0"], 5000, "group2-3"),
        (["group2-3"], 5000, "group2-0"),
        (["group2-0", "group2-1", "group2-2"], 10000, None),
        (["group3-0"], 40960, None),
        (["group1-0", "group1-2"], 100, "group1-1"),
        (["unknown-0"], 100, None),
    ],
)
def test_pod_gets_the_smallest_instance(taken: list[str], memory: int, instance: str | None) -> None:
    found = instance_for(STANDARD.geometries, A100, taken, memory, 40960)
    assert (named(found) if found else None) == instance


@pytest.mark.parametrize(
    ("cores", "level", "image_units", "is_upper_half_free", "template"),
    [
        (1, "low", "null", True, "vir01"),
        (1, "high", "", True, "vir01"),
        (2, "low", "null", True, "vir02_1c"),
        (2, "", "", True, "vir02_1c"),
        (2, "high", "null", True, "vir02"),
        (2, "high", "null", False, "vir02_1c"),
        (4, "low", "yes", True, "vir04_4c_dvpp"),
        (4, "high", "yes", True, "vir04_4c_dvpp"),
        (4, "low", "no", True, "vir04_3c_ndvpp"),
        (4, "low", "null", True, "vir04_3c"),
        (4, "high", "null", True, "vir04"),
        (4, "high", "null", False, "vir04_3c"),
        (2, "low", "yes", True, None),
        (4, "low", "perhaps", True, None),
        (3, "low", "null", True, None),
    ],
)
def test_template_follows_from_cores_and_labels(
    cores: int, level: str, image_units: str, is_upper_half_free: bool, template: str | None
) -> None:
    found = part_for(cores, level, image_units, is_upper_half_free=is_upper_half_free)
    assert (found.name if found else None) == template


@pytest.mark.parametrize(
    ("memory", "part"),
    [(0, ("", 21527)), (1, ("vir01", 3072)), (3072, ("vir01", 3072)), (3073, ("vir02", 6144)), (12289, ("", 21527)),
     (24576, ("", 21527)), (24577, None)],
)  # fmt: skip
def test_chip_share_uses_the_smallest_template(memory: int, part: tuple[str, int] | None) -> None:
    found = STANDARD.chips["Ascend310P"].part_for(memory)
    assert ((found.name, found.memory) if found else None) == part


DEVICES = [SharedDevice("g0", "V100"), SharedDevice("g1", "V100")]


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("g0,NVIDIA,100,30:", ((Share(0, 100, 30),),)),
        ("g0,NVIDIA,100,30", ((Share(0, 100, 30),),)),
        ("g0,NVIDIA,100,0:g1,NVIDIA,50,0:", ((Share(0, 100), Share(1, 50)),)),
        ("g0,NVIDIA,100,0:;;g1,NVIDIA,50,0:", ((Share(0, 100),), (), (Share(1, 50),))),
        ("g1[group2-0],NVIDIA,10240,0:", ((Share(1, 10240, part="group2-0"),),)),
        ("g7,NVIDIA,100,0:", ((),)),
        ("", ((),)),
    ],
)
def test_annotation_is_parsed(text: str, shares: tuple[tuple[Share, ...], ...]) -> None:
    assert assigned(text, DEVICES, "key") == shares


@pytest.mark.parametrize(
    "text", ["g0,NVIDIA,100,30:", "g0,NVIDIA,100,0:;;g1,NVIDIA,50,0:", "g1[group2-0],NVIDIA,10240,0:g0,NVIDIA,1,2:"]
)
def test_formatted_annotation_parses_to_the_same_shares(text: str) -> None:
    assert formatted(assigned(text, DEVICES, "key"), DEVICES, lambda _: "NVIDIA") == text


@pytest.mark.parametrize("text", ["g0", "g0,NVIDIA,-1,0:", "g0,NVIDIA,1:", "g0,NVIDIA,1,2,3:", "g0,NVIDIA,x,0:"])
def test_invalid_annotation_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="annotation key: expected id,type,memory,cores for each device"):
        assigned(text, DEVICES, "key")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nvidia: 7", "nvidia must be a mapping"),
        ("- 1", "expected a mapping"),
        ("a: [", "not readable as YAML"),
        ("nvidia: {knownMigGeometries: 1}", "nvidia.knownMigGeometries must be a list"),
        ("nvidia: {knownMigGeometries: [{models: [X]}]}", r"knownMigGeometries\[0\].allowedGeometries must be a list"),
        ("nvidia: {knownMigGeometries: [{models: [X], allowedGeometries: [{group: g, geometries: [{name: a, memory: b, "
         "count: 1}]}]}]}", r"geometries\[0\].memory must be a whole number"),
        ("nvidia: {knownMigGeometries: [{models: [X], allowedGeometries: [{group: g, geometries: [{name: a, memory: 1, "
         "count: 9999999}]}]}]}", r"geometries\[0\].count must be a whole number up to 1024"),
        ("vnpus: [{commonWord: X}]", r"vnpus\[0\].memoryCapacity must be a whole number"),
    ],
)  # fmt: skip
def test_invalid_catalog_is_rejected(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_catalog({FILE: text})


def test_catalog_without_its_file_is_the_default() -> None:
    with pytest.raises(ValueError, match="data has no device-config"):
        read_catalog({})


def test_missing_sections_of_catalog_have_defaults() -> None:
    assert read_catalog({FILE: "nvidia: {deviceSplitCount: 4}"}) == STANDARD
    assert read_catalog({FILE: "vnpus: {hamiVnpuCore: true}"}).geometries == STANDARD.geometries


def opened(*manifests: object) -> tuple[Session, DeviceShare]:
    conf = sharing(VGPUEnable=True, SchedulePolicy="binpack")
    program = Program(parse_configuration(conf, BUILT_IN), BUILT_IN)
    world = PlannedCluster(objects(flattened(manifests)), program, scheduler_names=SCHEDULER_NAMES)
    session = Session(world.snapshot(), program)
    found = program.plugins["deviceshare"]
    assert isinstance(found, DeviceShare)
    return session, found


def test_undone_and_repeated_nomination_has_the_same_devices() -> None:
    """Chosen anew, the first task would get the GPU that others have made fuller meanwhile."""
    sizes = (30, 40, 45)
    session, share = opened(
        gpu_node("a", "g0", "g1", memory=100), gang_of(*(pod(1, more=vgpu(memory=size)) for size in sizes))
    )
    tasks, statement = list(session.jobs["default/gang"].tasks.values()), session.statement()
    for task in tasks:
        statement.pipeline(task, 0)
    before = share.states[0].fingerprint()
    statement.unpipeline(tasks[0])
    assert share.states[0].fingerprint() != before
    statement.rollback(3)
    assert share.states[0].fingerprint() == before


def test_successor_gets_other_devices_than_the_evicted_pod() -> None:
    old = gang_of(pod(1, nodeName="a", more=vgpu(memory=60), annotations=having("g0:60")), name="old", minimum=0)
    session, share = opened(gpu_node("a", "g0", memory=100), gpu_node("b", "g1", memory=100), old)
    [task], statement, states = session.jobs["default/old"].tasks.values(), session.statement(), share.states[0]
    said = [states.fingerprint()]
    statement.evict(task, "moved")
    said.append(states.fingerprint())
    for row in (1, 0):
        statement.relocate(task, row)
        uses = [node.uses(later=True)[0].memory for node in states.rows if node is not None]
        assert uses == [60, 0] if row == 0 else [0, 60]
        statement.rollback(1)
        assert states.fingerprint() == said[1]
    statement.rollback(0)
    assert states.fingerprint() == said[0]


def test_state_of_unchanged_nodes_is_reused() -> None:
    nodes = [gpu_node(name, f"g{name}") for name in "ab"]
    old = gang_of(pod(1, nodeName="a", more=vgpu(memory=5), annotations=having("ga:5")), name="old", minimum=0)
    session, share = opened(nodes, old, gang(1, more=vgpu(memory=5)))
    before = list(share.states[0].rows)
    share.open(Session(session.snapshot, session.program))
    assert [one is other for one, other in zip(share.states[0].rows, before, strict=True)] == [True, True]
