"""Roles grant exactly what is called; every change of a right shows in a recorded file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from charts.refresh import CHART, copies
from stromboli.cluster.ingest.kinds import WATCHED_OPTIONAL, WATCHED_REQUIRED
from stromboli.controllers.names import HYPERNODE, JOB
from stromboli.install.controller_rights import DISCOVERS, OF_ALL, OF_CONTROLLERS
from stromboli.install.rights import (
    EVICTS_BY_DELETE,
    POLICY_RIGHTS,
    USER_RIGHTS,
    WRITES_REQUESTS,
    Right,
    admission_rights,
    binder_rights,
    console_rights,
    lease_rights,
    scheduler_rights,
)
from stromboli.install.roles import OPTIONAL, PROCESSES, metrics_reader_document, role_documents, user_role_documents

RULES = sorted(path for path in copies() if path.startswith("files/rules/"))


@pytest.mark.parametrize("path", RULES)
def test_role_rules_equal_recorded_file(path: str) -> None:
    """A changed right must be visible in a review: python charts/refresh.py updates the files."""
    assert (CHART / path).read_text() == copies()[path]


def allowed(documents: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Kind of role, resource and verb."""
    for document in documents:
        for rule in document.get("rules", ()):
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        yield document["kind"], f"{resource}.{group}".rstrip("."), verb


#: Rights that a stolen token must not have.
NEVER = [
    ("nodes", "patch"), ("nodes", "update"), ("nodes", "delete"), ("secrets", "get"), ("secrets", "list"),
    ("configmaps", "get"), ("configmaps", "update"), ("pods", "create"), ("pods", "update"), ("pods/exec", "create"),
    ("customresourcedefinitions.apiextensions.k8s.io", "create"), ("queues.scheduling.volcano.sh", "delete"),
    ("podgroups.scheduling.volcano.sh", "delete"), ("clusterroles.rbac.authorization.k8s.io", "update"),
    ("serviceaccounts/token", "create"),
]  # fmt: skip


#: What controllers of workloads need of these: a client that creates pods can read what pods can mount.
OF_JOBS = {
    ("pods", "create"), ("secrets", "get"), ("configmaps", "get"), ("podgroups.scheduling.volcano.sh", "delete"),
}  # fmt: skip


#: The policy of the scheduler, by its name and in its namespace.
OF_CONSOLE = {("configmaps", "get")}


@pytest.mark.parametrize("process", [*PROCESSES, *OPTIONAL])
@pytest.mark.parametrize("most", [False, True], ids=["as usual", "with everything that can be chosen"])
def test_no_process_has_dangerous_rights(process: str, most: bool) -> None:
    granted = set(allowed(role_documents(process, "batch", evict_by_delete=most, discover=most)))
    assert granted
    found = {(resource, verb) for _, resource, verb in granted if (resource, verb) in NEVER or "*" in resource + verb}
    assert found == {"controller": OF_JOBS, "console": OF_CONSOLE}.get(process, set())


def test_controllers_without_jobs_have_no_dangerous_rights() -> None:
    others = [name for name in OF_CONTROLLERS if name != JOB]
    granted = {
        (resource, verb) for _, resource, verb in allowed(role_documents("controller", "batch", controllers=others))
    }
    assert granted
    assert not granted & set(NEVER)


def test_only_leases_and_the_policy_are_namespaced_rights() -> None:
    for process in (*PROCESSES, *OPTIONAL):
        for kind, resource, verb in allowed(role_documents(process, "batch")):
            own = ("configmaps", "deployments.apps") if process == "console" else ("leases.coordination.k8s.io",)
            assert (kind == "Role") == (resource in own), f"{kind} with {verb} {resource}"


def test_watched_kinds_are_granted() -> None:
    granted = {(resource, verb) for _, resource, verb in allowed(role_documents("scheduler", "batch"))}
    assert {
        (each.name, verb) for each in (*WATCHED_REQUIRED, *WATCHED_OPTIONAL) for verb in ("list", "watch")
    } <= granted


EVICTING = {"pods/eviction create": False, "pods delete": True}


@pytest.mark.parametrize("right", EVICTING)
@pytest.mark.parametrize("by_delete", [False, True])
def test_only_one_eviction_right_is_granted(right: str, by_delete: bool) -> None:
    granted = {
        f"{resource} {verb}"
        for _, resource, verb in allowed(role_documents("scheduler", "batch", evict_by_delete=by_delete))
    }
    assert (right in granted) is (EVICTING[right] is by_delete)


BINDING = {
    "pods/binding create": False,
    "persistentvolumes patch": False,
    "bindrequests.scheduling.stromboli.dev create": True,
}


