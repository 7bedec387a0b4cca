"""Any document of a workload kind is expanded, or rejected with a message about one of its fields."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from stromboli import kube
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.groups import group_of, min_available
from stromboli.workloads.families.volcano.tasks import pod_of_task, tasks_of
from stromboli.workloads.reading import read_with_workloads
from tests.testing.random_clusters.effort import examples

FOLDER = Path(__file__).parents[2] / "scenarios" / "workloads" / "manifests"
#: Without aliases, so that a change affects one place.
FILES = {
    path.stem: json.loads(json.dumps(list(yaml.safe_load_all(path.read_text()))))
    for path in sorted(FOLDER.glob("*.yaml"))
}
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 3, 2**40, 0.5, "", "x", "a/b", "1Gi", [], [1], [[]], [{}], {}, {"a": 1}, {"spec": 1}]
)


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container in a document with its keys."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in entries:
        yield value, key
        yield from places_in(part)


@st.composite
def damaged(draw: st.DrawFn) -> list[Any]:
    documents = copy.deepcopy(FILES[draw(st.sampled_from([name for name in FILES if name != "cluster"]))])
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from([*places_in(documents)]))
        holder[key] = copy.deepcopy(draw(JUNK))
    return documents


@examples(300)
@given(damaged())
def test_damaged_workload_is_expanded_or_rejected(documents: list[Any]) -> None:
    text = json.dumps([*(each for each in documents if each is not None), *FILES["cluster"]])
    found = read_with_workloads(["-"], StringIO(text), scheduler_names=("volcano",))
    for problem in found.problems:
        assert problem.error.message
        assert problem.error.remedy
    keys = [(type(each), each.key) for each in found.objects]
    assert len(keys) == len(set(keys))


TASKS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=4)


@examples(100)
@given(TASKS, st.integers(0, 12))
def test_group_of_a_volcano_job_asks_for_the_requests_of_its_minimum(
    sizes: list[tuple[int, int]], minimum: int
) -> None:
    template = {"spec": {"containers": [{"name": "a", "image": "x", "resources": {"requests": {"cpu": 1}}}]}}
    tasks = [
        {"name": f"t{place}", "replicas": replicas, "minAvailable": min(least, replicas), "template": template}
        for place, (replicas, least) in enumerate(sizes)
    ]
    total = sum(replicas for replicas, _ in sizes)
    document = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"},
                "spec": {"tasks": tasks, "minAvailable": min(minimum, total)}}  # fmt: skip
    job = WorkloadDocument(document)
    spec = group_of(job)["spec"]
    assert spec["minMember"] == min_available(job, tasks_of(job))
    assert int(spec.get("minResources", {}).get("cpu", 0)) == spec["minMember"]
    pods = [pod_of_task(job, task, index) for task in tasks_of(job) for index in range(task.replicas)]
    names = [each["metadata"]["name"] for each in pods]
    assert len(set(names)) == total
    found = read_with_workloads(["-"], StringIO(json.dumps(document)), scheduler_names=("volcano",))
    assert [each.metadata.name for each in found.objects if isinstance(each, kube.Pod)] == names
