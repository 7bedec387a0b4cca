"""Writes docs/reference/api.md from the docstrings, signatures and comments of `stromboli.api`.

`python tools/api_reference.py` prints the page, and with `--write` stores it. A test fails when the page is stale.
"""

from __future__ import annotations

import ast
import html
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stromboli import api

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
#: The classes that have a section of their own; the other names are in a table.
CLASSES = (
    "Plugin", "Action", "Session", "Statement", "Job", "SubJob", "JobSpec", "Task", "TaskClass", "Queue", "QueueUsage",
    "Node", "NodeTable", "Rows", "Ledger", "ResourceAxis", "NodeFilter", "NodeScorer", "Arguments", "BinderPlugin",
    "BinderContext", "Placement",
)  # fmt: skip
#: Methods that the scheduler calls itself; authors have no use for them.
INTERNAL = {
    "Session": {"run", "close"},
    "Job": {"copy"},
    "SubJob": {"copy"},
    "QueueUsage": {"copy", "empty"},
}
#: Meanings of attributes whose name and type leave little to document in the source; by class, or for all classes.
MEANINGS = {
    "annotations": "Annotations of the object.",
    "created": "When it was created, in seconds since the epoch.",
    "key": "`namespace/name`.",
    "labels": "Labels of the object.",
    "min_available": "How many tasks must be placed together.",
    "name": "The name of the object.",
    "namespace": "The namespace of the object.",
    "priority": "The priority; higher is more important.",
    "queue": "The name of its queue.",
    "ready_count": "How many tasks are placed or succeeded.",
    "role": "The role of the task in its job.",
    "uid": "The uid of the object.",
    "BinderContext.client": "The Kubernetes client.",
    "BinderContext.is_leader": "Whether this process is the leader.",
    "BinderContext.view": "The cluster as the watches report it.",
    "BinderPlugin.name": "The name in options.",
    "BinderPlugin.options": "The options of the plugin, with defaults filled in.",
    "Job.counts": "Number of tasks by status; see `ready_in` and `valid_in`.",
    "Job.is_starving": "Whether it has fewer placed or nominated tasks than it needs.",
    "Job.min_resources": "The `minResources` of the PodGroup.",
    "Job.pending_count": "How many tasks are pending.",
    "Job.phase": "The phase of the PodGroup.",
    "Job.pipelined_count": "How many tasks have nominated capacity.",
    "Job.requested": "The sum of the requests of its tasks, by dimension.",
    "Job.role_counts": "Number of tasks by role and status.",
    "Job.scheduled_count": "How many tasks have a node.",
    "Job.spec": "The facts of the PodGroup.",
    "Job.sub_jobs": "Its sub-jobs by key.",
    "Job.sub_jobs_of": "The sub-jobs of one policy.",
    "Job.tasks": "Its tasks by uid.",
    "Job.valid_count": "How many tasks are placed, succeeded, or can still be placed.",
    "JobSpec.min_resources": "The `minResources` of the PodGroup.",
    "JobSpec.min_task_member": "The minimum of tasks by role.",
    "JobSpec.policies": "The sub-group policies.",
    "JobSpec.preemptable": "Whether the PodGroup is marked as preemptable.",
    "JobSpec.topology": "The network topology constraint; None for none.",
    "Ledger.budgets": "The PodDisruptionBudgets, with the evictions of this cycle.",
    "Ledger.claims": "Allocations of resource claims.",
    "Ledger.future_rows": "All nodes as rows, with releases counted as finished.",
    "Ledger.is_pending": "Whether a task waits for a node.",
    "Ledger.node_name": "The node of a task; empty for none.",
    "Ledger.node_of": "The node row of every task row; -1 for none.",
    "Ledger.status": "The status code of every task row.",
    "Ledger.status_of": "The status of a task.",
    "Ledger.terms": "The registered affinity and spread terms.",
    "Ledger.volumes": "Allocations of volumes.",
    "Node.ready": "Whether the node is ready.",
    "Node.taints": "The taints of the node.",
    "Node.unschedulable": "Whether the node is cordoned.",
    "NodeScorer.applies_to": "Whether the rule scores nodes for the class. Asked once per class and cycle.",
    "NodeTable.index": "The row of a node by name.",
    "NodeTable.names": "The names of all nodes, by row.",
    "NodeTable.nodes": "The facts of all nodes, by row.",
    "Placement.node": "The name of the node.",
    "Queue.capability": "The most it may hold.",
    "Queue.deserved": "What it deserves.",
    "Queue.guarantee": "What is reserved for it.",
    "Queue.is_open": "Whether it accepts jobs.",
    "Queue.node_groups": "The groups of nodes that it uses and avoids.",
    "Queue.parent": "The name of its parent; empty for none.",
    "Queue.reclaimable": "Whether other queues may reclaim from it.",
    "Queue.state": "The state: Open, Closing, Closed or Unknown.",
    "Queue.weight": "Its weight among its siblings.",
    "ResourceAxis.find": "The dimension of a resource; None if no object names it.",
    "ResourceAxis.names": "The resource of each dimension.",
    "Rows.allocatable": "Allocatable amount of each row.",
    "Rows.idle": "Idle amount of each row.",
    "Rows.index": "The nodes of the rows, as indices into the table; None for all nodes in order.",
    "Rows.copies": "By entry, the number of further copies of the class that hypothetical rows contain.",
    "Rows.pipelined": "Nominated amount of each row.",
    "Rows.releasing": "Amount of each row that is being released.",
    "Rows.used": "Used amount of each row.",
    "Session.axis": "The resources and their dimensions.",
    "Session.decisions": "What the cycle has decided so far.",
    "Session.job_order_key": "The sort key of a job within its queue.",
    "Session.jobs": "All jobs by key.",
    "Session.kept": "Statements whose nominations are kept until the end of the cycle.",
    "Session.ledger": "The accounting of nodes, tasks, jobs and queues.",
    "Session.measurements": "Durations of actions and plugins.",
    "Session.nodes": "The table of all nodes.",
    "Session.now": "The time of the cycle, in seconds since the epoch.",
    "Session.program": "The plugins and actions of the configuration.",
    "Session.queue_of": "The queue of a job.",
    "Session.queue_order_key": "The sort key of a queue.",
    "Session.queues": "All queues by name.",
    "Session.search": "The search for nodes.",
    "Session.seed": "The seed of the cycle: 0 orders equal nodes by name.",
    "Session.snapshot": "The state of the cluster at the start of the cycle.",
    "Session.statement": "A new statement.",
    "Session.statuses": "The status of every evaluated job, at the end of the cycle.",
    "Session.sub_job_order_key": "The sort key of a sub-job within its job.",
    "Session.task_order_key": "The sort key of a task within its job.",
    "Session.total": "Allocatable amounts of all nodes together, by dimension.",
    "Session.total_deserved": "What all queues deserve together.",
    "Session.total_guarantee": "The guarantees of all queues together.",
    "Session.uid": "The uid of the cycle.",
    "Session.victim_queue_order_key": "The sort key of a queue as victim of another.",
    "Session.warnings": "Warnings of the cycle; plugins may append to it.",
    "Statement.operations": "The operations of the statement.",
    "SubJob.counts": "Number of tasks by status.",
    "SubJob.is_pipelined": "Whether it can start once releases are finished.",
    "SubJob.is_ready": "Whether its minimum is placed.",
    "SubJob.job": "The key of its job.",
    "SubJob.match_index": "The number in the first of its label values, for sorting.",
    "SubJob.tasks": "Its tasks.",
    "Task.claim_names": "The names of its resource claims.",
    "Task.gated": "Whether the pod has scheduling gates.",
    "Task.job": "The key of its job.",
    "Task.never_preempts": "Whether its priority class has `preemptionPolicy: Never`.",
    "Task.nominated_node": "The node that it is nominated for.",
    "Task.preemptable": "Whether the pod may be preempted.",
    "Task.priority_class": "The name of its priority class.",
    "Task.row": "Its row in the columns of the ledger.",
    "Task.sub_job": "The key of its sub-job; empty for none.",
    "Task.task_class": "The class of the task.",
    "TaskClass.affinity": "Required affinity to pods.",
    "TaskClass.annotations": "The declared annotations; see `reads_annotations`.",
    "TaskClass.anti_affinity": "Required anti-affinity to pods.",
    "TaskClass.best_effort": "Whether tasks of the class request nothing but a pod slot.",
    "TaskClass.container_count": "The number of containers.",
    "TaskClass.images": "The images of the containers.",
    "TaskClass.node_selector": "The node selector.",
    "TaskClass.number": "The number of the class in the cycle.",
    "TaskClass.ports": "The host ports.",
    "TaskClass.preferred_node_terms": "Preferred node affinity, with weights.",
    "TaskClass.request": "The request, as pairs of dimension and amount.",
    "TaskClass.spread": "The topology spread constraints.",
    "TaskClass.tolerations": "The tolerations.",
    "ALLOCATED_STATUSES": "The statuses of tasks that hold resources of a node.",
    "API_VERSION": "The version of this API.",
    "Amount": "An amount per node, or one amount as an array: whole numbers.",
    "Amounts": "Amounts by dimension: whole numbers.",
    "CLUSTER": "The domain that is the whole cluster.",
    "CPU": "The dimension of cpu, counted in thousandths.",
    "Document": "A JSON object.",
    "Index": "Indices of nodes or tasks.",
    "Key": "Any comparable value; smaller comes first.",
    "LIMITS": "The key among `reads_annotations` for the limits of containers.",
    "MEMORY": "The dimension of memory, in bytes.",
    "Mask": "One boolean per node.",
    "NO_NODE_GROUPS": "No groups of nodes.",
    "PODS": "The dimension of pod slots.",
    "QUEUE": "The key among `reads_annotations` for the queue of the pod's job.",
    "ROOT": "The name of the root queue.",
    "Request": "A request, as pairs of dimension and amount.",
    "Scores": "One score per node; higher is better.",
    "Taint": "A taint: `key`, `value` and `effect`.",
    "Toleration": "A toleration: `key`, `operator`, `value` and `effect`.",
    "UNLIMITED": "An amount without a limit.",
    "Victims": "A sequence of tasks, or None to abstain.",
    "Locality": "How far the result of a rule about nodes reaches: `STATIC`, `ROW` or `CLUSTER`.",
    "add_amounts": "Add amounts in place.",
    "add_request": "Add a request, times `copies`, in place.",
    "dense": "Return a request as amounts by dimension.",
    "group_of": "Return domains as a group.",
    "role_pipelined": "Count tasks that are placed, succeeded or nominated.",
    "role_ready": "Count tasks that are placed or succeeded.",
    "subtract_amounts": "Subtract amounts in place.",
    "tolerates": "Report whether any toleration tolerates the taint.",
}
HEAD = f"""# API reference

Everything that authors of [plugins](../writing-plugins.md), [actions](../actions.md#custom-actions),
[binder plugins](../writing-binder-plugins.md) and [job plugins](../job-plugins.md#writing-one) may use is in
`stromboli.api`. This is version {api.API_VERSION}; see [Versions](../writing-plugins.md#versions).
This page is generated from the source by `tools/api_reference.py`.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One attribute, property or method."""

    name: str
    declaration: str
    text: str


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, *(_section(name) for name in CLASSES), _other_names()]
    return "\n".join(parts)


