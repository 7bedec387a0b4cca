"""Any input leads to a plan or an error message, in bounded time."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.core.config.configuration import DEFAULT_TEXT, ConfigurationError
from stromboli.core.model.reasons import Code
from stromboli.core.plugins import PLUGINS
from stromboli.core.session.program import Program
from stromboli.kube.manifests.manifests import ManifestError, Manifests
from stromboli.planner.report import report_of
from stromboli.workloads.reading import read_with_workloads
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import plan_of, program_of
from tests.testing.random_clusters.worlds import SmallWorld, Traits, chance, worlds

MAX_SECONDS = 2.0
SMALL = Traits(most_nodes=4)

texts = st.sampled_from(
    [
        "", "0", "-1", "1e3", "1E", "9223372036854775807", "1Ei", "8191Pi", "0.1n", "nan", "inf", "+", "٣", "🜏", "a/b",
        "null", "true", "2024-05-01T08:00:00Z", "0001-01-01T00:00:00+23:59", "x" * 300, "\u202e", "job-0", "default",
        "root", "NoSchedule", "In", "Exists", "zone", "node-00", "Running", "100%",
    ]
)  # fmt: skip
numbers = st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**53 + 1, 2**60, 2**63, -(2**64), 10**30, 0.5, 1e308])
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
lists = st.lists(scalars, max_size=3)
maps = st.dictionaries(texts, scalars, max_size=3)
#: New objects each time: they are part of a document that is changed further.
nested: st.SearchStrategy[Any] = st.builds(lambda: [[[[{}]]]])
junk: st.SearchStrategy[Any] = st.one_of(scalars, lists, maps, nested, st.builds(dict))
#: Deeply nested clauses, as a broken generator would write them.
deep = st.integers(1, 1200).map(
    lambda number: {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": f"label-{n}", "operator": "Exists"}]} for n in range(number)
                ]
            }
        }
    }
)


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield every path in a document, except the document itself."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, entry in entries:
        yield (*path, step)
        yield from paths_in(entry, (*path, step))


AMOUNTS = ("requests", "allocatable", "minResources", "capability", "resource")


def drop(draw: st.DrawFn, document: dict[str, Any]) -> None:
    holder, step = chosen_place(draw, document)
    del holder[step]


def replace(draw: st.DrawFn, document: dict[str, Any]) -> None:
    holder, step = chosen_place(draw, document)
    holder[step] = draw(junk)


def add(draw: st.DrawFn, document: dict[str, Any]) -> None:
    spec = document.setdefault("spec", {})
    if isinstance(spec, dict):
        spec[draw(st.sampled_from(FIELDS))] = draw(st.one_of(junk, deep))


#: Lists from this length on stay as they are.
_INFLATED = 12


def inflate(draw: st.DrawFn, document: dict[str, Any]) -> None:
    """Set all amounts to the same invalid text, and make lists twelve times as long, each once: a few times more would
    only exceed the memory of the test.
    """
    text = draw(texts)
    for path in list(paths_in(document)):
        holder = holder_of(document, path)
        if len(path) > 1 and path[-2] in AMOUNTS:
            holder[path[-1]] = text
        elif isinstance(holder[path[-1]], list) and len(holder[path[-1]]) < _INFLATED:
            holder[path[-1]] = holder[path[-1]] * 12


def chosen_place(draw: st.DrawFn, document: dict[str, Any]) -> tuple[Any, Any]:
    path = draw(st.sampled_from(list(paths_in(document))))
    return holder_of(document, path), path[-1]


def holder_of(document: dict[str, Any], path: tuple[Any, ...]) -> Any:
    """Return the part of the document that holds the last step of the path."""
    for step in path[:-1]:
        document = document[step]
    return document


@st.composite
def mutated(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw the manifests of a small cluster with some mutations."""
    documents = [objects.manifest(entry) for entry in draw(worlds(SMALL)).objects]
    for _ in range(draw(st.integers(1, 6))):
        document = draw(st.sampled_from([document for document in documents if document]))
        draw(st.sampled_from([replace, drop, add, inflate]))(draw, document)
    return documents


FIELDS = (
    "affinity", "tolerations", "priority", "priorityClassName", "overhead", "initContainers", "nodeName", "weight",
    "minMember", "minTaskMember", "minResources", "subGroupPolicy", "networkTopology", "topologySpreadConstraints",
    "capability", "guarantee", "deserved", "parent", "taints", "schedulingGates", "resources", "hostNetwork",
)  # fmt: skip


@contextmanager
def in_time() -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < MAX_SECONDS


def no_rule_failed(report: dict[str, Any]) -> None:
    """Built-in rules handle everything that the decoder accepts."""
    failed = [key for key, group in report["podGroups"].items() if Code.PLUGIN_FAILED in group["codes"]]
    assert not failed, report["warnings"]


def read(text: str) -> Manifests:
    return read_with_workloads(["-"], io.StringIO(text), scheduler_names=("stromboli",))


@examples(250)
@given(mutated())
def test_any_manifest_gives_a_plan_or_a_message(documents: list[dict[str, Any]]) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
    with in_time():
        manifests = read(text)
        report = report_of(plan_of(manifests.objects, cycles=2))
        json.dumps(report, allow_nan=False)
    no_rule_failed(report)


@examples(60)
@given(st.lists(junk, min_size=1, max_size=3))
def test_any_text_is_decoded_or_rejected_with_a_message(documents: list[Any]) -> None:
    text = "\n---\n".join(yaml.safe_dump(entry) for entry in documents)
    with suppress(ManifestError), in_time():
        plan_of(read(text).objects)


