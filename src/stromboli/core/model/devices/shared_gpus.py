"""What is left of GPUs that several pods share: published by the plugin that assigns them, for other plugins.

Node amounts count GPUs of a node together. Whether a half of a GPU is left on one device or a quarter on two is known
only to the accounting of fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stromboli.core.model.devices.shared_devices import SharedDeviceRequest
from stromboli.core.model.tasks.task_class import TaskClass


class SharedGpus(Protocol):
    #: Whether a pod joins the fullest GPU that has enough left, or the emptiest.
    packs: bool

    def request_of(self, task_class: TaskClass) -> SharedDeviceRequest | None:
        """Return the GPU shares that pods of a class request; None for none."""

    def state_of(self, row: int) -> object:
        """Return an object that is replaced whenever the shared GPUs of a node change."""

    def left_on(self, row: int, *, later: bool) -> Sequence[int]:
        """Return what is left of each shared GPU of a node, in thousandths."""

    def slack_on(self, row: int, *, later: bool) -> int:
        """Return what the amounts of a node count as free although it is part of shared GPUs, in thousandths."""

    def portion_on(self, request: SharedDeviceRequest, row: int) -> int:
        """Return the share of a GPU of this node that a pod needs, in thousandths."""
