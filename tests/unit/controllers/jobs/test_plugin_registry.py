"""Which plugins a Job has, and what invalid ones are reported as."""

from collections.abc import Sequence
from typing import Any

import pytest

from stromboli.controllers.jobs.plugins.plugin import JobPlugin, PluginArgumentError
from stromboli.controllers.jobs.plugins.registry import JobPlugins
from stromboli.kube.manifests.errors import ObjectError
from stromboli.workloads.document import WorkloadDocument


class Service(JobPlugin):
    name = "service"


class Cluster(JobPlugin):
    name = "cluster"
    requires = ("service",)

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        for argument in self.arguments:
            if not argument.startswith("--port="):
                raise PluginArgumentError(self.name, argument, "is unknown", "write --port=NUMBER")


class NoPlugin:
    name = "none"


class WrongSignature(JobPlugin):
    name = "wrong"

    def objects(self) -> Any:  # type: ignore[override]
        return ()


def job(plugins: Any) -> WorkloadDocument:
    metadata = {"name": "train", "namespace": "team"}
    return WorkloadDocument(
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": {"plugins": plugins}}
    )


def plugins() -> JobPlugins:
    known = JobPlugins((Service, Cluster))
    known.add("none", NoPlugin)
    known.add("wrong", WrongSignature)
    known.add("service", Cluster)
    return known


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        pytest.param({}, [], id="no plugins"),
        pytest.param({"service": []}, [("service", ())], id="one without arguments"),
        pytest.param({"service": None}, [("service", ())], id="null arguments"),
        pytest.param({"cluster": ["--port=1"]}, [("service", ()), ("cluster", ("--port=1",))], id="required one first"),
        pytest.param(
            {"cluster": [], "service": ["-x"]},
            [("service", ("-x",)), ("cluster", ())],
            id="required one keeps arguments",
        ),
    ],
)
def test_plugins_of_a_job(named: Any, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(each.name, each.arguments) for each in plugins().of(job(named))] == expected


@pytest.mark.parametrize(
    ("named", "message"),
    [
        pytest.param(
            {"other": []}, "spec.plugins.other: unable to find job plugin: other; use one of cluster, service", id="unk"
        ),
        pytest.param({"none": []}, "is not a class derived from JobPlugin", id="no plugin class"),
        pytest.param({"wrong": []}, "WrongSignature.objects must take (self, job)", id="wrong signature"),
        pytest.param({"service": "-x"}, "spec.plugins.service: expected a list of strings", id="arguments as text"),
        pytest.param({"service": [1]}, "spec.plugins.service: expected a list of strings", id="argument as number"),
        pytest.param([], "spec.plugins: expected a map", id="list of plugins"),
    ],
)
def test_invalid_plugins_are_reported_with_the_field(named: Any, message: str) -> None:
    with pytest.raises(ObjectError) as error:
        plugins().of(job(named))
    assert message in str(error.value)


def test_invalid_argument_is_reported_by_the_plugin() -> None:
    with pytest.raises(
        PluginArgumentError, match=r"spec.plugins.cluster: argument '-x' is unknown; write --port=NUMBER"
    ):
        plugins().of(job({"cluster": ["-x"]}))
