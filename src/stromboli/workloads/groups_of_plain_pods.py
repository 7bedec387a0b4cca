"""Groups for the pods of an expansion that have none, as the controller of PodGroups creates them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stromboli import kube
from stromboli.kube.manifests.errors import ObjectError
from stromboli.kube.objects.kinds import as_type
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion
from stromboli.workloads.group_documents import GROUP_VERSION
from stromboli.workloads.groups import GROUP_NAME, group_name, is_plain
from stromboli.workloads.plain_groups import group_for


def with_plain_groups(workload: WorkloadDocument, expansion: Expansion, scheduler_names: Sequence[str]) -> Expansion:
    """Return the expansion with the groups of plain pods. The first pod of an owner decides, as in a cluster."""
    groups: dict[str, CreatedObject] = {}
    for place, created in enumerate(expansion.pods):
        document = created.document
        metadata = document["metadata"]
        if GROUP_NAME in metadata["annotations"] or document["spec"].get("schedulerName") not in scheduler_names:
            continue
        owner = metadata["ownerReferences"][0]
        if owner["uid"] not in groups:
            pod = _decoded(workload, created)
            if not is_plain(pod, scheduler_names):
                continue
            groups[owner["uid"]] = created._replace(document=_group_document(pod, created))
        name = groups[owner["uid"]].document["metadata"]["name"]
        named = {**metadata, "annotations": {**metadata["annotations"], GROUP_NAME: name}}
        expansion.pods[place] = created._replace(document={**document, "metadata": named})
    expansion.groups += groups.values()
    return expansion


def _decoded(workload: WorkloadDocument, created: CreatedObject) -> kube.Pod:
    try:
        return as_type(created.document, kube.Pod)
    except ObjectError as error:
        raise workload.error(f"{created.field}.{error.field}", error.message, error.remedy) from None


def _group_document(pod: kube.Pod, created: CreatedObject) -> dict[str, Any]:
    group = group_for(pod, created.inherited)
    document: dict[str, Any] = msgspec.to_builtins(group)
    document |= {"apiVersion": GROUP_VERSION, "kind": "PodGroup"}
    document["metadata"] |= {"name": group_name(pod), "uid": ""}
    return document
