"""Devices for resource claims: those that claims have already, and those that they would get on a node."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stromboli.core.model.devices.claims import NO_CLAIMS, ClaimDemand, DeviceAlternative
from stromboli.core.model.ledger.ledger import Ledger
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Index, Mask
from stromboli.core.model.reasons import CODES, Code, Reason
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.search.node_rules import Locality, NodeFilter

_ELSEWHERE = Reason(Code.RESOURCE_CLAIM_ELSEWHERE, "node(s) cannot use the devices of a resourceclaim of the pod")
_TOGETHER = "the devices that are free do not satisfy all requests together"


class ClaimReach(NodeFilter):
    """Claims that have their devices can be used from the node."""

    locality = Locality.STATIC

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool((task_class.claims or NO_CLAIMS).bound)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return ledger.claims.usable(task_class.claims or NO_CLAIMS)

    def refusal(self, task_class: TaskClass) -> Reason:
        return _ELSEWHERE


class ClaimedDevices(NodeFilter):
    """Every claim that waits gets its devices on the node, all of them together."""

    locality = Locality.CLUSTER

    def applies_to(self, task_class: TaskClass, ledger: Ledger) -> bool:
        return bool((task_class.claims or NO_CLAIMS).waiting)

    def filter(self, task_class: TaskClass, rows: Rows, ledger: Ledger) -> Mask:
        return ledger.claims.satisfiable(task_class.claims or NO_CLAIMS, later=rows.later)

    def refusals(self, task_class: TaskClass, ledger: Ledger, refused: Mask) -> Iterable[tuple[Reason, Index]]:
        """Name the request that finds too few devices by itself; otherwise the requests do not fit together."""
        needs, claims = task_class.claims or NO_CLAIMS, ledger.claims
        left = refused.copy()
        for demand in needs.waiting:
            for alternatives in demand.requests:
                there = np.zeros(len(left), dtype=np.bool_)
                free = np.zeros(len(left), dtype=np.bool_)
                for alternative in alternatives:
                    there |= claims.present(alternative) >= claims.least(alternative)
                    free |= claims.free(alternative) >= claims.least(alternative)
                there, free = there | claims.is_exempt(alternatives[0]), free | claims.is_exempt(alternatives[0])
                missing, taken = left & ~there, left & there & ~free
                left &= there & free
                for code, mask in ((Code.NO_CLAIMED_DEVICE, missing), (Code.CLAIMED_DEVICES_IN_USE, taken)):
                    if mask.any():
                        yield _short_of(code, demand, alternatives), np.flatnonzero(mask)
        for problem, rows in sorted(claims.problems(needs, left).items()) if left.any() else ():
            if len(rows):
                code = Code.DEVICES_UNDECIDED if problem else Code.DEVICES_DO_NOT_FIT
                yield Reason(code, f"cannot allocate all claims: {problem or _TOGETHER}"), rows


def _short_of(code: Code, demand: ClaimDemand, alternatives: tuple[DeviceAlternative, ...]) -> Reason:
    ways = " or ".join(_described(alternative) for alternative in alternatives)
    state = "too few there" if code is Code.NO_CLAIMED_DEVICE else "too few free"
    name, resource = alternatives[0].name.partition("/")[0], alternatives[0].resource
    what = f"extended resource {resource}" if resource else f'claim "{demand.name}", request "{name}"'
    detail = f"cannot allocate all claims: {what}: {ways}: {state}"
    return Reason(code, detail, short=CODES[code].title)


def _described(alternative: DeviceAlternative) -> str:
    """Describe the request: count, class and selectors."""
    number = (
        "all devices"
        if alternative.takes_all
        else "1 device"
        if alternative.count == 1
        else f"{alternative.count} devices"
    )
    own = alternative.suit.selectors[len(alternative.suit.selectors) - alternative.own_selectors :]
    return f"{number} of class {alternative.device_class}" + "".join(f" with {expression}" for expression in own)
