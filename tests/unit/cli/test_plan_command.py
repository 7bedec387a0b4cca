"""`stromboli plan`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from stromboli.core.config.configuration import DEFAULT_TEXT
from tests.testing.cases.case import configuration
from tests.testing.manifests.builders import foreign, gang, nodes, pod, queue, running
from tests.testing.manifests.hypernodes import SOFT, TREE
from tests.testing.manifests.resource_claims import claiming, device_class, offer, template
from tests.unit.cli.conftest import Run

FITS = [*nodes(4, 2), *gang(3, 2)]
WAITS = [*nodes(4, 2), *gang(3, 4)]


def planned(result: Result) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(result.stdout)
    return report


# -- JSON -------------------------------------------------------------------------------------------------------------


def test_a_plan_as_json(run: Run) -> None:
    result = run("plan", FITS, "-o", "json")
    report = planned(result)
    binds = {"default/gang-task-0": "a", "default/gang-task-1": "b", "default/gang-task-2": "a"}
    assert (result.exit_code, result.stderr) == (0, "")
    assert set(report) == {
        *("cycles", "binds", "devices", "pipelined", "evictions", "evictionDetails", "refusedPreemptions"),
        *("podGroups", "pods", "queues", "warnings", "unjudged", "inactive"),
    }
    assert sorted(report["binds"]) == sorted(binds)
    assert report["cycles"] == [{"binds": report["binds"], "pipelined": {}, "evictions": {}}]
    assert report["queues"]["default"] == {
        "allocated": {"cpu": "6", "pods": "3"}, "deserved": {"cpu": "6", "pods": "3"}, "share": 1.0,
    }  # fmt: skip


def test_devices_of_claims_are_shown(run: Run) -> None:
    world = [*nodes(4, 1), device_class(), offer("a", 1), template(), *gang(1, resourceClaims=claiming(gpu="each"))]
    devices = {"default/gang-task-0": ["gpu: gpu.example.com/a/gpu-0"]}
    assert planned(run("plan", world, "-o", "json"))["devices"] == devices
    text = run("plan", world).output
    assert "DEVICES" in text
    assert "gpu: gpu.example.com/a/gpu-0" in text


def test_wide_tables_list_all_nodes_and_queues(run: Run) -> None:
    world = [*nodes(1, 6), *gang(6, 1)]
    narrow, wide = (run("plan", world, "-o", output).stdout for output in ("table", "wide"))
    assert ("PRIORITY" in narrow, "PRIORITY" in wide) == (False, True)
    assert "d ×1 and 2 more nodes" in narrow
    assert "d ×1, e ×1, f ×1" in wide
    assert ("\nroot " in narrow, "\nroot " in wide) == (False, True)


def test_waiting_group_as_json(run: Run) -> None:
    result = run("plan", WAITS, "-o", "json")
    group = planned(result)["podGroups"]["default/gang"]
    assert result.exit_code == 3
    assert (group["phase"], group["minMember"], group["ready"], group["pods"]) == ("Inqueue", 3, 0, 3)
    assert [sorted(condition) for condition in group["conditions"]] == [
        ["message", "reason", "status", "transitionID", "type"]
    ]
    assert (group["conditions"][0]["type"], group["conditions"][0]["transitionID"]) == ("Unschedulable", "cycle-1")
    assert group["reasons"] == ["the 3 pods that must start together request cpu 12, but the cluster has cpu 8"]
    assert group["codes"] == ["ExceedsCluster"]
    assert group["summary"] == "needs 12 cpu, cluster has 8"
    pods = planned(result)["pods"]
    assert {(pod["reason"], pod["message"]) for pod in pods.values()} == {("Unschedulable", group["reasons"][0])}


def test_yaml_equals_json(run: Run) -> None:
    assert yaml.safe_load(run("plan", WAITS, "-o", "yaml").stdout) == planned(run("plan", WAITS, "-o", "json"))


def test_explanations_as_json(run: Run) -> None:
    report = planned(run("plan", WAITS, "-o", "json", "--explain"))
    change = report["explanations"]["default/gang"]["smallestChange"]
    assert (change["object"], change["field"], change["from"], change["to"]) == (
        "PodGroup default/gang", "spec.minMember", 3, 2,
    )  # fmt: skip


def test_several_cycles(run: Run) -> None:
    report = planned(run("plan", [*nodes(4, 1), *gang(2), *gang(3, name="next")], "-o", "json", "--cycles", "3"))
    assert [len(cycle["binds"]) for cycle in report["cycles"]] == [2, 0, 0]
    assert len(report["binds"]) == 2
    assert report["podGroups"]["default/next"]["conditions"][0]["transitionID"] == "cycle-3"


def test_nominated_capacity_is_reported_as_pipelined(run: Run) -> None:
    report = planned(run("plan", [*nodes(2, 1), *running("a", 2, releasing=True), *gang(1, 2)], "-o", "json"))
    assert (report["binds"], report["pipelined"]) == ({}, {"default/gang-task-0": "a"})


def test_only_pods_of_this_scheduler_are_placed(run: Run) -> None:
    objects = [*nodes(4, 1), pod(name="ours"), pod(name="theirs", schedulerName="other"), foreign("a")]
    assert list(planned(run("plan", objects, "-o", "json"))["binds"]) == ["default/ours"]
    assert list(planned(run("plan", objects, "-o", "json", "--scheduler-name", "other"))["binds"]) == ["default/theirs"]


# -- input ------------------------------------------------------------------------------------------------------------


def test_the_standard_input(run: Run) -> None:
    assert run("plan", FITS, file="-").stdout == run("plan", FITS).stdout


def test_invalid_object_is_a_warning_and_affects_no_other(run: Run) -> None:
    bad = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "odd"}, "spec": {"containers": 5}}]
    bad.append({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web"}})
    result = run("plan", [*FITS, *bad])
    assert result.exit_code == 3
    assert result.stderr.splitlines() == [
        "warning: cluster/objects.json:1: Pod odd: spec.containers: expected a list, got an integer; "
        "write a list, one item per dash",
        "note: objects of kinds that the scheduler does not read were skipped: 1 Secret",
    ]
    assert planned(run("plan", [*FITS, *bad], "-o", "json"))["warnings"][0].startswith(
        "cluster/objects.json:1: Pod odd"
    )


def config_map(text: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "conf", "namespace": "x"},
        "data": {"volcano-scheduler.conf": text},
    }


def test_configuration_in_the_manifests_is_ignored(run: Run) -> None:
    assert run("plan", [*FITS, config_map("actions: nonsense")]).exit_code == 0


def test_configuration_file_may_be_a_config_map(run: Run) -> None:
    Path("conf.yaml").write_text(json.dumps(config_map(DEFAULT_TEXT.replace("allocate, ", ""))))
    assert planned(run("plan", FITS, "--conf", "conf.yaml", "-o", "json"))["binds"] == {}


def test_plugin_failure_ends_the_plan_with_a_message(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from stromboli.core.config.plugin import Plugin\n\nclass Broken(Plugin):\n    name = 'broken'\n\n"
    code += "    def open(self, session):\n        raise ValueError('bad value')\n"
    (tmp_path / "broken_plugin.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    Path("conf").write_text("actions: allocate\ntiers: [plugins: [name: broken]]")
    result = run("plan", FITS, "--conf", "conf", "--plugin", "broken_plugin:Broken")
    assert (result.exit_code, result.stdout) == (1, "")
    place = f"{tmp_path.name}/broken_plugin.py:7"
    assert result.stderr == f"error: plugin broken failed: ValueError: bad value ({place})\n"


# -- text -------------------------------------------------------------------------------------------------------------

TABLE = """\
GROUP         QUEUE    PHASE    READY  MIN  PODS  NODES       WHY IT WAITS
default/gang  default  Running      2    2     4  a ×1, b ×1  needs 4 cpu, cluster has 8, jobs use 8
default/rest  other    Pending      0    1     1  -           queue 'other' does not exist

