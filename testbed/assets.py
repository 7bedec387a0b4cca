"""The binaries of a real control plane: found at the usual places, or built once and cached.

The order is that of other projects: a variable per binary, the folder of KUBEBUILDER_ASSETS, and then a cache, which is
filled by Go from the pinned modules beside this file. Building takes about ten minutes on two cores,
of which kube-controller-manager, which KUBEBUILDER_ASSETS usually lacks, takes one. Processes that need a binary at
the same time build it once.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent / "modules"
#: For each binary the module that pins it, and its package.
PACKAGES = {
    "kube-apiserver": ("kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
    "kube-controller-manager": ("controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    "kube-scheduler": ("kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
    "etcd": ("etcd", "go.etcd.io/etcd/server/v3"),
}


class NoAssets(RuntimeError):
    """No real control plane is available; the message names a remedy."""


@dataclass(frozen=True, slots=True)
class Assets:
    api_server: Path
    etcd: Path


def assets() -> Assets:
    """Find the binaries of a server, or build them. Raises NoAssets."""
    return Assets(find("kube-apiserver"), find("etcd"))


def find(name: str) -> Path:
    """Return one binary, built if necessary. Raises NoAssets."""
    variable = f"TEST_ASSET_{name.upper().replace('-', '_')}"
    if named := os.environ.get(variable):
        return Path(named)
    if (folder := os.environ.get("KUBEBUILDER_ASSETS")) and (found := Path(folder) / name).exists():
        return found
    kept = _cache() / f"{name}-{_version(name)}"
    if not kept.exists():
        with _only_build(kept.parent):
            if not kept.exists():
                _build(name, kept)
    return kept


@contextlib.contextmanager
def _only_build(folder: Path) -> Iterator[None]:
    """Wait for the builds of other processes: one that has begun in the background, or those of other test workers."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "building").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stromboli" / "e2e"


def _version(name: str) -> str:
    """A short hash of the sources and the build flags."""
    module = MODULES / PACKAGES[name][0]
    sources = (module / "go.mod").read_bytes() + (module / "go.sum").read_bytes()
    return hashlib.sha256(sources + _link_flags(name).encode()).hexdigest()[:16]


def _link_flags(name: str) -> str:
    """Strip debug information, and set the version of Kubernetes, which it cannot determine by itself."""
    stripped = "-s -w"
    pinned = re.search(r"k8s.io/kubernetes v((\d+)\.(\d+)\.\d+)", (MODULES / PACKAGES[name][0] / "go.mod").read_text())
    if pinned is None:
        return stripped
    version, major, minor = pinned.groups()
    version_flags = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    return " ".join(
        [stripped, *(f"-X k8s.io/component-base/version.{key}={value}" for key, value in version_flags.items())]
    )


def _build(name: str, place: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise NoAssets(f"no {name}: set KUBEBUILDER_ASSETS to a folder that has it, or install Go to build it")
    print(f"building {name}, once; this takes some minutes", file=sys.stderr, flush=True)
    unfinished = place.with_suffix(".part")
    module, package = PACKAGES[name]
    command = [go, "build", "-trimpath", f"-ldflags={_link_flags(name)}", f"-o={unfinished}", package]
    done = subprocess.run(command, cwd=MODULES / module, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoAssets(f"{name} could not be built: {done.stderr.strip()[-1000:]}")
    unfinished.rename(place)


def main() -> None:
    """Prepare the binaries before the tests; if they are unavailable, the tests report it."""
    try:
        assets()
        for further in ("kube-controller-manager", "kube-scheduler"):
            find(further)
    except NoAssets as missing:
        print(missing, file=sys.stderr)


if __name__ == "__main__":
    main()
