"""The binaries of a real control plane: found where the ecosystem keeps them, or built once and kept.

The order is that of other projects: a variable per binary, the folder of KUBEBUILDER_ASSETS, and then our own cache,
which is filled by Go from the pinned modules beside this file. Building takes about ten minutes on two cores.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent / "modules"
#: For each binary the module that pins it, and its package.
PACKAGES = {
    "kube-apiserver": ("kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
    "kube-scheduler": ("kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
    "etcd": ("etcd", "go.etcd.io/etcd/server/v3"),
}


class NoAssets(RuntimeError):
    """There is no real control plane here; the message says what would help."""


@dataclass(frozen=True, slots=True)
class Assets:
    api_server: Path
    etcd: Path


def assets() -> Assets:
    """Find the binaries of a server, or build them. Raises NoAssets."""
    return Assets(find("kube-apiserver"), find("etcd"))


def find(name: str) -> Path:
    """One binary, built if it must be. Raises NoAssets."""
    variable = f"TEST_ASSET_{name.upper().replace('-', '_')}"
    if named := os.environ.get(variable):
        return Path(named)
    if folder := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(folder) / name
    kept = _cache() / f"{name}-{_version(name)}"
    if not kept.exists():
        _build(name, kept)
    return kept


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stromboli" / "e2e"


def _version(name: str) -> str:
    """What the binary is built from and how, in a few letters."""
    module = MODULES / PACKAGES[name][0]
    sources = (module / "go.mod").read_bytes() + (module / "go.sum").read_bytes()
    return hashlib.sha256(sources + _link_flags(name).encode()).hexdigest()[:16]


def _link_flags(name: str) -> str:
    """Nothing for debuggers; and Kubernetes is told its version, which it cannot find out by itself."""
    stripped = "-s -w"
    pinned = re.search(r"k8s.io/kubernetes v((\d+)\.(\d+)\.\d+)", (MODULES / PACKAGES[name][0] / "go.mod").read_text())
    if pinned is None:
        return stripped
    version, major, minor = pinned.groups()
    told = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    return " ".join([stripped, *(f"-X k8s.io/component-base/version.{key}={value}" for key, value in told.items())])


def _build(name: str, place: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise NoAssets(f"no {name}: set KUBEBUILDER_ASSETS to a folder that has it, or install Go to build it")
    print(f"building {name}, once; this takes some minutes", file=sys.stderr, flush=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_suffix(".part")
    module, package = PACKAGES[name]
    command = [go, "build", "-trimpath", f"-ldflags={_link_flags(name)}", f"-o={unfinished}", package]
    done = subprocess.run(command, cwd=MODULES / module, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoAssets(f"{name} could not be built: {done.stderr.strip()[-1000:]}")
    unfinished.rename(place)


def main() -> None:
    """Have the binaries ready before the stories begin; where they cannot be had, the stories say so."""
    try:
        assets()
    except NoAssets as missing:
        print(missing, file=sys.stderr)


if __name__ == "__main__":
    main()
