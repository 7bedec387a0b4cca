"""Draw the picture of the web console: a page of `stromboli up` with a cluster of two tenants, in a browser.

The browser is Chromium of the distribution, as in the tests of pages (`apt-get install chromium`).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "console.png"
_WIDTH, _HEIGHT = 1280, 1000
#: Long enough for some points of the lines.
_SECONDS = 110
#: Queue, parent and deserved GPUs.
_QUEUES = (
    ("research", "", 96), ("vision", "research", 48), ("language", "research", 48),
    ("production", "", 64), ("batch", "", 32),
)  # fmt: skip
#: Name, queue, pods, GPUs of a pod, and seconds of run time.
_JOBS = (
    ("pretrain", "language", 12, 8, 900), ("finetune", "language", 4, 4, 70), ("segment", "vision", 5, 8, 900),
    ("detect", "vision", 6, 4, 50), ("serve", "production", 16, 2, 900), ("rank", "production", 8, 2, 100),
    ("embed", "batch", 10, 2, 60), ("etl", "batch", 12, 1, 40), ("distill", "language", 8, 8, 120),
    ("sweep", "vision", 20, 2, 80), ("evaluate", "batch", 6, 4, 60), ("replay", "production", 4, 8, 90),
)  # fmt: skip


def manifests() -> list[dict[str, Any]]:
    """Return queues, and each job twice: the second one waits for the first."""
    group = "scheduling.volcano.sh/v1beta1"
    found: list[dict[str, Any]] = []
    for name, parent, gpus in _QUEUES:
        spec = {"deserved": {"nvidia.com/gpu": gpus}, **({"parent": parent} if parent else {})}
        found.append({"apiVersion": group, "kind": "Queue", "metadata": {"name": name}, "spec": spec})
    for turn in range(2):
        found += [_job(f"{name}-{turn + 1}", *facts) for name, *facts in _JOBS]
    return found


def _job(name: str, queue: Any, pods: Any, gpus: Any, seconds: Any) -> dict[str, Any]:
    requests = {"cpu": gpus * 4, "memory": f"{gpus * 32}Gi", "nvidia.com/gpu": gpus}
    container = {"name": "main", "image": "train", "resources": {"requests": requests, "limits": requests}}
    template = {
        "metadata": {"annotations": {"stromboli.dev/run-seconds": str(seconds)}},
        "spec": {"restartPolicy": "OnFailure", "containers": [container]},
    }
    tasks = [{"name": "worker", "replicas": pods, "template": template}]
    spec = {"schedulerName": "stromboli", "minAvailable": pods, "queue": queue, "tasks": tasks}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    }  # fmt: skip


@contextmanager
def running_console(folder: Path) -> Iterator[str]:
    """Start a local cluster with the jobs, and yield the link of its console."""
    file = folder / "jobs.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests()}))
    command = [
        sys.executable, "-m", "stromboli", "up", "--nodes", "24", "--gpu", "8", "--cpu", "64", "--memory", "512Gi",
        "--racks", "4", "--kubeconfig", str(folder / "kubeconfig"), "-f", str(file),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout or ():
            if match := re.search(r"https?://\S+#code=\S+", line):
                yield match[0]
                return
        raise SystemExit("stromboli up printed no link of a console")
    finally:
        process.terminate()
        process.communicate(timeout=30)


def draw(target: Path, seconds: float) -> None:
    """Write a picture of the overview after this time."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("no chromium is installed: apt-get install chromium")
    with TemporaryDirectory() as folder, running_console(Path(folder)) as link, sync_playwright() as driver:
        # Chromium refuses to start as root with its sandbox; the page is the project's own.
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT}, ignore_https_errors=True)
        page.goto(link)
        page.get_by_text("Why jobs wait").wait_for()
        time.sleep(seconds)
        page.wait_for_function("() => !document.querySelector('[aria-busy=true]')")
        page.screenshot(path=target)
        browser.close()


if __name__ == "__main__":
    draw(PICTURE, _SECONDS)
    print(PICTURE)