# -- odd, but well-formed ---------------------------------------------------------------------------------------------

FAT = kube.PodSpec(
    scheduler_name="stromboli", containers=[objects.container({"memory": "1Ei"}, name=f"main-{n}") for n in range(12)]
)
FAR_AWAY = kube.WeightedPodAffinityTerm(
    weight=-(2**31),
    pod_affinity_term=kube.PodAffinityTerm(label_selector=kube.KubeLabelSelector(), topology_key="zone"),
)
CLAUSES = [kube.KubeRequirement(key=f"label-{n}", operator="Exists") for n in range(5000)]
PICKY = kube.KubeNodeAffinity(
    required=kube.NodeSelector(node_selector_terms=[kube.NodeSelectorTerm(match_expressions=CLAUSES)])
)
SHY = kube.KubePodAffinity(preferred=[FAR_AWAY])
PLAIN = objects.template({"cpu": "1"})

ODDITIES: dict[str, list[kube.KubeObject]] = {
    "a pod that asks for more than 64 bits": objects.gang("odd", 1, FAT),
    "a pod that has more than 64 bits": [
        objects.pod("odd", msgspec.structs.replace(FAT, node_name="node"), phase="Running")
    ],
    "nodes that have more than 64 bits": [objects.node(f"odd-{n}", {"memory": "1Ei"}) for n in range(12)],
    "a preference beyond all bounds": objects.gang(
        "odd", 2, objects.template({"cpu": "1"}, affinity=kube.Affinity(pod_anti_affinity=SHY))
    ),
    "a selector without end": objects.gang(
        "odd", 2, objects.template({"cpu": "1"}, affinity=kube.Affinity(node_affinity=PICKY))
    ),
    "a group from yesterday": [objects.group("odd", min_member=1, created="yesterday")],
    "a group from the beginning of time": objects.gang("odd", 1, PLAIN, created="0001-01-01T00:00:00+23:59"),
    "a group from the end of time": objects.gang("odd", 1, PLAIN, created="9999-12-31T23:59:59-23:59"),
}


@pytest.mark.parametrize("oddity", ODDITIES)
def test_unusual_objects_keep_no_pod_from_being_placed(oddity: str) -> None:
    world = [objects.node("node", {"cpu": "8", "memory": "8Gi"}), *objects.gang("plain", 3, PLAIN)]
    with in_time():
        plan = plan_of([*ODDITIES[oddity], *world])
    no_rule_failed(report_of(plan))
    assert {"team/plain-0", "team/plain-1", "team/plain-2"} <= plan.binds.keys()


# -- configurations ---------------------------------------------------------------------------------------------------

DEFAULT = yaml.safe_load(DEFAULT_TEXT)
DECLARED = {plugin.name: plugin.arguments.declared for plugin in PLUGINS}
#: Unusual values that the configuration decoder must accept.
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    int: st.sampled_from([0, 1, -1, 2, 7, -5, 2**31, 2**62, -(2**62)]),
    float: st.sampled_from([0, 1, 1.5, -1.0, 1e-300, 1e308]),
    bool: st.booleans(),
    str: st.sampled_from(["", "nvidia.com/gpu", "nvidia.com/gpu, example.com/nic", " ,,cpu", "🜏"]),
    list: lists,
}
switches = st.dictionaries(
    st.sampled_from(["enableJobOrder", "enabledJobReady", "enableHierarchy", "enablePredicate", "enableNodeOrder"]),
    st.booleans(),
    max_size=2,
)


def draw_plugin(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Draw a plugin with some of its arguments and some switches."""
    entry: dict[str, Any] = {"name": name, **draw(switches)}
    for argument in DECLARED[name]:
        if chance(draw, 4):
            key = argument.key.replace("<name>", "example.com/nic")
            entry.setdefault("arguments", {})[key] = draw(VALUES[argument.type])
    return entry


@st.composite
def configurations(draw: st.DrawFn) -> Any:
    """Draw the default configuration with altered plugins; sometimes reversed, or with junk in it."""
    configuration = yaml.safe_load(DEFAULT_TEXT)
    for tier in configuration["tiers"]:
        tier["plugins"] = [draw_plugin(draw, plugin["name"]) for plugin in tier["plugins"]]
    if chance(draw, 4):
        configuration["tiers"].reverse()
        configuration["actions"] = draw(
            st.sampled_from(["allocate", "backfill, enqueue", "allocate, allocate", "x", ""])
        )
    if chance(draw, 4):
        holder, step = chosen_place(draw, configuration)
        holder[step] = draw(junk)
    return configuration


def program_or_sentence(configuration: Any) -> Program | str:
    try:
        return program_of(yaml.safe_dump(configuration))
    except ConfigurationError as error:
        return str(error)


@examples(150)
@given(configurations(), worlds(SMALL))
def test_any_configuration_gives_a_plan_or_a_message(configuration: Any, world: SmallWorld) -> None:
    with in_time():
        answer = program_or_sentence(configuration)
        assert answer
        if isinstance(answer, Program):
            no_rule_failed(report_of(plan_of(world.objects, answer)))


def test_unbounded_overcommit_factor_admits_every_job() -> None:
    text = DEFAULT_TEXT.replace(
        "- name: overcommit", "- name: overcommit\n    arguments: {overcommit-factor: 1.0e+308}"
    )
    gang = objects.gang("plain", 2, PLAIN, min_resources={"cpu": "2"})
    assert len(plan_of([objects.node("node", {"cpu": "4"}), *gang], program_of(text)).binds) == 2


def test_the_default_configuration_is_among_those_that_plan() -> None:
    assert isinstance(program_or_sentence(DEFAULT), Program)
