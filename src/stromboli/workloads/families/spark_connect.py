"""SparkConnects: a Spark server and its executors, without a group of their own."""

from __future__ import annotations

from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.expansion import CreatedObject, Expansion, ExpansionContext, checked_number
from stromboli.workloads.families.spark import SPARK, executors_of, spark_pod
from stromboli.workloads.pod_documents import owner_reference, pod_document


def expand_spark_connect(connect: WorkloadDocument, context: ExpansionContext) -> Expansion:
    number = checked_number(connect, executors_of(connect), "spec.executor.instances")
    name = f"{connect.name}-server"
    labels = {"spark-role": "connect-server", f"{SPARK}/connect-name": connect.name}
    path = "spec.server.template"
    template = connect.template(path) if connect.map(f"{path}.spec.containers[0]") else None
    server = (
        spark_pod(connect, "server", name) if template is None else pod_document(connect, template, name, labels=labels)
    )
    owner = owner_reference("v1", "Pod", name)
    executors = [
        CreatedObject(spark_pod(connect, "executor", f"{connect.name}-exec-{each}", each, owner), "spec.executor")
        for each in range(1, number + 1)
    ]
    notes = ["its executors are planned with its server, which creates them when it runs"] if executors else []
    return Expansion([CreatedObject(server, "spec.server"), *executors], notes=notes)
