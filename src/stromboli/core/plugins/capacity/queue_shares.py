"""The standings of all queues at the start of a cycle: each for itself, or in a tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stromboli.core.model.queues.queue import ROOT, Queue
from stromboli.core.model.reasons import Code, Reason
from stromboli.core.model.resources.resources import UNLIMITED
from stromboli.core.plugins.capacity.queue_limits import Promises, flat_promises, tree_promises
from stromboli.core.plugins.capacity.queue_share import Reserve, Standing
from stromboli.core.plugins.capacity.queue_tree import QueueTree
from stromboli.core.session.session import Session

Standings = dict[str, Standing]


def flat_standings(session: Session) -> Standings:
    """Every queue for itself, below the cluster."""
    queues, size = list(session.queues.values()), session.snapshot.size
    promises = flat_promises(queues, session.total, session.axis)
    session.warnings += promises.corrections
    standings = _standings_of(session, queues, promises)
    cluster = _plain(session, Queue(ROOT, ROOT), session.total, "the queues of the cluster")
    cluster.ceiling = [UNLIMITED] * size
    cluster.reserve = _reserve(standings.values(), size)
    for standing in standings.values():
        standing.chain = (standing,)
        standing.refusal = _not_open(standing.queue)
        standing.steps = _steps(standing, cluster)
    return standings


def tree_standings(session: Session) -> Standings:
    """Every queue below another. Those that are cut off neither take nor give."""
    tree, size = QueueTree(session.queues), session.snapshot.size
    promises = tree_promises(tree, session.total, session.axis)
    session.warnings += promises.corrections
    standings = _standings_of(session, tree.queues, promises)
    for name, fault in tree.cut_off.items():
        standings[name] = _plain(session, session.queues[name], [0] * size)
        standings[name].is_cut_off = True
        standings[name].refusal = Reason(Code.QUEUE_MISPLACED, f"queue {name} takes nothing: {fault}")
        session.warnings.append(f"Queue {name}: it takes nothing: {fault}")
    below: dict[str, list[Standing]] = {}
    for row in range(1, len(tree.queues)):
        parent = tree.queues[tree.parents[row]].name
        below.setdefault(parent, []).append(standings[tree.queues[row].name])
    for parent, children in below.items():
        standings[parent].reserve = _reserve(children, size)
    for row, queue in enumerate(tree.queues):
        standing = standings[queue.name]
        standing.chain = tuple(standings[tree.queues[each].name] for each in tree.chain(row) if each)
        standing.refusal = _reason_to_stay_out(tree, standing)
        standing.steps = _steps(standing, standings[ROOT])
    return standings


def _standings_of(session: Session, queues: Sequence[Queue], promises: Promises) -> Standings:
    tables = (promises.guarantee, promises.deserved, promises.limit, promises.ceiling)
    amounts = zip(*(table.tolist() for table in tables), strict=True)
    books = session.ledger.queues
    return {queue.name: Standing(queue, books[queue.name], *own) for queue, own in zip(queues, amounts, strict=True)}


def _plain(session: Session, queue: Queue, limit: Sequence[int], title: str = "") -> Standing:
    """A standing without promises."""
    nothing, most = [0] * session.snapshot.size, list(limit)
    return Standing(queue, session.ledger.queues[queue.name], nothing, nothing, most, most, title)


def _reserve(standings: Iterable[Standing], size: int) -> Reserve | None:
    guaranteed = [standing for standing in standings if standing.guaranteed]
    return Reserve(guaranteed, size) if guaranteed else None


def _steps(standing: Standing, top: Standing) -> tuple[tuple[Standing, Standing], ...]:
    """Whose limits hold, each with the member of theirs that leads to the queue; the top where it says anything."""
    chain = standing.chain
    steps = [(chain[max(place - 1, 0)], holder) for place, holder in enumerate(chain)]
    if top.reserve is not None or top.queue.capability:
        steps.append((chain[-1] if chain else top, top))
    return tuple(steps)


def _not_open(queue: Queue) -> Reason | None:
    if queue.is_open:
        return None
    return Reason(Code.QUEUE_CLOSED, f"queue {queue.name} is {queue.state}, not Open")


def _reason_to_stay_out(tree: QueueTree, standing: Standing) -> Reason | None:
    if standing.name in tree.inner or standing.name == ROOT:
        detail = f"queue {standing.name} is for the queues below it; name one of those in spec.queue"
        return Reason(Code.QUEUE_MISPLACED, detail)
    return next((reason for each in standing.chain if (reason := _not_open(each.queue))), None)
