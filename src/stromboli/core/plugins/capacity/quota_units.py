"""What counts against quotas: MIG instances count as GPUs, by their compute slices."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stromboli.core.model.resources.resources import Amounts, Request, ResourceAxis, dense

_GPU = "nvidia.com/gpu"
_MIG = re.compile(r"nvidia\.com/mig-([0-9]+)g\.")


class QuotaUnits:
    """Converts amounts to those that quotas compare: an instance `nvidia.com/mig-2g.10gb` is two GPUs."""

    def __init__(self, axis: ResourceAxis) -> None:
        gpu = axis.find(_GPU)
        found = [(d, match) for d, name in enumerate(axis.names) if gpu is not None and (match := _MIG.match(name))]
        self._gpu = gpu or 0
        self._slices = [(dimension, int(match[1])) for dimension, match in found]

    def amounts(self, amounts: Sequence[int]) -> Sequence[int]:
        if not self._slices:
            return amounts
        charged: Amounts = list(amounts)
        for dimension, slices in self._slices:
            charged[self._gpu] += slices * charged[dimension]
            charged[dimension] = 0
        return charged

    def request(self, request: Request) -> Request:
        if not self._slices or not any(dimension == mig for dimension, _ in request for mig, _ in self._slices):
            return request
        size = max(self._gpu, *(dimension for dimension, _ in request)) + 1
        charged = self.amounts(dense(request, max(size, *(mig + 1 for mig, _ in self._slices))))
        return tuple((dimension, amount) for dimension, amount in enumerate(charged) if amount)
