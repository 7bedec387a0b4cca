"""An installation on a server of its own: the printed manifests and the rendered chart are accepted without warnings.

No kubelet runs on these servers, so the containers are started here, as processes with the tokens of their
accounts.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import helm_python
import msgspec
import pytest
import yaml
from click.testing import CliRunner

from charts.refresh import CHART
from stromboli.cli import main
from stromboli.install.roles import LEASES, PROCESSES
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import crd_documents, install_crds
from stromboli.serving.certificates import make_certificates
from testbed.plane import ControlPlane, write_kubeconfig
from tests.testing.planes import fresh_plane
from tests.unit.install.containers import Running, running
from tests.unit.install.image import Builder, stages

TIMEOUT = 90
RIGHTS = pytest.mark.only("real", because="the embedded server has no RBAC")
SECURITY = pytest.mark.only("real", because="the embedded server knows no Pod Security Standards")

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl as the administrator of a server."""

    plane: ControlPlane

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(Path(sysconfig.get_path("scripts")) / "kubectl"), *words]
        kubeconfig = self.plane.kubeconfig
        environment = {"PATH": os.environ["PATH"], "HOME": str(kubeconfig.parent), "KUBECONFIG": str(kubeconfig)}
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=TIMEOUT, env=environment, check=False
        )

    def __call__(self, *words: str, stdin: str = "") -> str:
        """Both outputs; warnings are part of them."""
        done = self.run(*words, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout + done.stderr

    def get(self, *words: str) -> Document:
        found: Document = msgspec.json.decode(self("get", *words, "-o", "json"))
        return found


def manifests(*options: str) -> str:
    result = CliRunner().invoke(main, ["manifests", *options])
    assert result.exit_code == 0, result.output
    return result.stdout


APPLY = ("apply", "--server-side", "--validate=strict", "-f", "-")


@pytest.fixture(scope="module")
def installed() -> Iterator[Kubectl]:
    """A server on which the manifests were applied."""
    with fresh_plane() as plane:
        kubectl = Kubectl(plane)
        output = kubectl(*APPLY, stdin=manifests()).splitlines()
        assert [line for line in output if not line.endswith(" serverside-applied")] == []
        assert len(output) == len(list(yaml.safe_load_all(manifests())))
        yield kubectl


# -- plain YAML -------------------------------------------------------------------------------------------------------


def versions(kubectl: Kubectl) -> dict[str, str]:
    """resourceVersion by object: every write changes it."""
    answer = msgspec.json.decode(kubectl("get", "-f", "-", "-o", "json", stdin=manifests()))
    return {
        f"{each['kind']} {each['metadata']['name']}": each["metadata"]["resourceVersion"] for each in answer["items"]
    }


def test_applying_again_changes_nothing(installed: Kubectl) -> None:
    before = versions(installed)
    assert len(before) == len(list(yaml.safe_load_all(manifests())))
    installed(*APPLY, stdin=manifests())
    assert versions(installed) == before


def test_applying_in_the_old_way_works_as_well(installed: Kubectl) -> None:
    output = installed(
        "apply",
        "--dry-run=server",
        "-f",
        "-",
        stdin=manifests("--namespace", "default", "--only", "workloads", "--without-visibility"),
    )
    assert "Warning" not in output
    assert "deployment.apps/stromboli-scheduler created (server dry run)" in output


def test_every_choice_is_accepted(installed: Kubectl) -> None:
    chosen = ("--replicas", "1", "--scheduler-name", "night", "--evict-by-delete", "--image", "example.com/stromboli:1",
              "--discover-hypernodes", "zone,rack")  # fmt: skip
    output = installed(*APPLY, "--dry-run=server", "--force-conflicts", stdin=manifests(*chosen))
    assert "Warning" not in output


def test_installation_is_deleted_and_its_crds_stay() -> None:
    with fresh_plane() as plane:
        kubectl, printed = Kubectl(plane), manifests("--without-crds")
        kubectl(*APPLY, stdin=manifests())
        waits = plane.kind == "embedded"  # a bare control plane has no namespace controller: the namespace stays
        output = kubectl("delete", f"--wait={str(waits).lower()}", "-f", "-", stdin=printed)
        assert output.count(" deleted") == len(list(yaml.safe_load_all(printed)))
        assert "customresourcedefinition" not in output
        assert len(kubectl.get("crds")["items"]) == len(list(crd_documents()))


def test_deleting_where_nothing_is_installed_succeeds_with_ignore_not_found() -> None:
    with fresh_plane() as plane:
        output = Kubectl(plane)("delete", "--ignore-not-found", "-f", "-", stdin=manifests("--without-crds"))
        assert output.strip() == ""


# -- pods -------------------------------------------------------------------------------------------------------------


def pod_of(kubectl: Kubectl, deployment: str) -> Document:
    """The pod that the Deployment would make."""
    template: Document = kubectl.get("deployment", deployment, "--namespace", "stromboli-system")["spec"]["template"]
    metadata = {**template["metadata"], "name": deployment, "namespace": "stromboli-system"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


CREATE = ("create", "--dry-run=server", "--validate=strict", "-f", "-")


@SECURITY
@pytest.mark.parametrize("deployment", ["stromboli-scheduler", "stromboli-controller"])
def test_pods_keep_to_the_restricted_standard(installed: Kubectl, deployment: str) -> None:
    pod = pod_of(installed, deployment)
    assert "Warning" not in installed(*CREATE, stdin=yaml.safe_dump(pod))
    pod["spec"]["containers"][0]["securityContext"]["privileged"] = True
    pod["spec"]["containers"][0]["securityContext"].pop("allowPrivilegeEscalation")
    refusal = installed.run(*CREATE, stdin=yaml.safe_dump(pod))
    assert 'violates PodSecurity "restricted:latest": privileged' in refusal.stderr


# -- rights -----------------------------------------------------------------------------------------------------------

SCHEDULER = "system:serviceaccount:stromboli-system:stromboli-scheduler"
CONTROLLER = "system:serviceaccount:stromboli-system:stromboli-controller"

CAN: list[tuple[str, str, bool]] = [
    (SCHEDULER, "create pods --subresource=binding --namespace default", True),
    (SCHEDULER, "create pods --subresource=eviction --namespace default", True),
    (SCHEDULER, "patch podgroups.scheduling.volcano.sh --namespace default", True),
    (SCHEDULER, "patch queues.scheduling.volcano.sh --subresource=status", True),
    (SCHEDULER, "create queues.scheduling.volcano.sh", True),
    (SCHEDULER, "patch queues.scheduling.volcano.sh", False),
    (SCHEDULER, "create leases.coordination.k8s.io --namespace stromboli-system", True),
    (SCHEDULER, "patch leases.coordination.k8s.io/stromboli --namespace stromboli-system", True),
    (SCHEDULER, "patch leases.coordination.k8s.io/stromboli-controller --namespace stromboli-system", False),
    (SCHEDULER, "create leases.coordination.k8s.io --namespace default", False),
    (SCHEDULER, "patch queues.scheduling.volcano.sh", False),
    (SCHEDULER, "delete pods --namespace default", False),
    (SCHEDULER, "patch nodes", False),
    (SCHEDULER, "get secrets --namespace stromboli-system", False),
    (SCHEDULER, "get configmaps --namespace stromboli-system", False),
    (CONTROLLER, "create podgroups.scheduling.volcano.sh --namespace default", True),
    (CONTROLLER, "patch pods --namespace default", True),
    (CONTROLLER, "create queues.scheduling.volcano.sh", True),
    (CONTROLLER, "get replicasets.apps --namespace default", True),
    (CONTROLLER, "watch statefulsets.apps --namespace default", True),
    (CONTROLLER, "create pods --subresource=binding --namespace default", False),
    (CONTROLLER, "create pods --subresource=eviction --namespace default", False),
    (CONTROLLER, "delete podgroups.scheduling.volcano.sh --namespace default", True),
    (CONTROLLER, "patch jobs.batch.volcano.sh --subresource=status --namespace default", True),
    (CONTROLLER, "create secrets --namespace default", True),
    (CONTROLLER, "list secrets --namespace default", False),
    (CONTROLLER, "list nodes", True),
    (CONTROLLER, "patch nodes", False),
    (CONTROLLER, "patch hypernodes.topology.volcano.sh --subresource=status", True),
    (CONTROLLER, "patch hypernodes.topology.volcano.sh", False),
]


@RIGHTS
@pytest.mark.parametrize(("account", "question", "answer"), CAN, ids=[f"{a.rpartition('-')[2]} {q}" for a, q, _ in CAN])
def test_accounts_can_do_their_work_and_no_more(installed: Kubectl, account: str, question: str, answer: bool) -> None:
    output = installed.run("auth", "can-i", *question.split(), f"--as={account}")
    assert output.stdout.strip() == ("yes" if answer else "no"), output.stderr


@RIGHTS
def test_people_may_make_groups_where_they_may_edit(installed: Kubectl) -> None:
    """The role is bound itself here: who joins roles together is not part of an API server."""
    installed("create", "rolebinding", "jane", "--clusterrole=stromboli-edit", "--user=jane", "--namespace=default")

    def may(*words: str) -> bool:
        return installed.run("auth", "can-i", *words, "--as=jane").stdout.strip() == "yes"

    assert may("create", "podgroups.scheduling.volcano.sh", "--namespace=default")
    assert not may("create", "podgroups.scheduling.volcano.sh", "--namespace=stromboli-system")
    assert not may("create", "queues.scheduling.volcano.sh")


# -- the processes ----------------------------------------------------------------------------------------------------


def kubeconfig_of(kubectl: Kubectl, account: str, folder: Path) -> Path:
    """What the pod's own token would let it do; a server without rights knows no accounts either."""
    if kubectl.plane.kind == "embedded":
        return kubectl.plane.kubeconfig
    token = kubectl("create", "token", account, "--namespace", "stromboli-system").strip()
    return write_kubeconfig(folder / account, kubectl.plane.url, token)


def holder(kubectl: Kubectl, lease: str) -> str:
    """Holder of a lease, if there is one."""
    words = ("get", "lease", lease, "--namespace", "stromboli-system", "--ignore-not-found", "-o", "json")
    found = kubectl(*words)
    return str(msgspec.json.decode(found)["spec"].get("holderIdentity", "")) if found else ""


def queues(kubectl: Kubectl) -> set[str]:
    return {each["metadata"]["name"] for each in kubectl.get("queues")["items"]}


@contextlib.contextmanager
def container_of(kubectl: Kubectl, process: str, folder: Path, host: str = "127.0.0.1") -> Iterator[Running]:
    """The container of a process, started with the rights of its account."""
    (container,) = pod_of(kubectl, f"stromboli-{process}")["spec"]["containers"]
    configuration = kubectl.get("configmap", "stromboli-scheduler-configmap", "--namespace", "stromboli-system")
    for name, text in configuration["data"].items():
        (folder / name).write_text(text)
    kubeconfig = kubeconfig_of(kubectl, f"stromboli-{process}", folder)
    with running(container, folder, kubeconfig, "stromboli-system", host) as started:
        yield started
    assert "orbidden" not in started.log.read_text()


@pytest.mark.parametrize("process", PROCESSES)
def test_processes_start_as_their_containers_do(installed: Kubectl, process: str, tmp_path: Path) -> None:
    """They become healthy, they lead, and the controllers create the built-in queues."""
    with container_of(installed, process, tmp_path) as started:
        started.until(started.is_well, "the probes are answered")
        started.until(lambda: bool(holder(installed, LEASES[process])), "the process leads")
        if process == "controller":
            started.until(lambda: queues(installed) == {"root", "default"}, "the queues are made")


@RIGHTS
def test_metrics_need_a_token_with_the_role_for_them(installed: Kubectl, tmp_path: Path) -> None:
    """Answers are cached by token, so the second one is new."""

    def token() -> str:
        return installed("create", "token", "prometheus", "--namespace=default").strip()

    installed("create", "serviceaccount", "prometheus", "--namespace=default")
    with container_of(installed, "scheduler", tmp_path, host="") as started:
        started.until(started.is_well, "the probes are answered")
        assert [started.metrics_status(each) for each in ("", "invalid", token())] == [401, 401, 403]
        role = ("--clusterrole=stromboli-metrics-reader", "--serviceaccount=default:prometheus")
        installed("create", "clusterrolebinding", "prometheus", *role)
        assert started.metrics_status(token()) == 200


OWNERS = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"


@pytest.mark.only("real", because="the embedded server protects no owners")
def test_groups_are_made_where_owners_are_protected(tmp_path: Path) -> None:
    """With OwnerReferencesPermissionEnforcement a client may block an owner's deletion only if it may update it."""
    with fresh_plane(OWNERS) as plane:
        _make_a_group(Kubectl(plane), tmp_path)


def _make_a_group(kubectl: Kubectl, folder: Path) -> None:
    kubectl(*APPLY, stdin=manifests())
    kubectl("create", "job", "owner", "--image=example.com/job")
    owner = kubectl.get("job", "owner")["metadata"]["uid"]
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "owner", "uid": owner, "controller": True}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "owned", "ownerReferences": [reference | {"blockOwnerDeletion": True}]},
        "spec": {"schedulerName": "stromboli", "containers": [{"name": "main", "image": "example.com/job"}]},
    }
    kubectl("create", "-f", "-", stdin=yaml.safe_dump(pod))
    with container_of(kubectl, "controller", folder) as started:
        group = f"podgroup/podgroup-{owner}"
        started.until(lambda: bool(kubectl("get", group, "--ignore-not-found", "-o", "name")), "a group is made")


