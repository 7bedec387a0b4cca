"""Every built-in plugin: what it changes in pods, which objects it describes, and which Jobs it rejects."""

from __future__ import annotations

import base64
import copy
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from stromboli.controllers.jobs.plugins.plugin import JobPlugin, PluginArgumentError
from stromboli.controllers.jobs.plugins.registry import BUILT_IN, JobPlugins
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.tasks import pod_of_task, tasks_of

Document = dict[str, Any]


def task(name: str, replicas: int, *containers: str, **spec: Any) -> Document:
    named = [{"name": each, "image": "x"} for each in containers or (name,)]
    return {"name": name, "replicas": replicas, "template": {"spec": {"containers": named, **spec}}}


def job(
    plugins: Mapping[str, Sequence[str]], *tasks: Document, name: str = "train", kind: str = "Job"
) -> WorkloadDocument:
    metadata = {"name": name, "namespace": "team"}
    spec = json.loads(json.dumps({"plugins": plugins, "tasks": tasks or [task("master", 1), task("worker", 2)]}))
    return WorkloadDocument({
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec
    })  # fmt: skip


def plugin(name: str, *arguments: str) -> JobPlugin:
    return JobPlugins().classes[name](arguments)


def pod(subject: WorkloadDocument, task_name: str = "worker", index: int = 1) -> Document:
    """The pod of a task, changed by the plugins of the Job."""
    found = next(each for each in tasks_of(subject) if each.name == task_name)
    made = copy.deepcopy(pod_of_task(subject, found, index))
    for each in JobPlugins().of(subject):
        each.edit_pod(made, subject, found, index)
    return made


def variables(container: Document) -> Document:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container.get("env", ())}


def first(subject: WorkloadDocument, task_name: str = "worker", index: int = 1) -> Document:
    """The environment variables of the first container, without those of plugin svc."""
    found = variables(pod(subject, task_name, index)["spec"]["containers"][0])
    return {name: value for name, value in found.items() if not name.startswith("VC_") or "svc" not in str(value)}


def ports(subject: WorkloadDocument, task_name: str = "worker") -> list[list[int]]:
    containers = pod(subject, task_name, 0)["spec"]["containers"]
    return [[port["containerPort"] for port in each.get("ports", ())] for each in containers]


def made(name: str, subject: WorkloadDocument, *arguments: str) -> dict[str, Document]:
    """The manifests of a plugin's objects by kind."""
    return {each.kind: dict(each.make()) for each in plugin(name, *arguments).objects(subject)}


# -- env ------------------------------------------------------------------------------------------------------------


def test_env_sets_the_index_of_the_pod_in_all_containers() -> None:
    subject = job({"env": []}, task("worker", 4, "a", "b", initContainers=[{"name": "i", "image": "x"}]))
    spec = pod(subject, index=3)["spec"]
    for container in (*spec["containers"], *spec["initContainers"]):
        assert variables(container) == {"VK_TASK_INDEX": "3", "VC_TASK_INDEX": "3"}


