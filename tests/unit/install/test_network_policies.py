"""NetworkPolicies admit exactly what a process serves and needs."""

from __future__ import annotations

from typing import Any

import helm_python
import pytest

from charts.refresh import CHART
from stromboli.install.installation import API_SERVER_PORTS, METRICS_FROM
from stromboli.kube.manifests.yaml import load_documents
from tests.unit.install.printing import by_name, printed

PROCESSES = ("scheduler", "controller", "binder", "admission", "console")
HEALTH = "health"


@pytest.fixture(scope="module")
def installed() -> dict[str, dict[str, Any]]:
    """An installation of all processes, by the chart."""
    webhook = {"enabled": True, "caBundle": "-----BEGIN CERTIFICATE-----", "pathSecret": "0123456789abcdef0123"}
    values = {
        "admission": webhook,
        "binder": {"enabled": True},
        "gpuSharing": {"enabled": True},
        "console": {"enabled": True},
    }
    with helm_python.Chart.load(CHART) as chart:
        templates = chart.render(values, name="stromboli", namespace="stromboli-system")
    texts = [text for path, text in templates.items() if path.endswith(".yaml")]
    return by_name([each for text in texts for each in load_documents(text, "chart") if each])  # type: ignore[misc]


def ports(rules: list[dict[str, Any]]) -> set[tuple[str, int]]:
    return {(port["protocol"], port["port"]) for rule in rules for port in rule["ports"]}


@pytest.mark.parametrize("process", PROCESSES)
def test_only_served_ports_are_open(installed: dict[str, dict[str, Any]], process: str) -> None:
    """Probes come from the node of the pod, which policies never block."""
    template = installed[f"Deployment stromboli-{process}"]["spec"]["template"]
    policy = installed[f"NetworkPolicy stromboli-{process}"]
    assert policy["metadata"]["namespace"] == "stromboli-system"
    assert policy["spec"]["podSelector"]["matchLabels"] == template["metadata"]["labels"]
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    (container,) = template["spec"]["containers"]
    served = {("TCP", port["containerPort"]) for port in container["ports"] if port["name"] != HEALTH}
    assert ports(policy["spec"].get("ingress", [])) == served


@pytest.mark.parametrize("process", PROCESSES)
def test_only_what_api_servers_call_is_open_to_all(installed: dict[str, dict[str, Any]], process: str) -> None:
    rules = installed[f"NetworkPolicy stromboli-{process}"]["spec"].get("ingress", [])
    assert ports([rule for rule in rules if "from" not in rule]) == (
        {("TCP", 8443)} if process in ("admission", "console", "scheduler") else set()
    )


@pytest.mark.parametrize("process", PROCESSES)
def test_processes_reach_api_servers_and_names_only(installed: dict[str, dict[str, Any]], process: str) -> None:
    wanted = {("TCP", port) for port in (53, *API_SERVER_PORTS)} | {("UDP", 53)}
    assert ports(installed[f"NetworkPolicy stromboli-{process}"]["spec"]["egress"]) == wanted


def test_metrics_are_open_to_labelled_namespaces() -> None:
    key, _, value = METRICS_FROM.partition("=")
    (rule,) = printed()["NetworkPolicy stromboli-controller"]["spec"]["ingress"]
    assert rule["from"] == [{"namespaceSelector": {"matchLabels": {key: value}}}]


def test_further_ports_are_those_of_the_scheduler() -> None:
    usual, chosen = printed(), printed("--scheduler-egress-port=9090")
    assert {kind for kind in usual if usual[kind] != chosen[kind]} == {"NetworkPolicy stromboli-scheduler"}
    assert ("TCP", 9090) in ports(chosen["NetworkPolicy stromboli-scheduler"]["spec"]["egress"])


def test_reservation_pods_have_no_network(installed: dict[str, dict[str, Any]]) -> None:
    policy = installed["NetworkPolicy stromboli-reservations"]
    assert policy["metadata"]["namespace"] == "stromboli-reservations"
    assert policy["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
