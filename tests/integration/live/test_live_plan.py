"""Commands that read a living cluster, with files on top."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from stromboli.kube.objects.catalogue import VOLCANO_JOBS
from stromboli.local.api_server.faults import Action, Answer, CutConnection, Match
from tests.integration.live.conftest import LiveServer, policy
from tests.testing.manifests.builders import Manifest, gang, manifest, node, nodes, pod, queue, running

PREEMPTING = Path("examples/contention/scheduler.conf").read_text()
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}}


def job(pods: int, cpu: int, **metadata: object) -> Manifest:
    """A Job of the scheduler, without a namespace."""
    container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {"spec": {"schedulerName": "stromboli", "containers": [container], "restartPolicy": "Never"}}
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {**JOB, "metadata": {**JOB["metadata"], **metadata}, "spec": spec}  # type: ignore[dict-item]


async def test_submitted_job_starts_on_the_nodes_of_the_cluster(live: LiveServer) -> None:
    await live.apply(*nodes(4, 2), *running("a", 3), *gang(1, 2, name="other"))
    result = await live.run("plan", files=[job(2, 2)])
    report = await live.report("plan", files=[job(2, 2)])
    assert result.exit_code == 3  # the pods that run and those of the other job leave capacity for one
    assert list(report["binds"].values()) == ["b"]
    assert len(report["podGroups"]) == 1
    assert "no scheduler is installed as stromboli-system/stromboli; the default configuration applies" in result.stderr
    assert (await live.run("plan", files=[job(1, 2)])).exit_code == 0


async def test_policy_of_the_running_scheduler_applies(live: LiveServer) -> None:
    low, high = (manifest("PriorityClass", name, "scheduling.k8s.io/v1", value=value) for name, value in
                 (("low", 1), ("high", 100)))  # fmt: skip
    await live.apply(low, high, *nodes(4, 1), *running("a", 4, minimum=1, priority="low", priorityClassName="low"))
    urgent = gang(1, 4, name="urgent", priority="high", priorityClassName="high")
    before = await live.report("plan", files=urgent)
    await live.apply(*policy(PREEMPTING))
    after = await live.report("plan", files=urgent)
    assert (before["evictions"], before["pipelined"]) == ({}, {})
    assert list(after["evictions"]) == ["default/old-task-0"]
    assert after["pipelined"] == {"default/urgent-task-0": "a"}
    [note] = [each for each in after["warnings"] if each.startswith("note: cluster")]
    assert note == (
        f"note: cluster {live.server.url}, policy of ConfigMap stromboli-system/stromboli-scheduler-configmap"
    )


WITHOUT_JOB = {
    "unknown kind": (
        {**job(1, 1), "apiVersion": "example.com/v1", "kind": "Widget"},
        (3, "The files contain no job that could be judged."),
    ),
    "malformed object": (
        {**JOB, "spec": {"parallelism": "four"}},
        (3, "The files contain no job that could be judged."),
    ),
    "no workload": (manifest("ConfigMap", "settings"), (0, "The files contain no job.")),
}


@pytest.mark.parametrize("case", WITHOUT_JOB)
async def test_plan_of_files_without_a_job_shows_no_job_of_the_cluster(case: str, live: LiveServer) -> None:
    document, (code, sentence) = WITHOUT_JOB[case]
    await live.apply(*nodes(4, 1), *gang(1, 1, name="other"))
    result = await live.run("plan", files=[document])
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (code, sentence)
    assert "default/other" not in result.stdout


DEPLOYMENT = {
    "containers": [
        {"name": "sidecar", "image": "example/other"},
        {
            "name": "scheduler",
            "image": "example/stromboli",
            "args": ["scheduler", "--scheduler-name=night", "--scheduler-conf=/etc/policy/own.conf", "--seed", "7"],
            "env": [{"name": "STROMBOLI_NODE_SELECTOR", "value": "pool:batch"}],
            "volumeMounts": [{"name": "policy", "mountPath": "/etc/policy"}],
        },
    ],
    "volumes": [{"name": "policy", "configMap": {"name": "mine"}}],
}


async def test_options_of_the_deployment_apply(live: LiveServer) -> None:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": DEPLOYMENT}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template}
    [namespace, config_map] = policy(PREEMPTING, "mine", "batch")
    config_map["data"] = {"own.conf": PREEMPTING}
    deployment = manifest("Deployment", "night-scheduler", "apps/v1", "batch", spec=spec)
    await live.apply(namespace, config_map, deployment, node("a"), node("b", labels={"pool": "batch"}))
    mine = pod(1, name="mine", schedulerName="night")
    report = await live.report("plan", "--installation", "batch/night", files=[mine])
    assert report["binds"] == {"default/mine": "b"}
    assert any(each.endswith("policy of ConfigMap batch/mine") for each in report["warnings"])
    other = await live.run("plan", "--installation", "batch/night", files=[pod(1, name="theirs")])
    assert "1 pod of scheduler stromboli is without a node and ignored; set spec.schedulerName to night" in other.stderr


async def test_files_with_nodes_are_a_complete_cluster(live: LiveServer) -> None:
    await live.apply(*nodes(4, 2))
    alone = [node("x"), *gang(1, 1)]
    assert (await live.report("plan", files=alone))["binds"] == {"default/gang-task-0": "x"}
    assert (await live.report("plan", "--offline", files=gang(1, 1)))["binds"] == {}
    added = await live.report("plan", "--kubeconfig", str(live.kubeconfig), files=[node("x", 64), *gang(1, 32)])
    assert added["binds"] == {"default/gang-task-0": "x"}


async def test_objects_of_files_replace_those_of_the_cluster(live: LiveServer) -> None:
    await live.apply(node("a", 4), queue("team", capability={"cpu": 1}), *gang(1, 2, queue="team"))
    assert (await live.report("plan"))["podGroups"]["default/gang"]["waiting"]
    assert (await live.report("topology"))["domains"][0]["nodes"] == 1
    raised = queue("team", capability={"cpu": 3})
    more = gang(1, 1, name="more", queue="team")
    assert (await live.report("plan", files=[raised, *more]))["binds"] == {"default/more-task-0": "a"}


async def test_job_that_is_in_the_cluster_is_not_added_twice(live: LiveServer) -> None:
    await live.apply(*nodes(4, 1), *gang(2, 2))
    report = await live.report("plan", files=gang(2, 2))
    assert len(report["binds"]) == 2
    assert any("Pod default/gang-task-0 is in the cluster already" in each for each in report["warnings"])


async def test_volcano_job_that_is_in_the_cluster_needs_no_other_group(live: LiveServer) -> None:
    """Its group is named for its uid, which is not in the file."""
    tasks = [{"name": "worker", "replicas": 1, "template": job(1, 1)["spec"]["template"]}]
    train = manifest("Job", "train", spec={"minAvailable": 1, "schedulerName": "stromboli", "tasks": tasks})
    train["apiVersion"] = "batch.volcano.sh/v1alpha1"
    created = await live.client.create(VOLCANO_JOBS, train)
    owner = {"apiVersion": train["apiVersion"], "kind": "Job", "name": "train", "uid": created.metadata.uid}
    (group, member) = gang(1, 1, name=f"train-{created.metadata.uid}")
    member["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    await live.apply(*nodes(4, 1), group, member)
    report = await live.report("plan", files=[train])
    assert any("Job default/train is in the cluster already" in each for each in report["warnings"])
    assert not [each for each in report["warnings"] if "does not exist" in each]


async def test_namespace_of_the_context_and_of_the_option(live: LiveServer) -> None:
    await live.apply(manifest("Namespace", "team"), *nodes(4, 1), *gang(1, 1))
    config = yaml.safe_load(live.kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = "team"
    live.kubeconfig.write_text(yaml.safe_dump(config))
    assert list((await live.report("plan", files=[job(1, 1)]))["binds"]) == ["team/train-0"]
    assert list((await live.report("plan", "-n", "elsewhere", files=[job(1, 1)]))["binds"]) == ["elsewhere/train-0"]
    assert list((await live.report("plan", "-n", "default"))["podGroups"]) == ["default/gang"]
    assert (await live.report("plan", "-n", "team"))["podGroups"] == {}
    refused = await live.run("plan", "-n", "team", files=[job(1, 1, namespace="other")])
    expected = r"job\.json:1: PodGroup other/podgroup-train: metadata.namespace: is not team, .*; use -n other"
    assert re.search(expected, refused.stderr)


async def test_explain_and_simulate_read_the_cluster(live: LiveServer) -> None:
    await live.apply(*nodes(4, 1), *gang(1, 8, name="huge"), *gang(1, 1, name="small"))
    explained = await live.run("explain", "-n", "default", "huge")
    assert (explained.exit_code, "needs 8 cpu" in explained.stdout) == (3, True)
    unknown = await live.run("explain", "-n", "default", "hugh")
    assert "no job is called hugh in namespace default; did you mean default/huge?" in unknown.stderr
    simulated = await live.report("simulate", "--until", "1h")
    assert simulated["jobs"]["default/small"]["started"] is not None


FLOW = {"apiVersion": "flow.volcano.sh/v1alpha1", "metadata": {"name": "nightly", "namespace": "default"}}


async def test_template_of_the_cluster_that_a_file_names_is_read(live: LiveServer) -> None:
    container = {"name": "main", "image": "example/main", "resources": {"requests": {"cpu": "1"}}}
    tasks = [{"name": "task", "replicas": 2, "template": {"spec": {"containers": [container]}}}]
    await live.apply(*nodes(4, 1), {**FLOW, "kind": "JobTemplate", "spec": {"minAvailable": 2, "tasks": tasks}})
    flow = {**FLOW, "kind": "JobFlow", "spec": {"flows": [{"name": "nightly"}]}}
    assert len((await live.report("plan", files=[flow]))["binds"]) == 2
    missing = await live.run("plan", files=[{**flow, "spec": {"flows": [{"name": "daily"}]}}])
    expected = "JobTemplate daily is neither in the input nor in the cluster; add the JobTemplate"
    assert (missing.exit_code, expected in missing.stderr) == (3, True), missing.stderr
    live.server.faults.add(*denied("jobtemplates"), times=None)
    refused = await live.run("plan", files=[flow])
    expected = "JobTemplate nightly may not be read in the cluster; ask for the ClusterRole stromboli-viewer; add the"
    assert (refused.exit_code, expected in refused.stderr) == (3, True), refused.stderr


def denied(plural: str) -> tuple[Match, Answer]:
    return Match(plural=plural), Answer(403, "Forbidden", f"{plural} is forbidden")


async def test_missing_rights_are_named(live: LiveServer) -> None:
    await live.apply(*nodes(4, 1))
    live.server.faults.add(*denied("hypernodes"), times=None)
    optional = await live.run("plan", files=gang(1, 1))
    assert optional.exit_code == 0
    assert "you may not list hypernodes.topology.volcano.sh: the result assumes that there are none" in optional.stderr
    live.server.faults.add(*denied("nodes"), times=None)
    live.server.faults.add(*denied("pods"), times=None)
    required = await live.run("plan", files=gang(1, 1))
    assert (required.exit_code, required.stdout) == (1, "")
    assert required.stderr == (
        "error: you may not list pods, nodes in all namespaces; ask an administrator to bind the ClusterRole "
        "stromboli-viewer to you. The scheduler was asked instead: the API server does not serve "
        "visibility.stromboli.dev; an administrator can install it, see install.md\n"
    )


async def test_unreadable_policy_is_a_warning(live: LiveServer) -> None:
    await live.apply(*nodes(4, 1), *policy(PREEMPTING))
    live.server.faults.add(*denied("configmaps"), times=None)
    result = await live.run("plan", files=gang(1, 1))
    assert "ConfigMap stromboli-system/stromboli-scheduler-configmap may not be read" in result.stderr
    overridden = await live.run("plan", "--conf", "examples/contention/scheduler.conf", files=gang(1, 1))
    assert overridden.stderr == ""


BROKEN: dict[str, tuple[Action, str]] = {
    "missing CRDs": (Answer(404, "NotFound"), "the cluster has no podgroups.scheduling.volcano.sh; install the CRDs"),
    "rejected credentials": (Answer(401, "Unauthorized"), "the API server rejects the credentials (injected); log in"),
    "failing server": (Answer(500, "InternalError"), "500 InternalError: injected"),
    "lost connection": (CutConnection(), "is unreachable"),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_broken_cluster_is_one_line_with_a_remedy(case: str, live: LiveServer) -> None:
    fault, message = BROKEN[case]
    live.server.faults.add(Match(plural="podgroups"), fault, times=None)
    for command in ("plan", "explain x", "simulate", "topology"):
        result = await live.run(*command.split())
        assert (result.exit_code, result.stdout) == (1, "")
        [line] = result.stderr.splitlines()
        assert message in line


async def test_cluster_without_crds(bare: LiveServer) -> None:
    result = await bare.run("plan")
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "error: the cluster has no podgroups.scheduling.volcano.sh, queues.scheduling.volcano.sh; install the CRDs "
        "first: stromboli manifests --only crds"
    )


async def test_pages_are_put_together(live: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stromboli.planner.live.listing.PAGE_SIZE", 3)
    await live.apply(*nodes(4, 5), *running("abcde", 3))
    assert (await live.report("topology"))["domains"][0]["nodes"] == 5
    assert (await live.report("plan"))["podGroups"]["default/old"]["pods"] == 5


async def test_answers_are_sentences(live: LiveServer) -> None:
    low, high = (manifest("PriorityClass", name, "scheduling.k8s.io/v1", value=value) for name, value in
                 (("low", 1), ("high", 100)))  # fmt: skip
    await live.apply(low, high, *nodes(4, 1), *running("a", 3, minimum=1, priority="low", priorityClassName="low"))
    await live.apply(*policy(PREEMPTING))
    urgent = gang(1, 4, name="urgent", priority="high", priorityClassName="high")
    answers = {
        "small": (gang(1, 1, name="small"), "default/small starts now on a ×1."),
        "urgent": (urgent, "default/urgent starts on a ×1 once terminating pods are gone; it preempts 1 pod: "
                           "default/old-task-0."),
        "present": (running("a", 3), "default/old runs already on a ×1."),
        "partly": (gang(2, 1, name="partly", minimum=1),
                   "default/partly starts now with 1 of 2 pods on a ×1; "
                   "the others wait: needs 1 cpu, most free on a node is 0."),
        "large": (gang(1, 8, name="large"), "default/large waits: needs 8 cpu, largest node has 4."),
        "no job": ([queue("new")], "The files contain no job."),
    }  # fmt: skip
    for name, (files, answer) in answers.items():
        text = (await live.run("plan", files=files)).stdout
        assert text.rstrip().endswith(answer), name


async def test_expected_start_of_a_submitted_job(live: LiveServer) -> None:
    run_time = {"scheduling.stromboli.dev/run-time": "1h"}
    await live.apply(*nodes(4, 1), *running("a", 4, annotations=run_time))
    report = await live.report("plan", files=gang(1, 4, name="next"))
    assert report["podGroups"]["default/next"]["waiting"]
    assert report["expectedStarts"]["default/next"]["expected"] is not None


NAMED = """
actions: allocate
tiers:
- plugins:
  - {name: gang, arguments: {}}
  - name: deviceshare
    arguments: {deviceshare.VGPUEnable: true}
  - {name: predicates}
"""


async def test_config_maps_that_the_policy_names_are_read(live: LiveServer) -> None:
    await live.apply(*nodes(4, 1), *policy(NAMED))
    missing = await live.run("plan", files=gang(1, 1))
    [line] = [each for each in missing.stderr.splitlines() if "which the policy names" in each]
    key = re.search(r"ConfigMap (\S+), which the policy names, does not exist", line)
    assert key is not None
    namespace, _, name = key[1].partition("/")
    known = [] if namespace in ("default", "kube-system") else [manifest("Namespace", namespace)]
    await live.apply(*known, manifest("ConfigMap", name, namespace=namespace, data={}))
    assert "which the policy names" not in (await live.run("plan", files=gang(1, 1))).stderr
