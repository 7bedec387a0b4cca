"""An exact answer whether pods fit on nodes together: every node is tried for every pod, the largest pods first."""

from __future__ import annotations

from collections.abc import Sequence

from tests.testing.optimum.small_worlds import Amounts, fits


def is_packable(free: Sequence[Sequence[int]], requests: Sequence[Amounts]) -> bool:
    left = [list(amounts) for amounts in free]
    totals = [sum(amounts) for amounts in zip(*left, strict=True)]
    if any(sum(request[d] for request in requests) > total for d, total in enumerate(totals)):
        return False
    return _place(left, sorted(requests, key=lambda request: (-max(request), -sum(request), request)), 0, 0)


def _place(free: list[list[int]], requests: Sequence[Amounts], done: int, first: int) -> bool:
    """Place the requests after the first `done`. A request that equals the one before goes to no earlier node than
    that, and of nodes with equal amounts only the first is tried.
    """
    if done == len(requests):
        return True
    request, tried = requests[done], set[tuple[int, ...]]()
    for place in range(first, len(free)):
        known = tuple(free[place])
        if known in tried or not fits(free[place], request):
            continue
        tried.add(known)
        free[place] = [left - amount for left, amount in zip(known, request, strict=True)]
        is_same = done + 1 < len(requests) and requests[done + 1] == request
        if _place(free, requests, done + 1, place if is_same else 0):
            return True
        free[place] = list(known)
    return False