@pytest.mark.parametrize("right", BINDING)
@pytest.mark.parametrize("requests", [False, True])
def test_scheduler_with_requests_has_no_binding_right(right: str, requests: bool) -> None:
    granted = {
        f"{resource} {verb}" for _, resource, verb in allowed(role_documents("scheduler", "batch", requests=requests))
    }
    assert (right in granted) is (BINDING[right] is requests)
    assert {"persistentvolumes watch", "bindrequests.scheduling.stromboli.dev delete"} <= granted


def test_bindings_connect_account_and_roles() -> None:
    documents = role_documents("scheduler", "batch", account="night-shift", lease="night")
    roles = {(each["kind"], each["metadata"]["name"]) for each in documents if "rules" in each}
    bindings = [each for each in documents if "roleRef" in each]
    existing = ("Role", "extension-apiserver-authentication-reader")
    assert {(each["roleRef"]["kind"], each["roleRef"]["name"]) for each in bindings} == {*roles, existing}
    for each in bindings:
        assert each["subjects"] == [{"kind": "ServiceAccount", "name": "night-shift", "namespace": "batch"}]
    assert [rule.get("resourceNames") for each in documents if each["kind"] == "Role" for rule in each["rules"]] == [
        None,
        ["night"],
    ]


def test_no_lease_rights_without_election() -> None:
    documents = role_documents("controller", "batch", lease="")
    assert {each["kind"] for each in documents} == {"ClusterRole", "ClusterRoleBinding"}


def test_unknown_process_is_rejected() -> None:
    with pytest.raises(
        ValueError, match="unknown process 'baker'; known: scheduler, controller, binder, admission, console"
    ):
        role_documents("baker", "batch")


PART_OF: dict[str, set[str]] = {
    "stromboli-view": {"view", "edit", "admin"},
    "stromboli-edit": {"edit", "admin"},
    "stromboli-queues": set(),
    "stromboli-user": {"view", "edit", "admin"},
    "stromboli-viewer": set(),
}


@pytest.mark.parametrize("role", user_role_documents(), ids=lambda role: role["metadata"]["name"])
def test_user_roles_are_aggregated(role: dict[str, Any]) -> None:
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    joined = {label.removeprefix(prefix) for label in role["metadata"]["labels"] if label.startswith(prefix)}
    assert joined == PART_OF[role["metadata"]["name"]]


# -- the page about them ----------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[3] / "docs" / "install.md").read_text(encoding="utf-8")


def rows(rights: Sequence[Right]) -> list[str]:
    """As on the page: rights with the same reason share a row."""
    together: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for right in rights:
        together.setdefault((right.verbs, right.why), []).append(f"`{right.resource}.{right.group}".rstrip(".") + "`")
    return [f"| {', '.join(names)} | {', '.join(verbs)} | {why} |" for (verbs, why), names in together.items()]


def described(section: str) -> list[str]:
    """The rows of the tables below a heading."""
    text = PAGE.partition(f"\n### {section}\n")[2].partition("\n### ")[0]
    return [line for line in text.splitlines() if line.startswith("| ") and "| Verbs |" not in line]


def test_controllers_that_are_left_out_get_no_rights() -> None:
    chosen = set(allowed(role_documents("controller", "batch", controllers=(HYPERNODE,))))
    resources = {resource for kind, resource, _ in chosen if kind == "ClusterRole"}
    assert resources == {
        "events", "hypernodes.topology.volcano.sh", "hypernodes/status.topology.volcano.sh", "nodes",
        "subjectaccessreviews.authorization.k8s.io", "tokenreviews.authentication.k8s.io",
    }  # fmt: skip


def test_page_lists_every_right_with_reason() -> None:
    assert described("Scheduler") == rows((*scheduler_rights(), EVICTS_BY_DELETE, WRITES_REQUESTS))
    parts = [OF_ALL, *OF_CONTROLLERS.values(), (DISCOVERS,)]
    assert described("Controllers") == [row for part in parts for row in rows(part)]
    assert described("Both") == rows(lease_rights("any"))
    assert described("Binder") == rows(binder_rights())
    assert described("Webhook") == rows(admission_rights())
    assert described("Console") == [*rows(console_rights()), *rows(POLICY_RIGHTS)]


def test_metrics_reader_reads_metrics_only() -> None:
    assert metrics_reader_document()["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert "| `stromboli-metrics-reader` | none |" in PAGE


def test_page_lists_user_roles() -> None:
    for user, rights in USER_RIGHTS.items():
        joins = [part for part in ("view", "edit", "admin") if part in PART_OF[f"stromboli-{user}"]]
        row = f"| `stromboli-{user}` | {', '.join(f'`{part}`' for part in joins) or 'none'} |"
        assert f"{row} {'; '.join(dict.fromkeys(right.why for right in rights))} |" in PAGE
