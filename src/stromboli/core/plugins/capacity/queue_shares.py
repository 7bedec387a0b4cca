"""The shares of all queues at the start of a cycle, flat or in a hierarchy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stromboli.core.model.queues.queue import ROOT, Queue
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import UNLIMITED
from stromboli.core.plugins.capacity.queue_limits import QueueLimits, QueueTree, flat_limits, tree_limits
from stromboli.core.plugins.capacity.queue_share import QueueShare, Reserve
from stromboli.core.session.session import Session

QueueShares = dict[str, QueueShare]


def flat_queue_shares(session: Session, *, as_quotas: bool) -> QueueShares:
    """Compute the shares without a hierarchy: every queue is directly below the cluster."""
    queues, size = list(session.queues.values()), session.snapshot.size
    promises = flat_limits(queues, session.total, session.shareable, session.axis, as_quotas=as_quotas)
    session.warnings += promises.corrections
    queue_shares = _queue_shares_of(session, queues, promises)
    cluster = _plain(session, Queue(ROOT, ROOT), session.shareable, "the queues of the cluster")
    cluster.ceiling = [UNLIMITED] * size
    cluster.reserve = _reserve(queue_shares.values(), size)
    for queue_share in queue_shares.values():
        queue_share.chain = (queue_share,)
        queue_share.refusal = _not_open(queue_share.queue)
        queue_share.steps = _steps(queue_share, cluster)
    return queue_shares


def tree_queue_shares(session: Session, *, as_quotas: bool) -> QueueShares:
    """Compute the shares of a hierarchy. Detached queues neither get nor lose anything."""
    tree, size = QueueTree(session.queues), session.snapshot.size
    promises = tree_limits(tree, session.shareable, session.axis, as_quotas=as_quotas)
    session.warnings += promises.corrections
    queue_shares = _queue_shares_of(session, tree.queues, promises)
    for name, fault in tree.cut_off.items():
        queue_shares[name] = _plain(session, session.queues[name], [0] * size)
        queue_shares[name].is_detached = True
        queue_shares[name].refusal = Reason(Code.QUEUE_MISPLACED, f"queue {name} accepts no jobs: {fault}")
        session.warnings.append(f"Queue {name}: it accepts no jobs: {fault}")
    below: dict[str, list[QueueShare]] = {}
    for row in range(1, len(tree.queues)):
        parent = tree.queues[tree.parents[row]].name
        below.setdefault(parent, []).append(queue_shares[tree.queues[row].name])
    for parent, children in below.items():
        queue_shares[parent].reserve = _reserve(children, size)
    for row, queue in enumerate(tree.queues):
        queue_share = queue_shares[queue.name]
        queue_share.chain = tuple(queue_shares[tree.queues[each].name] for each in tree.chain(row) if each)
        queue_share.refusal = _reason_not_admitted(tree, queue_share)
        queue_share.steps = _steps(queue_share, queue_shares[ROOT])
    return queue_shares


def _queue_shares_of(session: Session, queues: Sequence[Queue], promises: QueueLimits) -> QueueShares:
    tables = (promises.guarantee, promises.deserved, promises.limit, promises.ceiling)
    amounts = zip(*(table.tolist() for table in tables), strict=True)
    usage = session.ledger.queues
    return {queue.name: QueueShare(queue, usage[queue.name], *own) for queue, own in zip(queues, amounts, strict=True)}


def _plain(session: Session, queue: Queue, limit: Sequence[int], title: str = "") -> QueueShare:
    """Return a share without deserved or guaranteed resources."""
    nothing, most = [0] * session.snapshot.size, list(limit)
    return QueueShare(queue, session.ledger.queues[queue.name], nothing, nothing, most, most, title)


def _reserve(queue_shares: Iterable[QueueShare], size: int) -> Reserve | None:
    guaranteed = [queue_share for queue_share in queue_shares if queue_share.guaranteed]
    return Reserve(guaranteed, size) if guaranteed else None


def _steps(queue_share: QueueShare, top: QueueShare) -> tuple[tuple[QueueShare, QueueShare], ...]:
    """Return the queues whose limits apply, each with its child on the path; the root where it has limits."""
    chain = queue_share.chain
    steps = [(chain[max(place - 1, 0)], holder) for place, holder in enumerate(chain)]
    if top.reserve is not None or top.queue.capability:
        steps.append((chain[-1] if chain else top, top))
    return tuple(steps)


def _not_open(queue: Queue) -> Reason | None:
    if queue.is_open:
        return None
    return Reason(Code.QUEUE_CLOSED, f"queue {queue.name} is {queue.state}, not Open")


def _reason_not_admitted(tree: QueueTree, queue_share: QueueShare) -> Reason | None:
    if queue_share.name in tree.inner or queue_share.name == ROOT:
        detail = f"queue {queue_share.name} is for the queues below it; name one of those in spec.queue"
        return Reason(Code.QUEUE_MISPLACED, detail, short=f"queue {queue_share.name} has child queues: use one of them")
    return next((reason for each in queue_share.chain if (reason := _not_open(each.queue))), None)
