"""Which GPU the container stands on in which this runs: exactly one must be visible.

The device plugin says so in the environment, or the driver does. Never tried on real hardware here.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

_UUID = re.compile(r"\(UUID: ((?:GPU|MIG)-[0-9A-Za-z/-]+)\)")
_IDENTITY = re.compile(r"(?:GPU|MIG)-[0-9A-Za-z/-]+", re.ASCII)
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_PATIENCE = 30.0


class NotOneGpu(Exception):
    """None or several are visible, or nobody can tell; the message says it in words."""


def visible_gpu(environment: Mapping[str, str]) -> str:
    """The GPU of this container. Raises NotOneGpu."""
    named = [word for word in environment.get(_VISIBLE, "").split(",") if _IDENTITY.fullmatch(word)]
    found = named or listed_in(_driver_list())
    if len(found) != 1:
        raise NotOneGpu(f"expected one GPU, and {len(found)} are visible{': ' if found else ''}{', '.join(found)}")
    return found[0]


def listed_in(text: str) -> list[str]:
    """The GPUs in the output of `nvidia-smi -L`."""
    return _UUID.findall(text)


def _driver_list() -> str:
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=_PATIENCE, check=False)  # noqa: S607
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotOneGpu(f"{_VISIBLE} names no GPU, and nvidia-smi cannot be asked: {error}") from None
    if done.returncode:
        raise NotOneGpu(f"{_VISIBLE} names no GPU, and nvidia-smi failed: {done.stderr.strip()[:200]}")
    return done.stdout
