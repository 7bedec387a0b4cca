"""Update the generated parts of the chart: python charts/refresh.py

The chart is distributed without the rest of the repository, so it contains copies: CRDs, rules of roles, the default
configuration and the webhook configurations. A test fails if a copy is outdated.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from stromboli.admission.configuration import Webhooks, webhook_documents
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.install.controller_rights import DISCOVERS, OF_ALL, OF_CONTROLLERS
from stromboli.install.gpu_sharing import HOLDS_GPUS, SHARES_GPUS
from stromboli.install.rights import POLICY_RIGHTS, USER_RIGHTS, Right
from stromboli.install.roles import METRICS_READER_RULES, OPTIONAL, PROCESSES, rights_of, rules
from stromboli.kube.manifests.yaml import dump_documents

CHART = Path(__file__).parent / "stromboli"


def copies() -> dict[str, str]:
    """The content of the generated files, by path inside the chart."""
    webhooks = dump_documents([webhook_documents(Webhooks(records_users=True))])
    found = {"files/volcano-scheduler.conf": DEFAULT_TEXT, "files/webhooks.yaml": webhooks}
    found["files/rules/metrics-reader.yaml"] = dump_documents([METRICS_READER_RULES])
    for file in (files("stromboli.kube") / "crds").iterdir():
        if file.name.endswith(".yaml"):
            found[f"files/crds/{file.name}"] = file.read_text()
    for name, rights in _rights().items():
        found[f"files/rules/{name}.yaml"] = dump_documents([rules(rights)])
    return found


def _rights() -> dict[str, tuple[Right, ...]]:
    chosen = {
        "scheduler-evict-by-delete": rights_of("scheduler", evict_by_delete=True),
        "scheduler-requests": rights_of("scheduler", requests=True),
        "scheduler-requests-evict-by-delete": rights_of("scheduler", requests=True, evict_by_delete=True),
        "controller": OF_ALL,
        "controller-discover": (DISCOVERS,),
        **{f"controller-{name}": rights for name, rights in OF_CONTROLLERS.items()},
        "console-policy": POLICY_RIGHTS,
        "gpu-sharing": SHARES_GPUS,
        "gpu-reservations": HOLDS_GPUS,
    }
    return {process: rights_of(process) for process in (*PROCESSES, *OPTIONAL)} | chosen | USER_RIGHTS


def refresh() -> None:
    for path, text in copies().items():
        place = CHART / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


if __name__ == "__main__":
    refresh()