def _section(name: str) -> str:
    owner = getattr(api, name)
    hidden = INTERNAL.get(name, set())
    entries = [_complete(name, entry) for entry in _entries(owner) if entry.name not in hidden]
    attributes = [entry for entry in entries if not entry.declaration.endswith(")") and "(" not in entry.declaration]
    methods = [entry for entry in entries if entry not in attributes]
    lines = [f"## {name}", "", _plain(inspect.getdoc(owner) or ""), ""]
    lines += _table("Attribute", attributes) + _table("Method", methods)
    return "\n".join(lines)


def _complete(owner: str, entry: Entry) -> Entry:
    """Fill in the meaning of an entry that the source does not document."""
    text = entry.text or MEANINGS.get(f"{owner}.{entry.name}") or MEANINGS.get(entry.name, "")
    if not text and owner == "Session" and hasattr(api.Plugin, _extension_point(entry.name)):
        point = _extension_point(entry.name)
        text = f"The combined answer of all plugins to [`{point}`](../extension-points.md#{point})."
    return Entry(entry.name, entry.declaration, text)


def _extension_point(method: str) -> str:
    names = {"domain_scores": "hyper_node_order"}
    return names.get(method, method.replace("gradient_for", "hyper_node_gradient_for"))


def _table(title: str, entries: list[Entry]) -> list[str]:
    if not entries:
        return []
    rows = [f"| {_cell(f'`{entry.declaration}`')} | {_cell(entry.text)} |" for entry in entries]
    return [f"| {title} | Meaning |", "|---|---|", *rows, ""]


