"""Which GPU the container stands on in which this runs: exactly one must be visible.

The device plugin says so in the environment, or the driver does: of each GPU that a container sees, it shows a file. No
program is started for it. Never tried on real hardware here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

#: Where the driver describes its GPUs, a folder each.
DRIVER = Path("/proc/driver/nvidia/gpus")
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_IDENTITY = re.compile(r"(?:GPU|MIG)-[0-9A-Za-z/-]+", re.ASCII)
_TOLD = re.compile(r"^GPU UUID:\s*(GPU-[0-9A-Za-z-]+)\s*$", re.ASCII | re.MULTILINE)


class NotOneGpu(Exception):
    """None or several are visible; the message says it in words."""


def visible_gpu(environment: Mapping[str, str], driver: Path = DRIVER) -> str:
    """The GPU of this container. Raises NotOneGpu."""
    named = [word for word in environment.get(_VISIBLE, "").split(",") if _IDENTITY.fullmatch(word)]
    found = named or gpus_from_driver(driver)
    if not found:
        raise NotOneGpu(f"no GPU is visible: {_VISIBLE} names none, and {driver} describes none")
    if len(found) > 1:
        raise NotOneGpu(f"expected one GPU, and {len(found)} are visible: {', '.join(found)}")
    return found[0]


def gpus_from_driver(driver: Path) -> list[str]:
    """The GPUs that the driver describes."""
    texts = (path.read_text(errors="replace") for path in sorted(driver.glob("*/information")))
    return [gpu for text in texts for gpu in _TOLD.findall(text)]
