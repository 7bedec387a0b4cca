"""`stromboli plan` with exactly the rights of the role `stromboli-viewer`: nothing is forbidden, none is unused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from stromboli.cli import main
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.install.documents import installation_documents
from stromboli.install.installation import Installation
from stromboli.install.rights import USER_RIGHTS
from stromboli.kube.client.apply import Applier
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.crds.install import install_crds
from stromboli.kube.objects.catalogue import CONFIG_MAPS, DEPLOYMENTS, NODES
from testbed.plane import NAMESPACE, VIEWER, ControlPlane
from tests.e2e.environment.permissions import admit
from tests.testing.manifests.builders import gang, manifest, node

pytestmark = pytest.mark.only("real", because="the embedded server has no RBAC")

TRAINER, ARGO = "trainer.kubeflow.org/v1alpha1", "argoproj.io/v1alpha1"
#: Workloads that refer to templates of every kind.
REFERRING = [
    manifest("JobFlow", "a", "flow.volcano.sh/v1alpha1", spec={"flows": [{"name": "absent"}]}),
    manifest("TrainJob", "a", TRAINER, spec={"runtimeRef": {"name": "absent"}}),
    manifest("TrainJob", "b", TRAINER, spec={"runtimeRef": {"name": "absent", "kind": "TrainingRuntime"}}),
    manifest("Workflow", "a", ARGO, spec={"workflowTemplateRef": {"name": "absent"}}),
    manifest("Workflow", "b", ARGO, spec={"workflowTemplateRef": {"name": "absent", "clusterScope": True}}),
]


@pytest.fixture
async def administrator(plane: ControlPlane) -> AsyncIterator[None]:
    """Install the roles, the policy and the Deployment of the scheduler, and a node; remove all but the roles."""
    async with Client(load_kubeconfig(str(plane.kubeconfig))) as client:
        await install_crds(client)
        await admit(plane, client)
        installation = Installation(configuration=DEFAULT_TEXT)
        documents = installation_documents(installation, ["configuration", "workloads"])
        read = [each for each in documents if each["metadata"]["name"].startswith("stromboli-scheduler")]
        viewed = {**node("viewed", 64), "metadata": {"name": "viewed"}}
        await Applier(client).apply([viewed, *(each for each in read if each["kind"] in ("ConfigMap", "Deployment"))])
        await client.patch(NODES, "viewed", {"spec": {"taints": None}})
        yield
        await client.delete(NODES, "viewed")
        await client.delete(DEPLOYMENTS, "stromboli-scheduler", namespace=NAMESPACE)
        await client.delete(CONFIG_MAPS, "stromboli-scheduler-configmap", namespace=NAMESPACE)


@pytest.mark.usefixtures("administrator")
async def test_viewer_plans_and_explains_with_each_of_its_rights_and_no_other(
    plane: ControlPlane, tmp_path: Path
) -> None:
    job = tmp_path / "job.json"
    job.write_text(json.dumps(gang(2, 2, name="viewed")))
    asked = ["--kubeconfig", str(plane.kubeconfig_of(VIEWER)), "-f", str(job), "-o", "json"]
    for command in (["plan", *asked], ["explain", "viewed", *asked]):
        result = await asyncio.to_thread(CliRunner().invoke, main, command)
        assert result.exit_code == 0, result.output
        warnings = json.loads(result.stdout)["warnings"]
        [note] = [each for each in warnings if "cluster" in each]
        assert note.endswith("policy of ConfigMap stromboli-system/stromboli-scheduler-configmap")
        assert not [each for each in warnings if "may not" in each]
    job.write_text(json.dumps(REFERRING))
    result = await asyncio.to_thread(CliRunner().invoke, main, ["plan", *asked])
    assert result.output.count("is neither in the input nor in the cluster") == len(REFERRING), result.output
    mine = [each for each in plane.asked() if each.account == VIEWER]
    assert [each for each in mine if each.status == 403] == []
    used = {(each.verb, each.group, each.resource) for each in mine}
    granted = {(verb, right.group, right.resource) for right in USER_RIGHTS["viewer"] for verb in right.verbs}
    assert used == granted
