"""The Helm chart and `stromboli manifests` produce the same objects, as Helm renders them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import helm_python
import msgspec
import pytest
import yaml
from click.testing import CliRunner

from charts.refresh import CHART, copies
from stromboli import __version__
from stromboli.cli import COMMANDS, main
from stromboli.install.roles import rights_of, rules
from stromboli.kube.manifests.yaml import load_documents
from tests.unit.install.printing import Document, by_name, printed

VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
README = (CHART / "README.md").read_text()
HELM_LABELS = ("helm.sh/chart", "app.kubernetes.io/managed-by")
SCHEDULER, CONTROLLER = "Deployment stromboli-scheduler", "Deployment stromboli-controller"

Values = Mapping[str, Any]


@pytest.fixture(scope="module")
def chart() -> Iterator[helm_python.Chart]:
    with helm_python.Chart.load(CHART) as loaded:
        yield loaded


def rendered(
    chart: helm_python.Chart, values: Values, *, name: str = "stromboli", namespace: str = "stromboli-system"
) -> dict[str, Document]:
    """Rendered objects by kind and name, without Helm's labels."""
    chart.validate_schema(dict(values))
    templates = chart.render(dict(values), name=name, namespace=namespace)
    texts = (text for path, text in sorted(templates.items()) if path.endswith(".yaml"))
    documents: list[Document] = [each for text in texts for each in msgspec.json.decode(_as_json(text)) if each]
    for document in documents:
        if document["kind"] == "Deployment":
            understand(container(document)["args"])
    return by_name([_plain(document) for document in documents])


@cache
def _as_json(text: str) -> bytes:
    """The documents of a rendered template; most templates are the same in most tests."""
    return msgspec.json.encode(load_documents(text, "chart"))


def understand(words: list[str]) -> None:
    """Parse the arguments as the process does; unknown ones fail."""
    command, *arguments = words
    COMMANDS[command].load().make_context(command, arguments)


def container(deployment: Document) -> Document:
    (found,) = deployment["spec"]["template"]["spec"]["containers"]
    return cast(Document, found)


def _plain(document: Document) -> Document:
    metadata = document["metadata"]
    for label in HELM_LABELS:
        metadata.get("labels", {}).pop(label, None)
    if document["kind"] == "CustomResourceDefinition":
        assert metadata.pop("annotations") == {"helm.sh/resource-policy": "keep"}
    return document


