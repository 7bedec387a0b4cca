"""`stromboli manifests` prints a consistent installation, and every option changes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stromboli import __version__
from stromboli.cli import COMMANDS
from stromboli.cli.commands.installation.manifests import PARTS
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.install import documents
from stromboli.install.roles import LEASES, PROCESSES
from stromboli.kube.crds.install import crd_documents
from tests.unit.install.printing import printed, run

SCHEDULER, CONTROLLER = "Deployment stromboli-scheduler", "Deployment stromboli-controller"
CONFIGURATION = "ConfigMap stromboli-scheduler-configmap"


def pod(deployment: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return found


def container(deployment: dict[str, Any]) -> dict[str, Any]:
    (found,) = pod(deployment)["containers"]
    return dict(found)


def flags(deployment: dict[str, Any], name: str) -> list[str]:
    return [each.partition("=")[2] for each in container(deployment)["args"] if each.partition("=")[0] == name]


# -- what is printed --------------------------------------------------------------------------------------------------


def test_all_objects_are_included() -> None:
    found = [kind.split()[0] for kind in printed()]
    assert found[0] == "Namespace"
    assert {kind: found.count(kind) for kind in sorted(set(found))} == {
        "APIService": 1,
        "ClusterRole": 8,
        "ClusterRoleBinding": 2,
        "ConfigMap": 1,
        "CustomResourceDefinition": 11,
        "Deployment": 2,
        "Namespace": 1,
        "NetworkPolicy": 2,
        "PodDisruptionBudget": 2,
        "Role": 2,
        "RoleBinding": 3,
        "Service": 3,
        "ServiceAccount": 2,
    }


def test_crds_are_those_of_the_package() -> None:
    found = [each for kind, each in printed().items() if kind.startswith("CustomResourceDefinition")]
    assert found == crd_documents()


@pytest.mark.parametrize("process", PROCESSES)
def test_container_arguments_are_valid_options(process: str) -> None:
    chosen = printed("--evict-by-delete", "--discover-hypernodes=rack")
    command, *arguments = container(chosen[f"Deployment stromboli-{process}"])["args"]
    assert command == process
    context = COMMANDS[command].load().make_context(command, arguments)
    assert context.params["scheduler_names"] == ("stromboli", "volcano")


@pytest.mark.parametrize("process", PROCESSES)
def test_probes_and_ports_match_listening_addresses(process: str) -> None:
    deployment = printed()[f"Deployment stromboli-{process}"]
    ports = {each["name"]: each["containerPort"] for each in container(deployment)["ports"]}
    assert flags(deployment, "--healthz-address") == [f":{ports['health']}"]
    assert flags(deployment, "--listen-address") == ([f":{ports['metrics']}"] if "metrics" in ports else [])
    probes = {name: container(deployment)[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {name: (probe["path"], probe["port"]) for name, probe in probes.items()} == {
        "startup": ("/livez", "health"),
        "liveness": ("/livez", "health"),
        "readiness": ("/readyz", "health"),
    }


@pytest.mark.parametrize("process", PROCESSES)
def test_process_has_rights_on_its_lease(process: str) -> None:
    found = printed()
    lease = LEASES[process]
    assert flags(found[f"Deployment stromboli-{process}"], "--leader-elect-resource-name") == [lease]
    assert [lease] in [rule.get("resourceNames") for rule in found[f"Role stromboli-{process}"]["rules"]]
    assert COMMANDS[process].load().make_context(process, []).params["leader_elect_resource_name"] == lease


@pytest.mark.parametrize("process", PROCESSES)
def test_selectors_match_pods_of_process(process: str) -> None:
    found = printed()
    template = found[f"Deployment stromboli-{process}"]["spec"]["template"]
    marks = template["metadata"]["labels"]
    (apart,) = pod(found[f"Deployment stromboli-{process}"])["affinity"]["podAntiAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    assert found[f"Deployment stromboli-{process}"]["spec"]["selector"]["matchLabels"] == marks
    assert found[f"PodDisruptionBudget stromboli-{process}"]["spec"]["selector"]["matchLabels"] == marks
    assert apart["podAffinityTerm"]["labelSelector"]["matchLabels"] == marks
    assert f"ServiceAccount {template['spec']['serviceAccountName']}" in found


def test_service_selects_metrics_port() -> None:
    found = printed()
    service = found["Service stromboli-scheduler"]
    (port,) = service["spec"]["ports"]
    assert service["spec"]["selector"] == found[SCHEDULER]["spec"]["template"]["metadata"]["labels"]
    assert {"name": port["targetPort"], "containerPort": port["port"]} in container(found[SCHEDULER])["ports"]
    scraped = {"scrape": "true", "port": str(port["port"]), "scheme": "https"}
    assert service["metadata"]["annotations"] == {f"prometheus.io/{name}": value for name, value in scraped.items()}


def test_aggregated_api_reaches_the_scheduler() -> None:
    found = printed()
    service, registered = found["Service stromboli-visibility"], found["APIService v1alpha1.visibility.stromboli.dev"]
    (port,) = service["spec"]["ports"]
    assert service["spec"]["selector"] == found[SCHEDULER]["spec"]["template"]["metadata"]["labels"]
    (open_port,) = [each for each in container(found[SCHEDULER])["ports"] if each["name"] == port["targetPort"]]
    assert flags(found[SCHEDULER], "--visibility-address") == [f":{open_port['containerPort']}"]
    assert registered["spec"]["service"] == {
        "name": "stromboli-visibility", "namespace": "stromboli-system", "port": port["port"]
    }  # fmt: skip


def test_installation_without_visibility_has_none_of_it() -> None:
    found = printed("--without-visibility")
    usual = printed()
    assert usual.keys() - found.keys() == {
        "APIService v1alpha1.visibility.stromboli.dev", "Service stromboli-visibility",
        "RoleBinding stromboli-scheduler-authentication",
    }  # fmt: skip
    assert flags(found[SCHEDULER], "--visibility-address") == []
    (rule,) = found["NetworkPolicy stromboli-scheduler"]["spec"]["ingress"]
    assert "from" in rule


def test_scheduler_configuration_is_mounted_from_config_map() -> None:
    found = printed()
    (path,) = flags(found[SCHEDULER], "--scheduler-conf")
    folder, _, key = path.rpartition("/")
    (mount,) = [each for each in container(found[SCHEDULER])["volumeMounts"] if each["mountPath"] == folder]
    (volume,) = [each for each in pod(found[SCHEDULER])["volumes"] if each["name"] == mount["name"]]
    assert found[f"ConfigMap {volume['configMap']['name']}"]["data"] == {key: DEFAULT_TEXT}


@pytest.mark.parametrize("process", PROCESSES)
def test_pods_comply_with_restricted_standard(process: str) -> None:
    deployment = printed()[f"Deployment stromboli-{process}"]
    assert pod(deployment)["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container(deployment)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


# -- what can be chosen -----------------------------------------------------------------------------------------------


def test_namespaced_objects_use_the_namespace() -> None:
    found = printed("--namespace", "batch")
    homes = {kind: each["metadata"].get("namespace") for kind, each in found.items()}
    assert homes.pop("RoleBinding stromboli-scheduler-authentication") == "kube-system"
    assert {home for kind, home in homes.items() if kind.split()[0] in documents_with_a_home()} == {"batch"}
    assert found["APIService v1alpha1.visibility.stromboli.dev"]["spec"]["service"]["namespace"] == "batch"
    subjects = [subject for each in found.values() for subject in each.get("subjects", ())]
    assert {subject["namespace"] for subject in subjects} == {"batch"}
    assert "Namespace batch" in found


def documents_with_a_home() -> set[str]:
    return {"ConfigMap", "Deployment", "PodDisruptionBudget", "Role", "RoleBinding", "Service", "ServiceAccount"}


@pytest.mark.parametrize("deployment", [SCHEDULER, CONTROLLER])
def test_settings_reach_both_processes(deployment: str) -> None:
    chosen = ("--image", "registry.example.com/stromboli@sha256:1234", "--replicas", "3")
    names = ("--scheduler-name", "night", "--scheduler-name", "day", "--scheduler-name", "night")
    found = printed(*chosen, *names)[deployment]
    assert container(found)["image"] == "registry.example.com/stromboli@sha256:1234"
    assert found["spec"]["replicas"] == 3
    assert flags(found, "--scheduler-name") == ["night", "day"]


def test_default_image_has_this_version() -> None:
    assert container(printed()[SCHEDULER])["image"] == f"stromboli:{__version__}"


POLICY = 'actions: "allocate"\ntiers:\n- plugins:\n  - name: gang\n'


def test_policy_is_read_from_file_or_standard_input(tmp_path: Path) -> None:
    (tmp_path / "policy.conf").write_text(POLICY)
    for found in printed("--conf", str(tmp_path / "policy.conf")), printed("--conf", "-", given=POLICY):
        assert found[CONFIGURATION]["data"] == {"volcano-scheduler.conf": POLICY}


def test_evict_by_delete_changes_arguments_and_role() -> None:
    usual, chosen = printed(), printed("--evict-by-delete")
    changed = {kind for kind in usual if usual[kind] != chosen[kind]}
    assert changed == {SCHEDULER, "ClusterRole stromboli-scheduler"}
    assert "--evict-by-delete=true" in container(chosen[SCHEDULER])["args"]


def test_discover_hypernodes_changes_arguments_and_role() -> None:
    usual, chosen = printed(), printed("--discover-hypernodes", "zone,rack")
    changed = {kind for kind in usual if usual[kind] != chosen[kind]}
    assert changed == {"Deployment stromboli-controller", "ClusterRole stromboli-controller"}
    assert "--discover-hypernodes=zone,rack" in container(chosen["Deployment stromboli-controller"])["args"]


KINDS_OF_PARTS = {
    "namespace": {"Namespace"},
    "crds": {"CustomResourceDefinition"},
    "roles": {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
    "network-policies": {"NetworkPolicy"},
    "configuration": {"ConfigMap"},
    "workloads": {"APIService", "Deployment", "PodDisruptionBudget", "Service"},
}


@pytest.mark.parametrize("part", PARTS)
def test_single_part_is_printed(part: str) -> None:
    assert {kind.split()[0] for kind in printed("--only", part)} == KINDS_OF_PARTS[part]


def test_all_parts_equal_the_whole() -> None:
    assert tuple(documents.PARTS) == PARTS
    assert [kind for part in PARTS for kind in printed("--only", part)] == list(printed())
    assert list(printed("--only", "workloads", "--only", "crds")) == [
        *printed("--only", "crds"),
        *printed("--only", "workloads"),
    ]


def test_crds_can_be_left_out() -> None:
    assert printed("--without-crds") == {
        kind: each for kind, each in printed().items() if not kind.startswith("CustomResourceDefinition")
    }


def test_network_policies_can_be_left_out() -> None:
    assert printed("--without-network-policies") == {
        kind: each for kind, each in printed().items() if not kind.startswith("NetworkPolicy")
    }


def test_controllers_can_be_left_out() -> None:
    """Nothing of theirs is left: no workload, and no account or role."""
    assert printed("--without-controllers") == {
        kind: each for kind, each in printed().items() if each["metadata"]["name"] != "stromboli-controller"
    }


def test_json_output_is_one_list() -> None:
    answer = json.loads(run("-o", "json").stdout)
    assert (answer["apiVersion"], answer["kind"]) == ("v1", "List")
    assert answer["items"] == list(printed().values())


# -- what is refused --------------------------------------------------------------------------------------------------

BAD = [
    ("a namespace in capitals", ["--namespace", "Batch"], 2, "--namespace: 'Batch' is not a valid namespace; use"),
    ("a namespace that is too long", ["-n", "a" * 64], 2, "use at most 63 lower-case letters"),
    ("an image with blanks", ["--image", "my image"], 2, "--image: 'my image' is not a valid image; write one like"),
    ("invalid scheduler name", ["--scheduler-name", "a_b"], 2, "--scheduler-name: 'a_b' is not a valid"),
    ("no replicas", ["--replicas", "0"], 2, "0 is not in the range 1<=x<=9"),
    ("a part that does not exist", ["--only", "webhooks"], 2, "'webhooks' is not one of 'namespace', 'crds'"),
    ("kinds with and without", ["--only", "crds", "--without-crds"], 2, "drop one of them"),
    ("policies with and without", ["--only", "network-policies", "--without-network-policies"], 2, "drop one of them"),
    (
        "a label without a value",
        ["--metrics-from", "monitoring"],
        2,
        "'monitoring' is not a valid label; write one",
    ),
    ("a host without a console", ["--console-host", "console.example.com"], 2, "add it"),
    ("a host that is no name", ["--with-console", "--console-host", "https://x"], 2, "'https://x' is not a DNS name"),
    ("an unknown controller", ["--controllers", "jbo"], 2, "controller 'jbo' is unknown; known: podgroup, queue"),
    ("a port that does not exist", ["--api-server-port", "0"], 2, "0 is not in the range 1<=x<=65535"),
    (
        "chosen controllers that are left out",
        ["--without-controllers", "--controllers", "queue"],
        2,
        "--controllers is an option of the controllers; drop --without-controllers.",
    ),
    (
        "discovery without its controller",
        ["--controllers", "*,-hypernode", "--discover-hypernodes", "zone"],
        2,
        "--discover-hypernodes needs the controller hypernode; add it to --controllers.",
    ),
    (
        "discovery without controllers",
        ["--without-controllers", "--discover-hypernodes", "zone"],
        2,
        "--discover-hypernodes is an option of the controllers; drop --without-controllers.",
    ),
    ("a file that is not there", ["--conf", "nowhere.conf"], 1, 'the path "nowhere.conf" does not exist'),
    ("a policy with a mistake", ["--conf", "-"], 1, "standard input:4: unknown plugin 'gangg'; did you mean 'gang'?"),
]


@pytest.mark.parametrize(("arguments", "code", "words"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_invalid_setting_is_named_with_remedy(arguments: list[str], code: int, words: str) -> None:
    result = run(*arguments, given=POLICY.replace("gang", "gangg"))
    assert (result.exit_code, result.stdout) == (code, "")
    assert words in " ".join(result.stderr.split())


def test_console_is_probed_and_reached_at_its_port() -> None:
    found = printed("--with-console", "--console-host=console.example.com", "--history-secret=history")
    deployment, service = found["Deployment stromboli-console"], found["Service stromboli-console"]
    command, *arguments = container(deployment)["args"]
    options = COMMANDS[command].load().make_context(command, arguments).params
    (port,) = container(deployment)["ports"]
    assert options["console_address"] == f":{port['containerPort']}"
    assert str(options["installation"]) == "stromboli-system/stromboli"
    assert {"console.example.com", "stromboli-console.stromboli-system.svc"} <= set(options["hosts"])
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container(deployment)[probe]["httpGet"]
        assert (asked["port"], asked["scheme"]) == (port["name"], "HTTPS")
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert [each["name"] for each in container(deployment)["env"]] == ["STROMBOLI_HISTORY"]
    assert not [name for name in printed() if "console" in name]