QUEUE    ALLOCATED  DESERVED  SHARE
default  cpu 8      cpu 8      100%

2 pods bound in 1 cycle; 1 job waits; 1 job runs with some pods waiting.
"""


MISSING_QUEUE = (
    "warning: cluster/objects.json:1: PodGroup default/rest: spec.queue: Queue other does not exist; add it\n"
)


def test_plan_as_table(run: Run) -> None:
    result = run("plan", [*nodes(4, 2), *gang(4, 4, minimum=2), *gang(1, name="rest", queue="other")])
    assert (result.exit_code, result.stdout, result.stderr) == (3, TABLE, MISSING_QUEUE)


def test_summary_of_complete_plan(run: Run) -> None:
    assert run("plan", FITS).stdout.endswith("3 pods bound in 1 cycle; every pod is scheduled.\n")
    assert run("plan", nodes(4, 1)).stdout.endswith("0 pods bound in 1 cycle; there are no pods.\n")


def test_network_domain_of_topology_jobs_is_shown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "conf.yaml").write_text(configuration("gang", "predicates", "network-topology-aware"))
    world = [*TREE, *gang(3, 2, topology=SOFT), *gang(1, 2, name="other")]
    result = run("plan", world, "--conf", str(tmp_path / "conf.yaml"))
    assert "GROUP         NETWORK DOMAIN\ndefault/gang  placed in block-0 (tier 2)\n\n" in result.stdout
    assert "NETWORK DOMAIN" not in run("plan", FITS).stdout


def test_explanations_under_the_table(run: Run) -> None:
    output = run("plan", WAITS, "--explain").stdout
    assert "default/gang waits: needs 12 cpu, cluster has 8.\n0 of 3 pods are scheduled, and 3 must" in output
    assert "    lower minMember of PodGroup default/gang from 3 to 2\n" in output
    assert output.endswith("0 pods bound in 1 cycle; 1 job waits.\n")


def test_names_cannot_control_the_terminal(run: Run) -> None:
    evil = "\x1b[2J\x9b31mred\nnext"
    objects = [*nodes(4, 1), *gang(1, queue=evil), *nodes(1, 1, taints=[f"{evil}:NoSchedule"])]
    for form in ("table", "json", "yaml"):
        result = run("plan", objects, "-o", form, "--explain")
        text = result.stdout + result.stderr
        assert result.exit_code == 3
        assert not set(text) & {"\x1b", "\x9b"}, form


def test_a_large_plan(run: Run) -> None:
    groups = [entry for number in range(600) for entry in gang(1, name=f"job-{number}")]
    lines = run("plan", [*nodes(400, 1), queue("unused"), *groups]).stdout.splitlines()
    assert lines[-1] == "400 pods bound in 1 cycle; 200 jobs wait."
    assert sum(line.startswith("default/job-") for line in lines) == 600


def test_object_whose_pods_are_not_known_is_in_the_report(run: Run) -> None:
    foo = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "x"},
           "spec": {"template": {"spec": {"containers": [{"name": "main"}]}}}}  # fmt: skip
    result = run("plan", [*FITS, foo], "-o", "json")
    assert (planned(result)["unjudged"], result.exit_code) == (["Foo default/x"], 3)
    assert run("simulate", [*FITS, foo]).exit_code == 3


def test_suspended_workload_is_named_with_the_reason(run: Run) -> None:
    held = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "held"},
            "spec": {"suspend": True, "template": {"spec": {"containers": [{"name": "main"}]}}}}  # fmt: skip
    result = run("plan", [*nodes(1, 1), held])
    closing = "0 pods bound in 1 cycle; Job default/held is suspended and has no pods."
    assert (result.stdout.splitlines()[-1], result.exit_code) == (closing, 0)
    assert planned(run("plan", [*FITS, held], "-o", "json"))["inactive"] == {"Job default/held": "is suspended"}
    explained = run("explain", [*FITS, held], "held")
    assert (explained.exit_code, "Job default/held is suspended" in explained.stderr) == (3, True)


def test_forecast_leaves_explanations_as_they_are(run: Run) -> None:
    """Both open sessions of the same policy, whose plugins belong to the session that was opened last."""
    plain, with_starts = (planned(run("plan", WAITS, "--explain", "-o", "json", *more)) for more in ((), ("--when",)))
    assert with_starts.pop("expectedStarts").keys() == {"default/gang"}
    assert with_starts == plain