def test_certificate_of_the_aggregated_api_can_be_verified(chart: helm_python.Chart) -> None:
    name = "APIService v1alpha1.visibility.stromboli.dev"
    assert rendered(chart, {})[name]["spec"]["insecureSkipTLSVerify"] is True
    verified = rendered(chart, {"visibility": {"caBundle": "PEM"}})[name]["spec"]
    assert (verified["caBundle"], "insecureSkipTLSVerify" in verified) == ("UEVN", False)
    injected = rendered(chart, {"visibility": {"annotations": {"cert-manager.io/inject-ca-from": "a/b"}}})[name]
    assert injected["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "a/b"}
    assert "insecureSkipTLSVerify" not in injected["spec"]


# -- the same installation --------------------------------------------------------------------------------------------

POLICY = 'actions: "allocate"\ntiers:\n- plugins:\n  - name: gang\n'

SAME: list[tuple[str, Values, list[str]]] = [
    ("default values", {}, []),
    ("another image", {"image": {"registry": "example.com", "tag": "1"}}, ["--image", "example.com/stromboli:1"]),
    (
        "an image by digest",
        {"image": {"repository": "batch/stromboli", "digest": f"sha256:{'0' * 64}"}},
        ["--image", f"batch/stromboli@sha256:{'0' * 64}"],
    ),
    (
        "three replicas",
        {"scheduler": {"replicaCount": 3}, "controller": {"replicaCount": 3}},
        ["--replicas", "3"],
    ),
    ("another name", {"schedulerNames": ["night"]}, ["--scheduler-name", "night"]),
    ("another policy", {"config": POLICY}, ["--conf", "-"]),
    ("evicting by delete", {"scheduler": {"evictByDelete": True}}, ["--evict-by-delete"]),
    (
        "a network that is discovered",
        {"controller": {"discoverHyperNodes": "zone,rack=example.com/rack"}},
        ["--discover-hypernodes", "zone,rack=example.com/rack"],
    ),
    (
        "a volume for the history",
        {"scheduler": {"replicaCount": 1, "history": {"storage": "10Gi"}}, "controller": {"replicaCount": 1}},
        ["--history-storage", "10Gi", "--replicas", "1"],
    ),
    ("a server for the history", {"scheduler": {"history": {"secret": "history"}}}, ["--history-secret", "history"]),
    ("a binder", {"binder": {"enabled": True}}, ["--with-binder"]),
    ("no answers to people", {"visibility": {"enabled": False}}, ["--without-visibility"]),
    ("shared GPUs", {"gpuSharing": {"enabled": True}}, ["--share-gpus"]),
    (
        "shared GPUs and a binder",
        {"gpuSharing": {"enabled": True}, "binder": {"enabled": True}},
        ["--share-gpus", "--with-binder"],
    ),
    (
        "a console",
        {"console": {"enabled": True, "hosts": ["console.example.com"]}},
        ["--with-console", "--console-host=console.example.com"],
    ),
    (
        "a console with a shared history",
        {"console": {"enabled": True}, "scheduler": {"history": {"secret": "history"}}},
        ["--with-console", "--history-secret=history"],
    ),
    ("kinds left out", {"crds": {"install": False}}, ["--without-crds"]),
    ("controllers left out", {"controller": {"enabled": False}}, ["--without-controllers"]),
    ("a controller left out", {"controller": {"controllers": ["*", "-queue"]}}, ["--controllers", "*,-queue"]),
    ("one controller", {"controller": {"controllers": ["queue"]}}, ["--controllers", "queue"]),
    ("policies left out", {"networkPolicies": {"enabled": False}}, ["--without-network-policies"]),
    (
        "other ports and namespaces",
        {"networkPolicies": {"metricsFrom": "team=ops", "apiServerPorts": [8443], "schedulerEgressPorts": [9090, 80]}},
        [
            "--metrics-from=team=ops",
            "--api-server-port=8443",
            "--scheduler-egress-port=9090",
            "--scheduler-egress-port=80",
        ],
    ),
    (
        "ports of probes",
        {"networkPolicies": {"controllerEgressPorts": [8080, 5432]}},
        ["--controller-egress-port=8080", "--controller-egress-port=5432"],
    ),
    ("metrics for all namespaces", {"networkPolicies": {"metricsFrom": ""}}, ["--metrics-from="]),
    ("Volcano: the name", {"custom": {"scheduler_name": "volcano"}}, ["--scheduler-name", "volcano"]),
    ("Volcano: the policy", {"custom": {"scheduler_config_override": POLICY}}, ["--conf", "-"]),
    (
        "Volcano: the replicas",
        {"custom": {"scheduler_replicas": 1, "controller_replicas": 1}},
        ["--replicas", "1"],
    ),
    (
        "Volcano: the registry",
        {"basic": {"image_registry": "example.com"}},
        ["--image", f"example.com/stromboli:{__version__}"],
    ),
    ("Volcano: the image of Volcano", {"basic": {"image_tag_version": "v1.15.0"}}, []),
    ("Volcano: nothing said", {"custom": {"scheduler_name": None, "default_affinity": None}}, []),
]


@pytest.mark.parametrize(("values", "options"), [case[1:] for case in SAME], ids=[case[0] for case in SAME])
def test_chart_and_manifests_are_equal(chart: helm_python.Chart, values: Values, options: list[str]) -> None:
    wanted = printed(*options, given=POLICY)
    wanted.pop("Namespace stromboli-system")  # created by helm --create-namespace
    found = rendered(chart, values)
    assert sorted(found) == sorted(wanted)
    for name in wanted:
        assert found[name] == wanted[name], name


@pytest.mark.parametrize("path", sorted(copies()))
def test_copied_files_are_current(path: str) -> None:
    """python charts/refresh.py updates them."""
    assert (CHART / path).read_text() == copies()[path]


def test_no_copied_file_is_stale() -> None:
    found = {path.relative_to(CHART).as_posix() for path in (CHART / "files").rglob("*") if path.is_file()}
    assert found == set(copies())


def test_chart_version_is_package_version(chart: helm_python.Chart) -> None:
    assert chart.metadata["appVersion"] == __version__


# -- what only the chart can do ---------------------------------------------------------------------------------------


#: Objects whose names are those of a kind or a version.
_OF_CLUSTERS = ("CustomResourceDefinition", "APIService")


def test_object_names_contain_release(chart: helm_python.Chart) -> None:
    found = rendered(chart, {}, name="night", namespace="batch")
    assert all(name.split()[1].startswith("night-stromboli") for name in found if not name.startswith(_OF_CLUSTERS))
    deployment = found["Deployment night-stromboli-scheduler"]
    assert deployment["metadata"]["namespace"] == "batch"
    assert deployment["spec"]["selector"]["matchLabels"]["app.kubernetes.io/instance"] == "night"
    assert "--leader-elect-resource-name=night-stromboli" in container(deployment)["args"]
    leases = [rule.get("resourceNames") for rule in found["Role night-stromboli-scheduler"]["rules"]]
    assert leases == [None, ["night-stromboli"]]


#: By value, its path in the Deployment of the scheduler.
POD: list[tuple[str, Values, str, object]] = [
    ("tolerations", {"scheduler": {"tolerations": [{"operator": "Exists"}]}}, "tolerations", [{"operator": "Exists"}]),
    ("Volcano: tolerations", {"custom": {"default_tolerations": [{"key": "a"}]}}, "tolerations", [{"key": "a"}]),
    (
        "Volcano: nodes of one process win",
        {"custom": {"default_ns": {"a": "b"}, "scheduler_ns": {"c": "d"}}},
        "nodeSelector",
        {"c": "d"},
    ),
    ("affinity", {"scheduler": {"affinity": {"nodeAffinity": {}}}}, "affinity", {"nodeAffinity": {}}),
    ("pull secrets", {"imagePullSecrets": [{"name": "key"}]}, "imagePullSecrets", [{"name": "key"}]),
    ("Volcano: pull secret", {"basic": {"image_pull_secret": "key"}}, "imagePullSecrets", [{"name": "key"}]),
    ("priority", {"priorityClassName": "low"}, "priorityClassName", "low"),
    ("no priority", {"priorityClassName": ""}, "priorityClassName", None),
    (
        "spread",
        {"scheduler": {"topologySpreadConstraints": [{"maxSkew": 1}]}},
        "topologySpreadConstraints",
        [{"maxSkew": 1}],
    ),
    (
        "another account",
        {"scheduler": {"serviceAccount": {"create": False, "name": "mine"}}},
        "serviceAccountName",
        "mine",
    ),
]


@pytest.mark.parametrize(("values", "field", "wanted"), [case[1:] for case in POD], ids=[case[0] for case in POD])
def test_values_reach_the_pod(chart: helm_python.Chart, values: Values, field: str, wanted: object) -> None:
    assert rendered(chart, values)[SCHEDULER]["spec"]["template"]["spec"].get(field) == wanted


CONTAINER: list[tuple[str, Values, str, object]] = [
    ("environment", {"scheduler": {"extraEnv": [{"name": "A"}]}}, "env", [{"name": "A"}]),
    ("resources", {"scheduler": {"resources": {"requests": None}}}, "resources", {"limits": {"memory": "2Gi"}}),
    ("Volcano: resources", {"custom": {"scheduler_resources": {"limits": {}}}}, "resources", {"limits": {}}),
    ("pull policy", {"image": {"pullPolicy": "Always"}}, "imagePullPolicy", "Always"),
    ("Volcano: pull policy", {"basic": {"image_pull_policy": "Never"}}, "imagePullPolicy", "Never"),
]


@pytest.mark.parametrize(
    ("values", "field", "wanted"), [case[1:] for case in CONTAINER], ids=[case[0] for case in CONTAINER]
)
def test_values_reach_the_container(chart: helm_python.Chart, values: Values, field: str, wanted: object) -> None:
    assert container(rendered(chart, values)[SCHEDULER]).get(field) == wanted


ARGUMENTS: list[tuple[str, Values, str]] = [
    ("further options", {"scheduler": {"extraArgs": ["--seed=7"]}}, "--seed=7"),
    ("Volcano: rate", {"custom": {"scheduler_kube_api_qps": 5000000}}, "--kube-api-qps=5000000"),
    ("Volcano: burst", {"custom": {"scheduler_kube_api_burst": 5000000}}, "--kube-api-burst=5000000"),
    ("Volcano: period", {"custom": {"scheduler_schedule_period": "2s"}}, "--schedule-period=2s"),
    ("lease", {"leaderElection": {"leaseDuration": "60s"}}, "--leader-elect-lease-duration=60s"),
    ("renewal", {"leaderElection": {"renewDeadline": "40s"}}, "--leader-elect-renew-deadline=40s"),
    ("retry", {"leaderElection": {"retryPeriod": "5s"}}, "--leader-elect-retry-period=5s"),
]


@pytest.mark.parametrize(("values", "argument"), [case[1:] for case in ARGUMENTS], ids=[case[0] for case in ARGUMENTS])
def test_values_reach_the_process(chart: helm_python.Chart, values: Values, argument: str) -> None:
    assert argument not in container(rendered(chart, {})[SCHEDULER])["args"]
    assert argument in container(rendered(chart, values)[SCHEDULER])["args"]


LEFT_OUT: list[tuple[str, Values, set[str]]] = [
    ("no metrics", {"metrics": {"enabled": False}, "visibility": {"enabled": False}}, {"Service", "APIService"}),
    (
        "Volcano: no metrics",
        {"custom": {"scheduler_metrics_enable": False}, "visibility": {"enabled": False}},
        {"Service", "APIService"},
    ),
    ("no roles", {"rbac": {"create": False}}, {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}),
    (
        "no budgets",
        {p: {"podDisruptionBudget": {"enabled": False}} for p in ("scheduler", "controller")},
        {"PodDisruptionBudget"},
    ),
    (
        "no accounts",
        {p: {"serviceAccount": {"create": False, "name": p}} for p in ("scheduler", "controller")},
        {"ServiceAccount"},
    ),
    (
        "no election",
        {"leaderElection": {"enabled": False}, "scheduler": {"replicaCount": 1}, "controller": {"replicaCount": 1}},
        {"Role"},
    ),
]


@pytest.mark.parametrize(("values", "kinds"), [case[1:] for case in LEFT_OUT], ids=[case[0] for case in LEFT_OUT])
def test_disabled_objects_are_left_out(chart: helm_python.Chart, values: Values, kinds: set[str]) -> None:
    before, after = ({name.split()[0] for name in rendered(chart, each)} for each in ({}, values))
    assert before - after == kinds


@pytest.mark.parametrize("values", [{"controller": {"enabled": False}}, {"custom": {"controller_enable": False}}])
def test_disabled_process_has_no_objects(chart: helm_python.Chart, values: Values) -> None:
    assert not [name for name in rendered(chart, values) if name.endswith("-controller")]


def test_single_replica_without_election_uses_recreate(chart: helm_python.Chart) -> None:
    values = {"custom": {"leader_elect_enable": False, "scheduler_replicas": 1, "controller_replicas": 1}}
    deployment = rendered(chart, values)[SCHEDULER]
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert "--leader-elect=false" in container(deployment)["args"]


def test_common_labels_are_on_every_object_but_no_selector(chart: helm_python.Chart) -> None:
    values = {
        "commonLabels": {"team": "batch", "app.kubernetes.io/name": "mine"},
        "commonAnnotations": {"note": "ours"},
        "custom": {"common_labels": {"cost": "42"}},
    }
    for name, document in rendered(chart, values | {"crds": {"install": False}}).items():
        marks = document["metadata"]["labels"]
        assert (marks["team"], marks["cost"], marks["app.kubernetes.io/name"]) == ("batch", "42", "stromboli"), name
        assert document["metadata"]["annotations"]["note"] == "ours", name


HTTPS = {"scheme": "https", "tlsConfig": {"insecureSkipVerify": True}}


@pytest.mark.parametrize("process", ["scheduler", "admission"])
def test_service_monitor_selects_metrics(chart: helm_python.Chart, process: str) -> None:
    monitor = {"enabled": True, "interval": "5s", "labels": {"release": "prometheus"}}
    found = rendered(chart, {"metrics": {"serviceMonitor": monitor}, "admission": WEBHOOK})
    document, service = found[f"ServiceMonitor stromboli-{process}"], found[f"Service stromboli-{process}"]
    assert document["metadata"]["labels"]["release"] == "prometheus"
    assert document["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert "metrics" in {port["name"] for port in service["spec"]["ports"]}
    token = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path
    assert service["metadata"]["annotations"]["prometheus.io/scheme"] == "https"
    assert document["spec"]["endpoints"] == [{"port": "metrics", "interval": "5s", **HTTPS, "bearerTokenFile": token}]


@pytest.mark.parametrize("process", ["scheduler", "binder", "admission"])
def test_metrics_over_plain_http_are_a_choice(chart: helm_python.Chart, process: str) -> None:
    values = {"metrics": {"scheme": "http", "serviceMonitor": {"enabled": True}}, "admission": WEBHOOK}
    found = rendered(chart, values | {"binder": {"enabled": True}})
    name = f"stromboli-{process}"
    (container,) = found[f"Deployment {name}"]["spec"]["template"]["spec"]["containers"]
    (endpoint,) = found[f"ServiceMonitor {name}"]["spec"]["endpoints"]
    assert "--listen-scheme=http" in container["args"]
    assert found[f"Service {name}"]["metadata"]["annotations"]["prometheus.io/scheme"] == "http"
    assert (endpoint["scheme"], "tlsConfig" in endpoint) == ("http", False)


def test_service_monitor_can_name_a_secret(chart: helm_python.Chart) -> None:
    secret = {"credentials": {"name": "scrape", "key": "token"}}
    found = rendered(chart, {"metrics": {"serviceMonitor": {"enabled": True, "authorization": secret}}})
    (endpoint,) = found["ServiceMonitor stromboli-scheduler"]["spec"]["endpoints"]
    assert endpoint == {"port": "metrics", "interval": "30s", **HTTPS, "authorization": secret}


# -- the webhook ------------------------------------------------------------------------------------------------------

AUTHORITY = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n"
PATH_SECRET = "0123456789abcdef0123"  # noqa: S105 - of this test
WEBHOOK = {"enabled": True, "caBundle": AUTHORITY, "pathSecret": PATH_SECRET}

WEBHOOKS: list[tuple[str, Values, list[str]]] = [
    ("default values", {"admission": WEBHOOK}, []),
    ("another name", {"admission": WEBHOOK, "schedulerNames": ["night", "day"]},
     ["--scheduler-name=night", "--scheduler-name=day"]),
    ("failing otherwise", {"admission": {**WEBHOOK, "validatingFailure": "Ignore", "mutatingFailure": "Fail"}},
     ["--validating-failure=ignore", "--mutating-failure=fail"]),
    ("recorded users", {"admission": {**WEBHOOK, "recordUsers": True}}, ["--record-users"]),
    ("timeout", {"admission": {**WEBHOOK, "timeoutSeconds": 3}}, ["--timeout=3"]),
    ("others are spared", {"admission": {**WEBHOOK, "spareNamespaces": ["infra", "kube-system"]}},
     ["--exclude-namespace=infra", "--exclude-namespace=kube-system"]),
]  # fmt: skip


@pytest.mark.parametrize(("values", "options"), [case[1:] for case in WEBHOOKS], ids=[case[0] for case in WEBHOOKS])
def test_chart_and_command_have_equal_webhook_configurations(
    chart: helm_python.Chart, values: Values, options: list[str], tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_text(AUTHORITY)
    (tmp_path / "path-secret").write_text(PATH_SECRET)
    arguments = [f"--ca-file={tmp_path / 'ca.crt'}", f"--path-secret-file={tmp_path / 'path-secret'}"]
    arguments += ["--namespace=batch", "--name=stromboli-admission", *options]
    printed = CliRunner().invoke(main, ["admission", "configuration", *arguments], catch_exceptions=False)
    wanted = by_name([cast(Document, each) for each in load_documents(printed.stdout, "command")])
    found = rendered(chart, values, namespace="batch")
    assert len(wanted) == 2
    for name, document in wanted.items():
        assert found[name]["webhooks"] == document["webhooks"], name


def test_webhook_has_certificate_and_active_replicas(chart: helm_python.Chart) -> None:
    values = {"admission": {**WEBHOOK, "secretName": "mine"}, "leaderElection": {"enabled": False}}
    found = rendered(chart, values | {p: {"replicaCount": 1} for p in ("scheduler", "controller")})
    deployment = found["Deployment stromboli-admission"]
    assert deployment["spec"]["replicas"] == 2
    assert "strategy" not in deployment["spec"]
    arguments = container(deployment)["args"]
    assert "--trusted-group=system:serviceaccounts:stromboli-system" in arguments
    assert not [word for word in arguments if "leader" in word]
    mount, path = container(deployment)["volumeMounts"]
    assert f"--tls-cert-file={mount['mountPath']}/tls.crt" in arguments
    volume, of_path = deployment["spec"]["template"]["spec"]["volumes"]
    assert (volume["name"], volume["secret"]) == (mount["name"], {"secretName": "mine"})
    assert f"--path-secret-file={path['mountPath']}/path-secret" in arguments
    secret = found["Secret stromboli-admission-path"]
    assert of_path["secret"]["secretName"] == secret["metadata"]["name"]
    assert secret["stringData"] == {"path-secret": PATH_SECRET}
    ports = {port["name"] for port in container(deployment)["ports"]}
    assert {port["targetPort"] for port in found["Service stromboli-admission"]["spec"]["ports"]} <= ports
    assert found["ClusterRole stromboli-admission"]["rules"] == rules(rights_of("admission"))
    assert "Role stromboli-admission" not in found


def test_users_are_recorded_by_choice(chart: helm_python.Chart) -> None:
    for is_on in (False, True):
        found = rendered(chart, {"admission": {**WEBHOOK, "recordUsers": is_on}})
        assert ("--record-users=true" in container(found["Deployment stromboli-admission"])["args"]) is is_on


def test_path_secret_is_generated_by_default(chart: helm_python.Chart) -> None:
    values = {"admission": {"enabled": True, "caBundle": AUTHORITY}}
    found = [rendered(chart, values) for _ in range(2)]
    secrets = [each["Secret stromboli-admission-path"]["stringData"]["path-secret"] for each in found]
    assert [len(secret) for secret in secrets] == [40, 40]
    assert secrets[0] != secrets[1]
    assert secrets[0] == secrets[0].lower(), "API servers reject capitals in the path of a webhook"
    webhooks = found[0]["ValidatingWebhookConfiguration stromboli-admission"]["webhooks"]
    assert {each["clientConfig"]["service"]["path"] for each in webhooks} == {f"/validate/{secrets[0]}"}


def test_ca_bundle_can_be_injected(chart: helm_python.Chart) -> None:
    annotations = {"cert-manager.io/inject-ca-from": "batch/webhook"}
    found = rendered(chart, {"admission": {"enabled": True, "webhookAnnotations": annotations}})
    document = found["ValidatingWebhookConfiguration stromboli-admission"]
    assert document["metadata"]["annotations"] == annotations
    assert "caBundle" not in document["webhooks"][0]["clientConfig"]


# -- Volcano's values -------------------------------------------------------------------------------------------------

#: The most common values of Volcano's chart, with its defaults.
VOLCANO: Values = {
    "basic": {
        "controller_image_name": "volcanosh/vc-controller-manager",
        "scheduler_image_name": "volcanosh/vc-scheduler",
        "admission_secret_name": "volcano-admission-secret",
        "scheduler_config_file": "config/volcano-scheduler.conf",
        "image_pull_secret": "",
        "image_pull_policy": "Always",
        "image_tag_version": "latest",
        "admission_port": 8443,
        "image_registry": "docker.io",
    },
    "custom": {
        "admission_enable": True,
        "controller_enable": True,
        "controller_replicas": 1,
        "controller_worker_threads": 3,
        "scheduler_enable": True,
        "scheduler_replicas": 1,
        "scheduler_metrics_enable": True,
        "scheduler_plugins_dir": "",
        "scheduler_name": None,
        "leader_elect_enable": False,
        "scheduler_kube_api_qps": 2000,
        "scheduler_kube_api_burst": 2000,
        "scheduler_schedule_period": "1s",
        "scheduler_node_worker_threads": 20,
        "scheduler_config_override": None,
        "default_affinity": None,
        "default_tolerations": None,
        "default_sc": {"seccompProfile": {"type": "RuntimeDefault"}},
        "default_ns": None,
        "scheduler_resources": None,
        "scheduler_log_level": 3,
    },
    "service": {"ipFamilyPolicy": "", "ipFamilies": []},
}


def test_values_of_volcano_chart_are_accepted(chart: helm_python.Chart) -> None:
    found = rendered(chart, VOLCANO)
    for name in SCHEDULER, CONTROLLER:
        assert found[name]["spec"]["replicas"] == 1
        assert container(found[name])["image"] == f"docker.io/stromboli:{__version__}"
        assert container(found[name])["imagePullPolicy"] == "Always"
        assert "--leader-elect=false" in container(found[name])["args"]
    assert "--kube-api-burst=2000" in container(found[SCHEDULER])["args"]


def test_notes_list_ignored_values(chart: helm_python.Chart) -> None:
    values = {
        "schedulerNames": ["night", "day"],
        "basic": {"image_tag_version": "v1.15.0"},
        "custom": {"admission_enable": True, "colocation_enable": False, "scheduler_replicas": 2},
        "service": {"ipFamilyPolicy": "SingleStack"},
    }
    notes = chart.render(values, name="stromboli", namespace="batch")["stromboli/templates/NOTES.txt"]
    assert "spec.schedulerName night or day" in notes
    assert re.findall(r"^  ((?:basic|custom|service)\.\w+)$", notes, re.MULTILINE) == [
        "basic.image_tag_version",
        "custom.admission_enable",
        "service.ipFamilyPolicy",
    ]


# -- what is refused --------------------------------------------------------------------------------------------------

REFUSED: list[tuple[str, Values, str]] = [
    ("a value that does not exist", {"imge": {"tag": "1"}}, "additional properties 'imge' not allowed"),
    ("a place that does not exist", {"image": {"name": "x"}}, "'/image': additional properties 'name' not allowed"),
    ("a word for a number", {"scheduler": {"replicaCount": "two"}}, "'/scheduler/replicaCount': got string, want"),
    ("an unknown controller", {"controller": {"controllers": ["jbo"]}}, "'/controller/controllers/0'"),
    ("too many replicas", {"controller": {"replicaCount": 50}}, "'/controller/replicaCount': maximum: got 50, want 9"),
    ("a policy for pulling", {"image": {"pullPolicy": "Sometimes"}}, "'/image/pullPolicy': value must be one of"),
    ("a digest", {"image": {"digest": "sha256:1"}}, "'/image/digest': 'sha256:1' does not match pattern"),
    ("no scheduler name", {"schedulerNames": []}, "'/schedulerNames': minItems: got 0, want 1"),
    ("a scheduler name", {"schedulerNames": ["A B"]}, "'/schedulerNames/0': 'A B' does not match pattern"),
    ("an argument", {"scheduler": {"extraArgs": ["seed=7"]}}, "'/scheduler/extraArgs/0': 'seed=7' does not match"),
    ("a duration", {"leaderElection": {"leaseDuration": "long"}}, "'/leaderElection/leaseDuration': 'long' does not"),
    ("a number for a label", {"commonLabels": {"cost": 42}}, "'/commonLabels/cost': got number, want string"),
    ("an authority that is none", {"admission": {"caBundle": "abc"}}, "'/admission/caBundle': 'abc' does not match"),
    (
        "a way to fail",
        {"admission": {"validatingFailure": "Open"}},
        "'/admission/validatingFailure': value must be one",
    ),
    ("Volcano: a word for a number", {"custom": {"scheduler_replicas": "1"}}, "'/custom/scheduler_replicas': got"),
]


@pytest.mark.parametrize(("values", "words"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_invalid_values_are_rejected_with_path(chart: helm_python.Chart, values: Values, words: str) -> None:
    with pytest.raises(helm_python.HelmValuesError) as refused:
        chart.validate_schema(dict(values))
    assert words in str(refused.value)


IMPOSSIBLE: list[tuple[str, Values, str]] = [
    (
        "two schedulers without an election",
        {"leaderElection": {"enabled": False}},
        "replicaCount: without leaderElection.enabled there can be only one replica, not 2; set it to 1, or switch",
    ),
    (
        "account without name",
        {"scheduler": {"serviceAccount": {"create": False}}},
        "scheduler.serviceAccount.name: name the account, or set scheduler.serviceAccount.create",
    ),
    (
        "webhook without CA bundle",
        {"admission": {"enabled": True}},
        "admission.caBundle: name the authority of the certificate (ca.crt), or have it injected by",
    ),
]


@pytest.mark.parametrize(("values", "words"), [case[1:] for case in IMPOSSIBLE], ids=[case[0] for case in IMPOSSIBLE])
def test_contradictory_values_are_rejected_with_remedy(chart: helm_python.Chart, values: Values, words: str) -> None:
    with pytest.raises(helm_python.HelmRenderError) as refused:
        chart.render(dict(values), name="stromboli", namespace="batch")
    assert words in str(refused.value)


def test_helm_lint_passes() -> None:
    report = helm_python.lint(CHART, strict=True, kube_version="v1.36.0")
    assert report["errors"] == []
    assert [each["error"] for each in report["messages"]] == ["icon is recommended"]


# -- the page about it ------------------------------------------------------------------------------------------------


def leaves(values: Values, place: str = "") -> Iterator[str]:
    for key, value in values.items():
        if (
            isinstance(value, dict)
            and value
            and key not in ("resources", "nodeSelector")
            and "ecurityContext" not in key
        ):
            yield from leaves(value, f"{place}{key}.")
        else:
            yield f"{place}{key}"


def test_every_value_is_documented() -> None:
    described = set(re.findall(r"`([\w.]+)`", README))
    names = {re.sub(r"^(?:scheduler|controller|binder|admission|console)\.", "", name) for name in leaves(VALUES)}
    assert names - described == {"basic", "custom", "service"}


def test_every_supported_volcano_value_is_documented(chart: helm_python.Chart) -> None:
    assert chart.schema is not None
    known = {f"{part}.{key}" for part in ("basic", "custom") for key in chart.schema["properties"][part]["properties"]}
    assert known == set(re.findall(r"`((?:basic|custom)\.\w+)`", README)) - {"basic.image_tag_version"}
