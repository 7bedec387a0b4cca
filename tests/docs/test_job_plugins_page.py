"""The page of job plugins: every plugin and argument with its default, and the example."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from stromboli.controllers.jobs.plugins.arguments import PluginFlag, PluginWithFlags
from stromboli.controllers.jobs.plugins.registry import BUILT_IN, JobPlugins
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.tasks import pod_of_task, tasks_of

PAGE = (Path(__file__).parents[2] / "docs" / "job-plugins.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def row(flag: PluginFlag) -> str:
    default = {True: "`true`", False: "`false`", "": "-"}.get(flag.default, f"`{flag.default}`")
    others = "".join(f"; also `--{alias}`" for alias in flag.aliases)
    return f"| `--{flag.name}` | {default} | {flag.meaning}{others} |"


@pytest.mark.parametrize("plugin", BUILT_IN, ids=lambda plugin: plugin.name)
def test_page_lists_the_arguments_of_a_plugin(plugin: type[PluginWithFlags]) -> None:
    rows = [line for line in SECTIONS[plugin.name].splitlines() if line.startswith("| `--")]
    assert rows == [row(flag) for flag in plugin.flags]


def test_page_lists_which_plugins_require_others() -> None:
    (sentence,) = re.findall(r"has some: (.*?)\.\n\n", PAGE, re.DOTALL)
    required: dict[str, set[str]] = {}
    for part in sentence.replace("\n", " ").split(", `mpi`"):
        names, _, others = ("`mpi`" + part if part.startswith(" requires") else part).partition("require")
        for name in re.findall(r"`(\w+)`", names):
            required[name] = set(re.findall(r"`(\w+)`", others))
    assert required == {plugin.name: set(plugin.requires) for plugin in BUILT_IN if plugin.requires}


def test_example_is_a_valid_plugin() -> None:
    (source,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102 - the page has the source
    plugins = JobPlugins()
    plugins.add("horovod", names["Horovod"])
    assert plugins.unusable == {}
    template = {"spec": {"containers": [{"name": "main", "image": "x"}]}}
    spec = {"plugins": {"horovod": ["--slots=4"]}, "tasks": [{"name": "worker", "replicas": 2, "template": template}]}
    job = WorkloadDocument({"metadata": {"name": "train"}, "spec": spec})
    pod = copy.deepcopy(pod_of_task(job, tasks_of(job)[0], 0))
    *_, horovod = plugins.of(job)
    horovod.edit_pod(pod, job, tasks_of(job)[0], 0)
    assert pod["spec"]["containers"][0]["volumeMounts"] == [{"name": "train-horovod", "mountPath": "/etc/horovod"}]
    (config_map,) = horovod.objects(job)
    assert config_map.make() == {"data": {"hosts": "train-worker-0.train:4\ntrain-worker-1.train:4"}}
    assert list(horovod.findings(job)) == []
