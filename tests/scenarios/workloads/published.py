"""Workloads as their operators publish them, read together with a small cluster."""

from __future__ import annotations

from pathlib import Path

from stromboli.kube.manifests.manifests import Manifests
from stromboli.workloads.reading import read_with_workloads

FOLDER = Path(__file__).parent / "manifests"


def read(name: str) -> Manifests:
    paths = [str(FOLDER / "cluster.yaml"), str(FOLDER / f"{name}.yaml")]
    return read_with_workloads(paths, scheduler_names=("stromboli", "volcano"))