@pytest.mark.only("real", because="the embedded server protects no owners")
def test_jobs_of_flows_and_cron_jobs_are_made_where_owners_are_protected(tmp_path: Path) -> None:
    with fresh_plane(OWNERS) as plane:
        kubectl = Kubectl(plane)
        kubectl(*APPLY, stdin=manifests())
        kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(_creators_of_jobs()))
        with container_of(kubectl, "controller", tmp_path) as started:
            started.until(lambda: len(_groups_of_jobs(kubectl)) >= 2, "the Jobs have groups")


def _creators_of_jobs() -> list[Document]:
    container = {"name": "main", "image": "example.com/main"}
    spec = {"tasks": [{"name": "main", "replicas": 1, "template": {"spec": {"containers": [container]}}}]}
    flow, batch = "flow.volcano.sh/v1alpha1", "batch.volcano.sh/v1alpha1"
    cron = {"schedule": "@every 2s", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": spec}}
    return [
        {"apiVersion": flow, "kind": "JobTemplate", "metadata": {"name": "a"}, "spec": spec},
        {"apiVersion": flow, "kind": "JobFlow", "metadata": {"name": "etl"}, "spec": {"flows": [{"name": "a"}]}},
        {"apiVersion": batch, "kind": "CronJob", "metadata": {"name": "report"}, "spec": cron},
    ]


def _groups_of_jobs(kubectl: Kubectl) -> set[str]:
    """The kinds of the owners of Jobs that have a PodGroup."""
    jobs = kubectl.get("jobs.batch.volcano.sh")["items"]
    groups = {each["metadata"]["name"] for each in kubectl.get("podgroups.scheduling.volcano.sh")["items"]}
    return {
        job["metadata"]["ownerReferences"][0]["kind"]
        for job in jobs
        if f"{job['metadata']['name']}-{job['metadata']['uid']}" in groups
    }


# -- Helm, in a cluster that has Volcano's kinds ----------------------------------------------------------------------

GROUPS = "podgroups.scheduling.volcano.sh"


def foreign_definition() -> Document:
    """The definition of PodGroups as another project installs it."""
    (ours,) = [each for each in crd_documents() if each["metadata"]["name"] == GROUPS]
    schema = {"type": "object", "description": "Not ours.", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {**ours, "spec": {**ours["spec"], "versions": [version]}}


def description(kubectl: Kubectl) -> str:
    (version,) = kubectl.get("crd", GROUPS)["spec"]["versions"]
    return str(version["schema"]["openAPIV3Schema"]["description"])


def kinds(kubectl: Kubectl) -> set[str]:
    return {each["metadata"]["name"] for each in kubectl.get("crds")["items"]}


@pytest.fixture
def beside_volcano() -> Iterator[Kubectl]:
    """A server that knows the kind of groups already."""
    with fresh_plane() as plane:
        kubectl = Kubectl(plane)
        kubectl(
            "apply", "--server-side", "--field-manager=volcano", "-f", "-", stdin=yaml.safe_dump(foreign_definition())
        )
        yield kubectl


async def test_kinds_of_others_are_left_alone(beside_volcano: Kubectl) -> None:
    async with Client(load_kubeconfig(str(beside_volcano.plane.kubeconfig))) as client:
        await install_crds(client)
    assert description(beside_volcano) == "Not ours."
    assert kinds(beside_volcano) == {each["metadata"]["name"] for each in crd_documents()}


def test_plain_yaml_stops_at_kinds_of_others_and_can_go_without_them(beside_volcano: Kubectl) -> None:
    refusal = beside_volcano.run(*APPLY, stdin=manifests("--only", "crds"))
    assert refusal.returncode != 0
    assert 'conflict with "volcano"' in refusal.stderr
    assert description(beside_volcano) == "Not ours."
    assert "Warning" not in beside_volcano(*APPLY, stdin=manifests("--without-crds"))


@pytest.fixture
def chart() -> Iterator[helm_python.Chart]:
    with helm_python.Chart.load(CHART) as loaded:
        yield loaded


def test_a_release_comes_is_upgraded_and_goes(beside_volcano: Kubectl, chart: helm_python.Chart) -> None:
    """Kinds that are missing come with it, those of others stay as they are, and all stay when it goes."""
    wanted = {each["metadata"]["name"] for each in crd_documents()}
    with helm_python.Config(kubeconfig_path=beside_volcano.plane.kubeconfig, namespace="batch") as helm:
        helm.install(chart, "night", {}, namespace="batch", create_namespace=True, timeout=TIMEOUT)
        assert (kinds(beside_volcano), description(beside_volcano)) == (wanted, "Not ours.")
        helm.upgrade(chart, "night", {"scheduler": {"replicaCount": 3}}, namespace="batch", timeout=TIMEOUT)
        deployment = beside_volcano.get("deployment", "night-stromboli-scheduler", "--namespace", "batch")
        assert deployment["spec"]["replicas"] == 3
        assert (kinds(beside_volcano), description(beside_volcano)) == (wanted, "Not ours.")
        helm.uninstall("night", timeout=TIMEOUT)
    left = beside_volcano("get", "deployments,services,roles,configmaps", "--namespace", "batch", "-o", "name")
    assert "night" not in left
    assert kinds(beside_volcano) == wanted


def test_what_helm_renders_is_taken_without_a_word(installed: Kubectl, chart: helm_python.Chart) -> None:
    values = {
        "custom": {"scheduler_name": "volcano"},
        "scheduler": {"extraArgs": ["--seed=1"]},
        "admission": {"enabled": True, "caBundle": make_certificates().authority.decode()},
    }
    templates = chart.render(values, name="night", namespace="default")
    text = "\n---\n".join(text for path, text in templates.items() if path.endswith(".yaml"))
    output = installed(*APPLY, "--dry-run=server", "--force-conflicts", stdin=text)
    assert [line for line in output.splitlines() if not line.endswith("serverside-applied (server dry run)")] == []


# -- the image --------------------------------------------------------------------------------------------------------


@pytest.mark.only("real", because="it fetches every dependency, which takes a minute: the fast tests go without it")
def test_the_commands_of_the_image_make_an_environment_that_works(tmp_path: Path) -> None:
    """The stages are carried out below a folder, with a Python that stands for that of the base."""
    python = tmp_path / "base" / "bin" / "python"
    subprocess.run(["python3", "-m", "venv", str(tmp_path / "base")], check=True)
    builder = Builder(tmp_path / "image", python)
    for stage in stages()[:-1]:
        builder.build(stage)
    command = tmp_path / "image" / "opt" / "stromboli" / "bin" / "stromboli"
    printed = subprocess.run([str(command), "manifests"], capture_output=True, text=True, check=True).stdout
    assert printed == manifests()