def _entries(owner: type) -> list[Entry]:
    """Return what a class and its bases inside the package declare, each name once, bases last."""
    found: dict[str, Entry] = {}
    for base in owner.__mro__:
        if base.__module__.startswith("stromboli."):
            for entry in _declared(base):
                found.setdefault(entry.name, entry)
    return list(found.values())


def _declared(owner: type) -> Iterator[Entry]:
    """Return the public names of one class, in the order of its source."""
    lines, _ = inspect.getsourcelines(owner)
    tree = ast.parse("".join(line if line.strip() else "\n" for line in _dedented(lines)))
    body = tree.body[0]
    assert isinstance(body, ast.ClassDef)  # noqa: S101
    source = _dedented(lines)
    for node in body.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _method(node, source)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield from _attribute(node.target.id, ast.unparse(node.annotation), _comment(source, node.lineno))


def _method(node: ast.FunctionDef | ast.AsyncFunctionDef, source: list[str]) -> Iterator[Entry]:
    if node.name == "__init__":
        yield from _assigned(node, source)
    elif not node.name.startswith("_"):
        text = _plain(ast.get_docstring(node) or "")
        if any(_name(each) in ("property", "cached_property") for each in node.decorator_list):
            yield Entry(node.name, _annotated(node.name, ast.unparse(node.returns) if node.returns else ""), text)
        else:
            yield Entry(node.name, _signature(node), text)


