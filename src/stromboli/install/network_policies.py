"""NetworkPolicies: a process accepts only what it serves, and connects only to the ports that it needs.

API servers and name servers often have no pods that a selector could match, so their ports are open to every address.
Probes need no rule: Kubernetes always admits traffic from the node of a pod.
"""

from __future__ import annotations

from typing import Any

from stromboli.install.gpu_sharing import RESERVATIONS
from stromboli.install.installation import Installation, labels, selected
from stromboli.install.processes import InstalledProcess, processes

_DNS_PORT = 53

Document = dict[str, Any]


def network_policy_documents(installation: Installation) -> list[Document]:
    """One policy for each process, and one for the namespace of reservation pods."""
    documents = [_of_process(process, installation) for process in processes(installation)]
    if installation.share_gpus:
        process = "binder" if installation.binder else "scheduler"
        metadata = {"name": RESERVATIONS, "namespace": RESERVATIONS, "labels": labels(process)}
        documents.append(_policy(metadata, {}, [], []))
    return documents


def _of_process(process: InstalledProcess, installation: Installation) -> Document:
    metadata = {"name": process.name, "namespace": installation.namespace, "labels": labels(process.component)}
    of_components = {
        "scheduler": installation.scheduler_egress_ports,
        "controller": installation.controller_egress_ports,
        "console": installation.scheduler_egress_ports,  # of the server of the history
    }
    further = of_components.get(process.component, ())
    names = {"ports": [_port(_DNS_PORT, "UDP"), _port(_DNS_PORT)]}
    outgoing = [names, {"ports": [_port(port) for port in (*installation.api_server_ports, *further)]}]
    return _policy(metadata, {"matchLabels": selected(process.component)}, _incoming(process, installation), outgoing)


def _incoming(process: InstalledProcess, installation: Installation) -> list[Document]:
    open_ports = [port for port in (process.visibility_port, process.console_port) if port is not None]
    people = [{"ports": [_port(port)]} for port in open_ports]
    if process.metrics_port is None:
        return people
    key, _, value = installation.metrics_from.partition("=")
    namespaces = {"matchLabels": {key: value}} if key else {}
    return [*people, {"from": [{"namespaceSelector": namespaces}], "ports": [_port(process.metrics_port)]}]


def _policy(metadata: Document, pods: Document, incoming: list[Document], outgoing: list[Document]) -> Document:
    """API servers do not store empty lists of rules, so that they would differ from the document."""
    spec: Document = {"podSelector": pods, "policyTypes": ["Ingress", "Egress"]}
    spec |= {key: rules for key, rules in (("ingress", incoming), ("egress", outgoing)) if rules}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}


def _port(number: int, protocol: str = "TCP") -> Document:
    return {"protocol": protocol, "port": number}
