"""Reasons of queues and of the whole cluster for a limit that is reached: by use, and by admitted jobs.

The short forms are formatted when they are read: a cycle may refuse thousands of jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from stromboli.core.model.reasons import Code, Reason, shortened_line
from stromboli.core.model.resources.resources import ResourceAxis

_MAX_TITLE = 30


class Fit(NamedTuple):
    """How many of the wanted pods are allowed."""

    number: int
    wanted: int

    @property
    def detail(self) -> str:
        return f": capacity for {self.number} of {self.wanted} pods" if self.number else ""

    @property
    def short(self) -> str:
        return f", {self.number} of {self.wanted} pods fit" if self.number else ""


class Excess(NamedTuple):
    """An amount that would exceed a limit together with the amounts of admitted jobs."""

    dimension: int
    needed: int
    admitted: int
    limit: int


class ClusterUse(NamedTuple):
    """The amount of a resource in the whole cluster, and how much of it pods without a queue and jobs use."""

    total: int
    unqueued: int
    jobs: int


# -- use --------------------------------------------------------------------------------------------------------------


def share_used(axis: ResourceAxis, title: str, dimension: int, deserved: int, used: int, fit: Fit) -> Reason:
    """The queue uses its deserved share, which it competes for with other queues."""
    name, amounts = axis.names[dimension], (axis.format(dimension, each) for each in (deserved, used))
    detail = "{} deserves {} {} and has {}{}".format(title, name, *amounts, fit.detail)
    short = partial(_share_short, axis, title, dimension, deserved, used, fit)
    return Reason(Code.QUEUE_SHARE, detail, short=short, fact=(title, dimension))


def _share_short(axis: ResourceAxis, title: str, dimension: int, deserved: int, used: int, fit: Fit) -> str:
    part = f"{axis.short_amount(dimension, used)} of {axis.short(dimension, deserved)} used"
    return f"{shortened_line(title, _MAX_TITLE)}: {part}{fit.short}"


def limit_used(
    axis: ResourceAxis, title: str, dimension: int, limit: int, used: int, fit: Fit, kept: int = 0
) -> Reason:
    """The queue uses its capability, or what the guarantees of others leave: `kept` is reserved for them."""
    name, amounts = axis.names[dimension], (axis.format(dimension, each) for each in (limit, used))
    note = f"; {axis.format(dimension, kept)} is reserved for guarantees of others" if kept else ""
    detail = "{} may have {} {} and has {}{}{}".format(title, name, *amounts, note, fit.detail)
    short = partial(_limit_short, axis, title, dimension, limit, used, fit)
    return Reason(Code.QUEUE_CAPABILITY, detail, short=short, fact=(title, dimension))


def _limit_short(axis: ResourceAxis, title: str, dimension: int, limit: int, used: int, fit: Fit) -> str:
    part = f"limit {axis.short(dimension, limit)}, {axis.short_amount(dimension, used)} used"
    return f"{shortened_line(title, _MAX_TITLE)}: {part}{fit.short}"


def cluster_used(axis: ResourceAxis, dimension: int, use: ClusterUse, needed: int, fit: Fit) -> Reason:
    """The jobs use the whole cluster, or what other pods leave, so that the shares of queues do not matter."""
    total, others, jobs = (axis.format(dimension, each) for each in use)
    users = f"pods without a queue use {others}, its jobs use {jobs}" if use.unqueued else f"its jobs use {jobs}"
    detail = f"Insufficient {axis.names[dimension]}: the cluster has {total} and {users}{fit.detail}"
    short = partial(_cluster_short, axis, dimension, use, needed)
    return Reason(Code.INSUFFICIENT_RESOURCE, detail, short=short, fact=("", dimension))


def _cluster_short(axis: ResourceAxis, dimension: int, use: ClusterUse, needed: int) -> str:
    if not needed:
        users = "jobs and other pods" if use.unqueued else "jobs"
        return f"{users} use all {axis.short(dimension, use.total)} of the cluster"
    part = f", jobs use {axis.short_amount(dimension, use.jobs)}" if use.jobs else ""
    part += f", others {axis.short_amount(dimension, use.unqueued)}" if use.unqueued else ""
    return f"needs {axis.short(dimension, needed)}, cluster has {axis.short_amount(dimension, use.total)}{part}"


# -- admission --------------------------------------------------------------------------------------------------------


def limit_admitted(axis: ResourceAxis, title: str, name: str, excesses: Sequence[Excess]) -> Reason:
    """The admitted jobs of the queue may use its limit. `title` begins the message, `name` is the queue."""
    shortage = ", ".join(f"insufficient {axis.names[each.dimension]}" for each in excesses)
    short = partial(_admitted_short, axis, f"queue {name}", excesses[0])
    return Reason(Code.QUEUE_CAPABILITY, f"{title} resource quota insufficient: {shortage}", short=short)


def _admitted_short(axis: ResourceAxis, title: str, excess: Excess) -> str:
    dimension, needed, admitted, limit = excess
    amounts = f"limit {axis.short(dimension, limit)}, {axis.short_amount(dimension, admitted)} admitted"
    return f"{shortened_line(title, _MAX_TITLE)}: {amounts}, needs {axis.short_amount(dimension, needed)}"


def cluster_admitted(axis: ResourceAxis, excesses: Sequence[Excess]) -> Reason:
    """The admitted jobs may use the whole cluster."""
    shortage = ", ".join(f"overused {axis.names[each.dimension]}" for each in excesses)
    short = partial(_cluster_admitted_short, axis, excesses[0])
    return Reason(Code.CLUSTER_OVERCOMMITTED, f"resource in cluster is overused: {shortage}", short=short)


def _cluster_admitted_short(axis: ResourceAxis, excess: Excess) -> str:
    dimension, needed, admitted, limit = excess
    left = axis.short_amount(dimension, max(limit - admitted, 0))
    return f"needs {axis.short(dimension, needed)}, cluster can admit {left} more"