def _assigned(node: ast.FunctionDef | ast.AsyncFunctionDef, source: list[str]) -> Iterator[Entry]:
    """Return the public attributes that a constructor sets on the instance."""
    for statement in ast.walk(node):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        annotation = ""
        if isinstance(statement, ast.AnnAssign):
            targets, annotation = [statement.target], ast.unparse(statement.annotation)
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                yield from _attribute(target.attr, annotation, _comment(source, target.lineno))


def _attribute(name: str, annotation: str, text: str) -> Iterator[Entry]:
    if not name.startswith("_"):
        yield Entry(name, _annotated(name, annotation), text)


def _annotated(name: str, annotation: str) -> str:
    plain = re.sub(r"^ClassVar\[(.*)\]$", r"\1", annotation)
    return f"{name}: {plain}" if plain else name


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = ast.unparse(node.args).removeprefix("self").removeprefix("cls").removeprefix(", ")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{prefix}{node.name}({arguments}){returns}"


def _comment(source: list[str], line: int) -> str:
    """Return the `#:` comment above a line."""
    found: list[str] = []
    at = line - 2
    while at >= 0 and source[at].strip().startswith("#:"):
        found.insert(0, source[at].strip().removeprefix("#:").strip())
        at -= 1
    return " ".join(found)


def _other_names() -> str:
    rows = [_row(name, getattr(api, name)) for name in api.__all__ if name not in CLASSES]
    return "\n".join(["## Other names", "", "| Name | Meaning |", "|---|---|", *rows, ""])


def _row(name: str, value: Any) -> str:
    text = MEANINGS.get(name) or _summary(value)
    if inspect.isroutine(value):
        name += str(inspect.signature(value)).replace("''", '""').replace("'", "")
    return f"| {_cell(f'`{name}`')} | {_cell(text)} |"


def _summary(value: Any) -> str:
    """Return the first paragraph of a docstring; of a value or a type alias, what it stands for."""
    if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
        return _plain(inspect.cleandoc(value.__doc__ or "").split("\n\n")[0]) if value is not Any else "any value"
    if isinstance(value, int | str) or type(value).__module__ in ("typing", "types"):
        return f"`{value!r}`"
    return type(value).__name__


def _plain(text: str) -> str:
    """Return a docstring with its lines joined; paragraphs stay apart."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _cell(text: str) -> str:
    """Return a text as a cell. A pipe ends the cell even in a code span; as an entity it needs a `code` element."""

    def code(found: re.Match[str]) -> str:
        return f"<code>{html.escape(found[1], quote=False)}</code>"

    return re.sub(r"`([^`|]*\|[^`]*)`", code, text.replace("\n\n", " ")).replace("|", "&#124;")


def _name(decorator: ast.expr) -> str:
    return decorator.id if isinstance(decorator, ast.Name) else getattr(decorator, "attr", "")


def _dedented(lines: list[str]) -> list[str]:
    indent = len(lines[0]) - len(lines[0].lstrip())
    return [line[indent:] if line.strip() else "\n" for line in lines]


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())
