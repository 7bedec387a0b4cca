"""The public API: its names, that they suffice for the built-in plugins, and that examples use nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import stromboli
from stromboli import api

ROOT = Path(__file__).parents[3]
SOURCE = Path(stromboli.__file__).parent

#: Every public name. Removing one, or changing its meaning, needs another API_VERSION.
NAMES = [
    "ALLOCATED_STATUSES", "API_VERSION", "CLUSTER", "CPU", "LIMITS", "MEMORY", "NO_NODE_GROUPS", "PODS", "QUEUE",
    "ROOT", "UNLIMITED", "Action", "AffinityTerm", "Allowance", "Amount", "Amounts", "ApiError", "Argument",
    "Arguments", "BinderContext", "BinderPlugin", "ClassCache", "ClusterView", "Code", "Descending", "Document",
    "Domain", "DomainGroup", "DomainScores", "Endpoint", "Event", "EvictionContext", "EvictionHeadroom",
    "ExternalServices", "FractionScore", "HostPort", "HyperNodeTree", "Index", "InvalidAnswer", "Job", "JobOrder",
    "JobPlugin", "JobSpec", "Key", "Ledger", "LedgerInconsistency", "Locality", "Mask", "NetworkTopology", "Node",
    "NodeFilter", "NodeGroups", "NodeScorer", "NodeTable", "NodeView", "PerNodeOrder", "PerNodePredicate",
    "PermanentFailure", "Placement", "Plugin", "PluginArgumentError", "PluginFailure", "PluginFlag", "PluginObject",
    "PluginWithFlags", "PortSet", "PrefixArgument", "Queue", "QueueFacts", "QueueUsage", "Reason", "Request",
    "Requirement", "ResourceAxis", "Rows", "RuleFinding", "Scores", "ServiceClient", "ServiceError", "Session",
    "SpareMembers", "SpreadConstraint", "Statement", "StepFailed", "SubGroupPolicy", "SubJob", "Taint", "Task",
    "TaskClass", "TaskRefusal", "TaskStatus", "Toleration", "UsageTable", "Victims", "VolcanoTask", "Vote",
    "WorkloadDocument", "add_amounts", "add_request", "checked_url", "counts_in_milli", "dense", "dominant_share",
    "duration_or_nothing", "enclosing_domain", "exceeding", "first_untolerated", "format_quantity", "group_of",
    "is_bytes", "kinds", "parse_duration", "parse_quantity", "quoted", "ready_in", "role_pipelined", "role_ready",
    "subtract_amounts", "tolerates", "valid_in",
]  # fmt: skip

#: What built-in plugins import and authors do not get, with the reason.
INTERNAL = {
    "config.configuration_errors": "findings have lines of the configuration file; a plugin raises ValueError",
    "config.yaml_lines": "deviceshare reads YAML inside a ConfigMap; authors use any YAML library",
    "model.devices": "formats of device plugins and resource claims, which change with those projects",
    "model.nodes.cpu_assignment": "the algorithm of the kubelet's CPU manager, which numa-aware repeats",
    "model.nodes.node_selection": "node selectors and affinity are the rule of predicates; authors use Requirement",
    "model.nodes.numa": "the format in which node agents report NUMA nodes",
    "model.nodes.taints": "columns of taints for predicates and nodeorder; authors use tolerates",
    "model.queues.limit_reasons": "messages about limits and shares, which the plugins of queues have in common",
    "model.queues.queue": "keys of annotations that only drf reads",
    "model.queues.quota": "ResourceQuotas are the rule of resourcequota",
    "model.reasons": "the titles of codes; authors pass a short form of their own, or none",
    "model.tasks.pod_terms": "counts of pods by term are laid out for predicates and nodeorder",
    "model.topology.label_domains": "counts of pods by domain are laid out for predicates and nodeorder",
    "model.topology.topology_spread": "topology spread constraints are the rule of predicates and nodeorder",
    "model.usage": "past usage and its weighting are the rule of fairshare, and budgets that of budget",
    "model.volumes": "volumes are bound by predicates and the binder together",
    "search.node_rules": "scores by site are laid out for network-topology-aware; authors use NodeScorer",
    "session.waiting_reasons": "the message about a gang with too few pods, which the status has in common with gang",
    "topology.domain_capacity": "sums over domains for network-topology-aware",
    "topology.domain_sums": "sums over domains for network-topology-aware",
}
#: Built-in plugins use the name of the model, authors that of the extension points.
RENAMED = {"Vector": "Scores"}


def test_surface_lists_exactly_the_public_names() -> None:
    assert sorted(api.__all__) == sorted(NAMES)
    assert api.API_VERSION == 1


@pytest.mark.parametrize("name", NAMES)
def test_public_name_resolves(name: str) -> None:
    assert getattr(api, name) is not None


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Plugim'"):
        getattr(api, "Plugim")  # noqa: B009 - mypy would find it


def imports_of(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def imports_of_built_in_plugins() -> set[tuple[str, str]]:
    found = {
        pair
        for path in (SOURCE / "core" / "plugins").rglob("*.py")
        for pair in imports_of(ast.parse(path.read_text(encoding="utf-8")))
    }
    core = {(module.removeprefix("stromboli.core."), name) for module, name in found if module.startswith("stromboli.")}
    return {(module, name) for module, name in core if not module.startswith("plugins")}


def reason_for(module: str) -> str:
    return next((INTERNAL[known] for known in INTERNAL if f"{module}.".startswith(f"{known}.")), "")


def test_built_in_plugins_need_only_public_names_or_there_is_a_reason() -> None:
    missing = [
        (module, name)
        for module, name in sorted(imports_of_built_in_plugins())
        if RENAMED.get(name, name) not in api.__all__ and not reason_for(module)
    ]
    assert missing == []


def test_every_reason_is_needed() -> None:
    internal = {module for module, name in imports_of_built_in_plugins() if RENAMED.get(name, name) not in api.__all__}
    unused = [known for known in INTERNAL if not any(f"{m}.".startswith(f"{known}.") for m in internal)]
    assert unused == []


#: The page about the Python API, which is the package itself; plugins import `stromboli.api`.
PYTHON_PAGE = "docs/python.md"


def pages_with_code() -> dict[str, str]:
    """The Python examples of every page, and the modules of the example package."""
    pages = {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in sorted((ROOT / "docs").rglob("*.md"))}
    code = {page: "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)) for page, text in pages.items()}
    modules = sorted((ROOT / "examples" / "plugin-package").rglob("*.py"))
    code |= {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in modules}
    return {place: text for place, text in code.items() if "import" in text}


@pytest.mark.parametrize("place", pages_with_code())
def test_examples_import_only_the_public_api(place: str) -> None:
    lines = re.findall(r"^\s*(?:from|import) (stromboli[\w.]*)", pages_with_code()[place], re.MULTILINE)
    assert set(lines) <= ({"stromboli", "stromboli.api"} if place == PYTHON_PAGE else {"stromboli.api"})


def test_reference_page_has_a_meaning_for_every_entry() -> None:
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (.+) \|  \|$", page, re.MULTILINE) == []
