"""SparkConnects: a Spark server and its executors, without a group of their own."""

from __future__ import annotations

from typing import Any

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext, checked_number
from stromboli.workloads.families.spark import SPARK, executors_of, spark_pod, with_amounts
from stromboli.workloads.pod_documents import owner_reference, pod_document


def expand_spark_connect(connect: WorkloadDocument, context: ExpansionContext) -> Expansion:
    number = checked_number(connect, executors_of(connect), "spec.executor.instances")
    name = f"{connect.name}-server"
    labels = {"spark-role": "connect-server", f"{SPARK}/connect-name": connect.name}
    if connect.map("spec.server.template.spec.containers[0]"):
        spec = {"containers": _containers(connect)}
        server = pod_document(connect, connect.template("spec.server.template"), name, labels=labels, spec=spec)
    else:
        server = spark_pod(connect, "server", name)
    owner = owner_reference("v1", "Pod", name)
    executors = [
        CreatedObject(spark_pod(connect, "executor", f"{connect.name}-exec-{each}", each, owner), "spec.executor")
        for each in range(1, number + 1)
    ]
    notes = ["its executors are planned with its server, which creates them when it runs"] if executors else []
    return Expansion([CreatedObject(server, "spec.server"), *executors], notes=notes)


def _containers(connect: WorkloadDocument) -> list[dict[str, Any]]:
    """Return the containers of the server: cores of the SparkConnect come before those of the template."""
    amounts = (connect.text(f"spec.server.{name}") for name in ("coreRequest", "coreLimit"))
    requests, limits = ({"cpu": text} if text else {} for text in amounts)
    first, *others = connect.items("spec.server.template.spec.containers")
    return [{**first, "resources": with_amounts(first, requests, limits)}, *map(dict, others)]