def test_variables_of_the_template_stay() -> None:
    subject = job({"env": []}, task("worker", 1))
    subject.document["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}]
    assert list(first(subject, index=0)) == ["A", "VK_TASK_INDEX", "VC_TASK_INDEX"]


# -- svc ------------------------------------------------------------------------------------------------------------

PARAMETER_SERVERS = (task("p-s", 1, subdomain="other"), task("worker", 2))


def test_svc_gives_pods_a_host_name_and_the_hosts_of_all_tasks() -> None:
    spec = pod(job({"svc": []}, *PARAMETER_SERVERS))["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("train-worker-1", "train")
    assert list(variables(spec["containers"][0])) == ["VC_P_S_HOSTS", "VC_P_S_NUM", "VC_WORKER_HOSTS", "VC_WORKER_NUM"]
    assert variables(spec["containers"][0])["VC_P_S_NUM"] == {
        "configMapKeyRef": {"name": "train-svc", "key": "VC_P_S_NUM"}
    }
    assert spec["volumes"] == [{"name": "train-svc", "configMap": {"name": "train-svc"}}]
    assert spec["containers"][0]["volumeMounts"] == [{"name": "train-svc", "mountPath": "/etc/volcano"}]


def test_svc_keeps_host_name_and_subdomain_of_the_template() -> None:
    spec = pod(job({"svc": []}, task("worker", 2, hostname="h", subdomain="s")))["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("h", "s")


def test_svc_describes_a_config_map_that_follows_the_tasks() -> None:
    (hosts, *_) = plugin("svc").objects(job({}, *PARAMETER_SERVERS, task("chief", 3, hostname="h")))
    assert (hosts.kind, hosts.name, hosts.follows_tasks) == ("ConfigMap", "train-svc", True)
    assert hosts.make() == {"data": {
        "p_s.host": "train-p-s-0.other", "VC_P_S_HOSTS": "train-p-s-0.other", "VC_P_S_NUM": "1",
        "worker.host": "train-worker-0.train\ntrain-worker-1.train",
        "VC_WORKER_HOSTS": "train-worker-0.train,train-worker-1.train", "VC_WORKER_NUM": "2",
        "chief.host": "h.train", "VC_CHIEF_HOSTS": "h.train", "VC_CHIEF_NUM": "1",
    }}  # fmt: skip


def test_svc_describes_a_headless_service_and_a_network_policy() -> None:
    pods = {"volcano.sh/job-name": "train", "volcano.sh/job-namespace": "team"}
    objects = made("svc", job({}))
    service = objects["Service"]["spec"]
    assert (service["clusterIP"], service["selector"], service["publishNotReadyAddresses"]) == ("None", pods, False)
    assert objects["NetworkPolicy"]["spec"] == {
        "podSelector": {"matchLabels": pods},
        "ingress": [{"from": [{"podSelector": {"matchLabels": pods}}]}],
        "policyTypes": ["Ingress"],
    }


def test_svc_arguments() -> None:
    assert "NetworkPolicy" not in made("svc", job({}), "--disable-network-policy=true")
    policy = made("svc", job({}), "--network-policy-strategy=allow-related")["NetworkPolicy"]
    assert policy["metadata"]["annotations"] == {"ovn.kubernetes.io/network_policy_strategy": "allow-related"}
    service = made("svc", job({}), "--publish-not-ready-addresses")["Service"]["spec"]
    assert service["publishNotReadyAddresses"] is True


def test_svc_leaves_out_a_variable_that_no_process_could_start_with() -> None:
    subject = job({"svc": []}, task("worker", 6000))
    names = list(variables(pod(subject)["spec"]["containers"][0]))
    assert names == ["VC_WORKER_NUM"]
    assert sorted(made("svc", subject)["ConfigMap"]["data"]) == ["VC_WORKER_NUM", "worker.host"]
    (warning,) = plugin("svc").findings(subject)
    assert warning.is_warning
    assert warning.remedy == "read them from /etc/volcano/worker.host"


# -- ssh ------------------------------------------------------------------------------------------------------------


def secret(subject: WorkloadDocument, *arguments: str) -> dict[str, str]:
    data = made("ssh", subject, *arguments)["Secret"]["data"]
    return {name: base64.b64decode(text).decode() for name, text in data.items()}


def test_ssh_mounts_the_secret_in_all_containers() -> None:
    subject = job({"ssh": []}, task("worker", 1, initContainers=[{"name": "i", "image": "x"}]), name="a.b")
    spec = pod(subject, index=0)["spec"]
    (volume,) = spec["volumes"]
    assert (volume["name"], volume["secret"]["secretName"], volume["secret"]["defaultMode"]) == (
        "a-b-ssh",
        "a.b-ssh",
        0o600,
    )
    for container in (*spec["containers"], *spec["initContainers"]):
        assert container["volumeMounts"] == [{"name": "a-b-ssh", "mountPath": "/root/.ssh", "subPath": ".ssh"}]
    elsewhere = pod(job({"ssh": ["--ssh-key-file-path=/home/me/.ssh"]}))["spec"]["containers"][0]
    assert elsewhere["volumeMounts"][0]["mountPath"] == "/home/me/.ssh"


def test_ssh_generates_a_key_pair_once_for_each_job() -> None:
    (found,) = plugin("ssh").objects(job({}))
    assert (found.name, found.follows_tasks) == ("train-ssh", False)
    files = secret(job({}))
    key = serialization.load_pem_private_key(files["id_rsa"].encode(), None)
    line = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    assert files["id_rsa"].startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert files["id_rsa.pub"] == files["authorized_keys"] == f"{line}\n"
    assert secret(job({}))["id_rsa"] != files["id_rsa"]


def test_ssh_uses_given_keys_and_derives_the_public_one() -> None:
    files = secret(job({}))
    private = f"--ssh-private-key={files['id_rsa']}"
    assert secret(job({}), private)["authorized_keys"] == files["authorized_keys"]
    assert secret(job({}), private, "--ssh-public-key=ssh-rsa AAAA")["id_rsa.pub"] == "ssh-rsa AAAA"


def test_ssh_configuration_matches_pods_that_are_added_later() -> None:
    subject = job({}, task("a", 1), task("a-b", 2, subdomain="s"), task("c", 2, hostname="h"))
    assert secret(subject)["config"].splitlines() == [
        "StrictHostKeyChecking no", "UserKnownHostsFile /dev/null",
        "Host train-a-b-* !*.*", "  HostName %h.s",
        "Host train-a-* !*.*", "  HostName %h.train",
        "Host h", "  HostName %h.train",
    ]  # fmt: skip


# -- pytorch --------------------------------------------------------------------------------------------------------


def test_pytorch_sets_master_world_size_and_rank() -> None:
    subject = job({"pytorch": []}, task("master", 1), task("worker", 2), task("logger", 1))
    common = {"MASTER_ADDR": "train-master-0.train", "MASTER_PORT": "23456", "WORLD_SIZE": "3"}
    assert first(subject, "master", 0) == {**common, "RANK": "0"}
    assert first(subject, "worker", 1) == {**common, "RANK": "2"}
    assert first(subject, "logger", 0) == common
    assert ports(subject, "logger") == [[23456]]


def test_pytorch_with_several_masters_gives_every_process_its_own_rank() -> None:
    arguments = ["--master=m", "--worker", "w", "--port=1"]
    subject = job({"pytorch": arguments}, task("m", 2), task("w", 2))
    ranks = [first(subject, name, index)["RANK"] for name in ("m", "w") for index in (0, 1)]
    assert ranks == ["0", "1", "2", "3"]
    assert first(subject, "w", 0)["WORLD_SIZE"] == "4"


def test_pytorch_without_a_master_changes_nothing_but_warns() -> None:
    subject = job({"pytorch": []}, task("worker", 2))
    assert first(subject) == {}
    assert ports(subject) == [[]]
    assert [each.is_warning for each in plugin("pytorch").findings(subject)] == [True]


def test_pytorch_workers_wait_for_the_master_if_enabled() -> None:
    arguments = ["--wait-master-enabled=true", "--wait-master-timeout=60", "--wait-master-image=nc"]
    subject = job({"pytorch": arguments})
    (waiting,) = pod(subject)["spec"]["initContainers"]
    assert (waiting["image"], waiting["resources"]["requests"]) == ("nc", waiting["resources"]["limits"])
    assert variables(waiting) == {"MASTER_ADDR": "train-master-0.train", "MASTER_PORT": "23456", "TIMEOUT": "60"}
    assert "initContainers" not in pod(subject, "master", 0)["spec"]
    assert "initContainers" not in pod(job({"pytorch": []}))["spec"]


@pytest.mark.parametrize(("attempts", "code"), [(1, 0), (3, 0), (99, 1)])
def test_waiting_container_ends_when_the_master_answers_or_at_the_timeout(
    attempts: int, code: int, tmp_path: Path
) -> None:
    """The n-th `nc` succeeds; `sleep` moves the clock that `date` prints."""
    (waiting,) = pod(job({"pytorch": ["--wait-master-enabled", "--wait-master-timeout=10"]}))["spec"]["initContainers"]
    folder = f"here={tmp_path}"
    for name, script in {
        "date": "cat $here/clock",
        "sleep": "now=$(cat $here/clock); echo $((now + $1)) > $here/clock",
        "nc": f'echo "$@" >> $here/calls; [ $(wc -l < $here/calls) -ge {attempts} ]',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{folder}\n{script}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "clock").write_text("1000\n")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", **variables(waiting)}
    ended = subprocess.run(waiting["command"], env=environment, capture_output=True, text=True, check=False, timeout=30)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert (ended.returncode, set(calls)) == (code, {"-z -w 2 train-master-0.train 23456"})
    assert len(calls) == min(attempts, 6)
    assert ended.stderr == ("train-master-0.train:23456 does not answer\n" if code else "")


def test_port_in_the_network_of_the_host_is_declared_by_one_container() -> None:
    pair = task("master", 1, "a", "b", hostNetwork=True)
    assert ports(job({"pytorch": []}, pair), "master") == [[23456], []]
    pair["template"]["spec"]["containers"][1]["ports"] = [{"containerPort": 23456}]
    assert ports(job({"pytorch": []}, pair), "master") == [[], [23456]]
    assert ports(job({"pytorch": []}, task("master", 1, "a", "b")), "master") == [[23456], [23456]]


# -- tensorflow -----------------------------------------------------------------------------------------------------


def test_tensorflow_sets_the_cluster_and_the_role_of_the_pod() -> None:
    subject = job({"tensorflow": ["--ps=p", "--port=5000"]}, task("p", 1), task("worker", 2), task("log", 1))
    cluster = {"ps": ["train-p-0.train:5000"], "worker": ["train-worker-0.train:5000", "train-worker-1.train:5000"]}
    assert json.loads(first(subject)["TF_CONFIG"]) == {"cluster": cluster, "task": {"type": "worker", "index": 1}}
    assert json.loads(first(subject, "p", 0)["TF_CONFIG"])["task"] == {"type": "ps", "index": 0}
    assert json.loads(first(subject, "log", 0)["TF_CONFIG"])["task"] == {"type": "log", "index": 0}


def test_tensorflow_with_a_single_pod_has_no_cluster() -> None:
    assert first(job({"tensorflow": []}, task("worker", 1)), index=0) == {}


# -- mpi ------------------------------------------------------------------------------------------------------------


def test_mpi_sets_the_hosts_of_the_workers_for_the_master() -> None:
    subject = job({"mpi": []})
    assert first(subject, "master", 0) == {"MPI_HOST": "train-worker-0.train,train-worker-1.train"}
    assert first(subject) == {}
    assert ports(subject) == [[22]]
    assert {volume["name"] for volume in pod(subject)["spec"]["volumes"]} == {"train-ssh", "train-svc"}
    assert first(job({"mpi": ["--worker=master"]}), "master", 0) == {"MPI_HOST": "train-master-0.train"}


# -- ray ------------------------------------------------------------------------------------------------------------


def test_ray_starts_head_and_workers() -> None:
    subject = job(
        {"ray": ["--clientServerPort=3"]}, task("head", 1, "side", "head"), task("worker", 2, "worker", "side")
    )
    side, head = pod(subject, "head", 0)["spec"]["containers"]
    assert "command" not in side
    assert "ports" not in side
    assert head["command"] == ["sh", "-c", (
        "ray start --head --block --dashboard-host=0.0.0.0 --port=6379 --dashboard-port=8265 --ray-client-server-port=3"
    )]  # fmt: skip
    assert {port["name"]: port["containerPort"] for port in head["ports"]} == {
        "gcs": 6379, "dashboard": 8265, "client-server": 3
    }  # fmt: skip
    worker, side = pod(subject)["spec"]["containers"]
    assert worker["command"] == ["sh", "-c", "ray start --block --address=train-head-0.train:6379"]
    assert "command" not in side


def test_ray_describes_a_service_for_the_head() -> None:
    (service,) = plugin("ray", "--port=1").objects(job({}))
    spec = service.make()["spec"]
    assert (service.name, spec["selector"]["volcano.sh/task-spec"]) == ("train-head-svc", "head")
    assert [(port["name"], port["port"]) for port in spec["ports"]] == [
        ("gcs", 1), ("dashboard", 8265), ("client-server", 10001)
    ]  # fmt: skip


# -- hcclrank, ringsconfigmap ---------------------------------------------------------------------------------------


def test_hcclrank_sets_the_rank_as_annotation() -> None:
    subject = job({"hcclrank": []}, task("master", 2), task("worker", 2), task("log", 1))
    ranks = [
        pod(subject, name, index)["metadata"]["annotations"].get("hccl/rankIndex")
        for name, index in (("master", 1), ("worker", 0), ("worker", 1), ("log", 0))
    ]
    assert ranks == ["1", "2", "3", None]
    fixed = task("worker", 1)
    fixed["template"]["spec"]["containers"][0]["env"] = [{"name": "RANK", "value": "7"}]
    assert pod(job({"hcclrank": []}, fixed), index=0)["metadata"]["annotations"]["hccl/rankIndex"] == "7"
    fixed["template"]["metadata"] = {"annotations": {"hccl/rankIndex": "9"}}
    assert pod(job({"hcclrank": []}, fixed), index=0)["metadata"]["annotations"]["hccl/rankIndex"] == "9"


def test_ringsconfigmap_mounts_a_config_map() -> None:
    arguments = [
        "--configmap-name-template={{ .Namespace }}-{{.Name}}",
        "--mount-path=/c",
        '--configmap-labels={"a":"b"}',
    ]
    subject = job({"ringsconfigmap": arguments})
    spec = pod(subject)["spec"]
    assert spec["volumes"] == [{"name": "ascend-910-config", "configMap": {"name": "team-train"}}]
    assert spec["containers"][0]["volumeMounts"] == [{"name": "ascend-910-config", "mountPath": "/c"}]
    (config_map,) = plugin("ringsconfigmap", *arguments).objects(subject)
    manifest = config_map.make()
    assert manifest["metadata"]["labels"] == {"ring-controller.atlas": "ascend-910b", "a": "b"}
    assert json.loads(manifest["data"]["hccl.json"]) == {"status": "initializing"}


# -- arguments and findings -----------------------------------------------------------------------------------------

INVALID: dict[str, tuple[str, Sequence[str], str]] = {
    "port": ("mpi", ["--port=ssh"], "argument '--port=ssh' is not a whole number; write one such as --port=22"),
    "port beyond 16 bits": ("ray", ["--port=65536"], "argument '--port=65536' is not a port; write a number from 1 to"),
    "boolean": ("svc", ["--disable-network-policy=yes"], "argument '--disable-network-policy=yes' is not a boolean; w"),
    "strategy": (
        "svc", ["--network-policy-strategy=deny"],
        "argument '--network-policy-strategy=deny' is not a strategy of OVN; write one of allow, allow-related, allow"),
    "no value": ("pytorch", ["--master"], "argument '--master' has no value; write --master=VALUE"),
    "path": ("ssh", ["--ssh-key-file-path=.ssh"], "argument '--ssh-key-file-path=.ssh' is not an absolute path; write"),
    "key": ("ssh", ["--ssh-private-key=SECRET"], "argument '--ssh-private-key' is not a private key without a passphr"),
    "template": (
        "ringsconfigmap", ["--configmap-name-template={{.Labels}}"],
        "argument '--configmap-name-template={{.Labels}}' has other fields; use {{.Name}} and {{.Namespace}}"),
    "JSON": (
        "ringsconfigmap", ["--configmap-data=[]"], "argument '--configmap-data=[]' is not a JSON object of strings; w"),
    "empty": ("ringsconfigmap", ["--mount-path="], "argument '--mount-path=' is empty; write a value, or leave it out"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "message"), INVALID.values(), ids=INVALID)
def test_invalid_argument_is_an_error_with_a_remedy(name: str, arguments: Sequence[str], message: str) -> None:
    with pytest.raises(PluginArgumentError) as caught:
        plugin(name, *arguments)
    assert str(caught.value).startswith(f"spec.plugins.{name}: {message}")
    assert "SECRET" not in str(caught.value)


FINDINGS: dict[str, tuple[WorkloadDocument, str]] = {
    "all plugins": (
        job({each.name: [] for each in BUILT_IN}, task("master", 1), task("worker", 1), task("head", 1)), ""),
    "mpi without workers": (
        job({"mpi": []}, task("master", 1)),
        "spec.plugins.mpi: The specified mpi worker task was not found: worker; add task worker, or name another one:"),
    "mpi without master": (
        job({"mpi": ["--master=m"]}), "spec.plugins.mpi: The specified mpi master task was not found: m; add task m, "),
    "ray without head": (job({"ray": []}), "spec.plugins.ray: the head task does not exist: head; add task head, or n"),
    "name that is not that of a Service": (
        job({"svc": []}, name="1-train"), "metadata.name: '1-train' cannot be the name of a Service, which plugin svc"),
    "the same in a template, whose name is not that of the job": (job({"svc": []}, name="1", kind="JobTemplate"), ""),
    "name that is too long for the Service of the head": (
        job({"ray": []}, task("head", 1), name="a" * 55), "metadata.name: the name of the Service of plugin ray, aaaa"),
    "invalid argument": (job({"svc": ["--disable-network-policy=x"]}), "spec.plugins.svc: argument '--disable-network"),
}  # fmt: skip


@pytest.mark.parametrize(("subject", "message"), FINDINGS.values(), ids=FINDINGS)
def test_job_that_a_plugin_cannot_work_with_is_rejected(subject: WorkloadDocument, message: str) -> None:
    found = [each for each in JobPlugins().findings(subject) if not each.is_warning]
    assert [str(each)[: len(message)] for each in found] == [message] * bool(message)


def test_unknown_argument_has_no_effect_but_is_a_warning() -> None:
    (warning,) = JobPlugins().findings(job({"ssh": ["--no-root", "--ssh-key-file-path=/a"]}))
    assert str(warning) == (
        "spec.plugins.ssh: argument '--no-root' is unknown and has no effect; remove it; known arguments: "
        "--ssh-key-file-path, --ssh-private-key, --ssh-public-key"
    )
    assert warning.is_warning
    assert plugin("ssh", "--no-root", "-ssh-key-file-path=/a").values["ssh-key-file-path"] == "/a"  # type: ignore[attr-defined]
