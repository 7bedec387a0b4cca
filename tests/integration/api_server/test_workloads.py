"""Jobs, Deployments and sets: defaults, validation and scale."""

from typing import Any, NamedTuple

import pytest

from tests.integration.api_server.http_api import HttpApi

JOBS = "/apis/batch/v1/namespaces/default/jobs"
APPS = "/apis/apps/v1/namespaces/default"
DEPLOYMENTS, SETS, STATEFUL_SETS = f"{APPS}/deployments", f"{APPS}/replicasets", f"{APPS}/statefulsets"
CONTAINERS = [{"name": "main", "image": "busybox"}]
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": CONTAINERS}}
ONCE = {**TEMPLATE, "spec": {"containers": CONTAINERS, "restartPolicy": "Never"}}
SELECTOR = {"matchLabels": {"app": "x"}}


def named(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x"}, "spec": spec}


class Filled(NamedTuple):
    title: str
    path: str
    body: dict[str, Any]
    expected: dict[str, Any]


QUARTERS = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
FILLED = [
    Filled("a job", JOBS, named(template=ONCE), {
        "parallelism": 1, "completions": 1, "backoffLimit": 6, "manualSelector": False, "suspend": False,
        "completionMode": "NonIndexed", "podReplacementPolicy": "TerminatingOrFailed",
    }),
    Filled("a queue of work", JOBS, named(template=ONCE, parallelism=3), {"parallelism": 3, "completions": None}),
    Filled("a deployment", DEPLOYMENTS, named(template=TEMPLATE, selector=SELECTOR), {
        "replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "strategy": QUARTERS,
    }),
    Filled("half a strategy", DEPLOYMENTS, named(
        template=TEMPLATE, selector=SELECTOR, strategy={"rollingUpdate": {"maxSurge": 2}},
    ), {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 2}}}),
    Filled("all at once", DEPLOYMENTS, named(template=TEMPLATE, selector=SELECTOR, strategy={"type": "Recreate"}), {
        "strategy": {"type": "Recreate"},
    }),
    Filled("a replica set", SETS, named(template=TEMPLATE, selector=SELECTOR), {"replicas": 1}),
    Filled("a stateful set", STATEFUL_SETS, named(template=TEMPLATE, selector=SELECTOR), {
        "replicas": 1, "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
    }),
]  # fmt: skip


@pytest.mark.parametrize("case", FILLED, ids=[case.title for case in FILLED])
async def test_defaults(api: HttpApi, case: Filled) -> None:
    spec = (await api.post(case.path, case.body)).body["spec"]
    assert {field: spec.get(field) for field in case.expected} == case.expected
    pod = spec["template"]["spec"]
    assert (pod["schedulerName"], pod["terminationGracePeriodSeconds"]) == ("default-scheduler", 30)
    assert "enableServiceLinks" not in pod


async def test_job_selector_uses_uid(api: HttpApi) -> None:
    job = (await api.post(JOBS, named(template=ONCE))).body
    uid = job["metadata"]["uid"]
    own = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "x",
        "controller-uid": uid,
        "job-name": "x",
    }
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert job["spec"]["template"]["metadata"]["labels"] == {"app": "x", **own} == job["metadata"]["labels"]


async def test_manual_selector_of_job(api: HttpApi) -> None:
    job = (await api.post(JOBS, named(template=ONCE, selector=SELECTOR, manualSelector=True))).body
    assert job["spec"]["selector"] == SELECTOR
    assert job["spec"]["template"]["metadata"]["labels"] == {"app": "x"}


REFUSED = [
    ("restart policy Always", JOBS, named(template=TEMPLATE), 422, 'valid values: "OnFailure", "Never"'),
    ("a selector", JOBS, named(template=ONCE, selector=SELECTOR), 422, "`selector` not auto-generated"),
    ("no number", JOBS, named(template=ONCE, parallelism=1, completionMode="Indexed"), 422, "spec.completions"),
    ("negative amount", JOBS, named(template=ONCE, completions=-1), 422, "must be greater than or equal to 0"),
    ("no selector", DEPLOYMENTS, named(template=TEMPLATE), 422, "spec.selector: Required value"),
    ("others", SETS, named(template=TEMPLATE, selector={"matchLabels": {"a": "b"}}), 422, "does not match template"),
    ("no containers", SETS, named(template={"metadata": TEMPLATE["metadata"]}, selector=SELECTOR), 422, "containers"),
    ("runs once", SETS, named(template=ONCE, selector=SELECTOR), 422, 'supported values: "Always"'),
    ("no spec", SETS, {"metadata": {"name": "x"}}, 422, "spec.selector: Required value"),
    ("no pod", SETS, named(template={"spec": {"containers": 3}}, selector=SELECTOR), 400, "containers"),
    ("no number at all", DEPLOYMENTS, named(template=TEMPLATE, selector=SELECTOR, replicas="two"), 400, "replicas"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body", "status", "words"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
async def test_invalid_object_is_rejected(
    api: HttpApi, path: str, body: dict[str, Any], status: int, words: str
) -> None:
    reply = await api.post(path, body)
    assert reply.status == status
    assert words in reply.message


async def test_immutable_fields(api: HttpApi) -> None:
    await api.post(JOBS, named(template=ONCE))
    await api.post(DEPLOYMENTS, named(template=TEMPLATE, selector=SELECTOR))
    changes = [
        (JOBS, {"completions": 4}),
        (JOBS, {"template": {"metadata": {"labels": {"a": "b"}}}}),
        (DEPLOYMENTS, {"selector": {"matchLabels": {"app": None}, "matchExpressions": []}}),
    ]
    for path, spec in changes:
        reply = await api.patch(f"{path}/x", {"spec": spec})
        assert (reply.status, "field is immutable" in reply.message) == (422, True), spec
    assert (await api.patch(f"{JOBS}/x", {"spec": {"parallelism": 4, "suspend": True}})).status == 200


async def test_scale_subresource(api: HttpApi) -> None:
    await api.post(DEPLOYMENTS, named(template=TEMPLATE, selector=SELECTOR, replicas=2))
    scale = (await api.get(f"{DEPLOYMENTS}/x/scale")).body
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale", {"replicas": 2}, {"replicas": 0, "selector": "app=x"},
    )  # fmt: skip
    changed = await api.put(f"{DEPLOYMENTS}/x/scale", {**scale, "spec": {"replicas": 5}})
    assert changed.body["spec"] == {"replicas": 5}
    assert (await api.put(f"{DEPLOYMENTS}/x/scale", {**scale, "spec": {"replicas": 6}})).status == 409
    assert (await api.patch(f"{DEPLOYMENTS}/x/scale", {"spec": {"replicas": -1}})).status == 422
    assert (await api.get(f"{DEPLOYMENTS}/x")).body["spec"]["replicas"] == 5
    assert (await api.get(f"{JOBS}/x/scale")).status == 404
