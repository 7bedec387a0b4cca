"""The extension points as a session calls them: each combines the plugins' answers by its rule, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from stromboli.core.config import combining
from stromboli.core.config.plugin import Allowance, Domain, EvictionContext, PluginFailure, QueueFacts
from stromboli.core.config.plugin_errors import describe_error
from stromboli.core.model.jobs.job import Job, SubJob
from stromboli.core.model.queues.queue import Queue
from stromboli.core.model.reasons import Reason
from stromboli.core.model.tasks.task import Task
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.session.program import Program
from stromboli.core.topology.domain_group import DomainScores

_uid = attrgetter("uid")
_order = attrgetter("order")


class Questions:
    """The extension points that actions use."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._tiers = program.tiers
        self._flat = program.flat
        self._job_order = program.flat["job_order"]
        self._task_order = program.flat["task_order"]
        self._queue_order = program.flat["queue_order"]
        self._job_ready = program.flat["job_ready"]
        self._allocatable = program.flat["allocatable"]
        self._pre_predicate = program.flat["pre_predicate"]
        self._guarded = {name: program.guarded(name) for name in ("preemptable", "reclaimable", "evictable")}
        #: A plugin that answers `job_ready` without `tasks_until_ready` is called after every task.
        whole_gangs = program.answering["job_ready"] <= program.answering["tasks_until_ready"]
        self._tasks_until_ready = program.flat["tasks_until_ready"] if whole_gangs else []

    # -- order: smaller keys come first -------------------------------------------------------------------------

    def job_order_key(self, job: Job) -> tuple[Any, ...]:
        return combining.sort_key(self._job_order, job, (job.spec.created, job.spec.key))

    def sub_job_order_key(self, sub_job: SubJob) -> tuple[Any, ...]:
        return combining.sort_key(self._flat["sub_job_order"], sub_job, (sub_job.match_index, sub_job.key))

    def task_order_key(self, task: Task) -> tuple[Any, ...]:
        return combining.sort_key(self._task_order, task, task.order)

    def sort_tasks(self, tasks: list[Task]) -> None:
        """Sort tasks in place. One plugin with an answer is the usual case, and this runs for every job."""
        if len(tasks) < 2:
            return
        if len(self._task_order) == 1 and _are_equal([*map(self._task_order[0], tasks)]):
            tasks.sort(key=_order)
        else:
            tasks.sort(key=self.task_order_key)

    def queue_order_key(self, queue: Queue) -> tuple[Any, ...]:
        return combining.sort_key(self._queue_order, queue, (queue.created, queue.name))

    def victim_queue_order_key(self, queue: Queue, preemptor: Queue) -> tuple[Any, ...]:
        """The keys of the plugins, and among equals the reversed order of queues: the one that is served last loses."""
        keys = [answer(queue, preemptor) for answer in self._flat["victim_queue_order"]]
        return (*keys, combining.Descending(combining.sort_key(self._queue_order, queue, ())))

    @property
    def queue_order_reaches_others(self) -> bool:
        """Report whether an allocation of one queue may change the rank of another."""
        return any(plugin.queue_order_reaches_others for plugin in self.program.plugins.values())

    @property
    def queue_order_only_grows(self) -> bool:
        """Report whether a queue only moves back in the order, as long as no queue loses anything."""
        far = [plugin for plugin in self.program.plugins.values() if plugin.queue_order_reaches_others]
        return all(plugin.queue_order_only_grows for plugin in far)

    @property
    def distinguishes_users(self) -> bool:
        """Report whether a plugin selects victims by the user of the preemptor's job."""
        return any(plugin.distinguishes_users for plugin in self.program.plugins.values())

    @property
    def serves_beyond_minimum(self) -> bool:
        """Report whether a plugin lets preempt and reclaim serve members above the minimum of their job."""
        return any(plugin.serves_beyond_minimum for plugin in self.program.plugins.values())

    @property
    def lends_idle(self) -> bool:
        """Report whether a plugin lends to queues beyond their share what would stay idle."""
        return any(plugin.lends_idle for plugin in self.program.plugins.values())

    # -- admission and readiness --------------------------------------------------------------------------------

    def job_valid(self, job: Job) -> Reason | None:
        return combining.first_refusal(self._flat["job_valid"], job)

    def job_enqueueable(self, job: Job) -> Reason | None:
        """Return None if the job may be admitted."""
        return combining.vote_by_tier(self._tiers["job_enqueueable"], job)

    def job_enqueued(self, job: Job) -> None:
        combining.notify_all(self._flat["job_enqueued"], job)

    def job_ready(self, job: Job) -> bool:
        return combining.all_agree(self._job_ready, job)

    def tasks_until_ready(self, job: Job) -> int:
        """Return a lower bound, at least one, of the tasks to place before the job can be ready."""
        number = 1
        for answer in self._tasks_until_ready:
            number = max(number, answer(job))
        return number

    def sub_job_ready(self, job: Job, sub_job: SubJob) -> bool:
        if not job.spec.policies:
            return self.job_ready(job)
        return combining.all_agree(self._flat["sub_job_ready"], sub_job)

    def job_pipelined(self, job: Job) -> bool:
        return combining.vote_by_tier(self._tiers["job_pipelined"], job) is None

    def sub_job_pipelined(self, job: Job, sub_job: SubJob) -> bool:
        if not job.spec.policies:
            return self.job_pipelined(job)
        return combining.vote_by_tier(self._tiers["sub_job_pipelined"], sub_job) is None

    def job_starving(self, job: Job) -> bool:
        return combining.first_tier_decides(self._tiers["job_starving"], job)

    # -- queues -------------------------------------------------------------------------------------------------

    def overused(self, queue: Queue) -> Reason | None:
        """Return the reason of the first plugin that reports the queue as overused."""
        return combining.first_refusal(self._flat["overused"], queue)

    def allocatable(self, queue: Queue, task_class: TaskClass, wanted: int) -> Allowance | None:
        """Return how many of `wanted` tasks the queue may take: the strictest answer; None for all."""
        strictest: Allowance | None = None
        for answer in self._allocatable:
            allowance = answer(queue, task_class, wanted)
            if allowance is not None and allowance.number < (wanted if strictest is None else strictest.number):
                strictest = allowance
        return strictest

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> Reason | None:
        return combining.first_refusal(self._flat["preemptive"], queue, tasks)

    def queue_facts(self, queue: Queue) -> QueueFacts | None:
        """Return the facts of the first queue plugin that reports any."""
        for name, plugin in self.program.plugins.items():
            try:
                facts: object = plugin.queue_facts(queue)
            except Exception as error:
                raise PluginFailure(f"plugin {name} failed: {describe_error(error, with_owner=False)}") from error
            if isinstance(facts, QueueFacts):
                return facts
            if facts is not None:
                raise PluginFailure(f"plugin {name}: queue_facts must return QueueFacts or None, not {facts!r:.80}")
        return None

    # -- victims ------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        return combining.guarded_intersection(*self._guarded["preemptable"], preemptor, candidates, _uid)

    def reclaimable(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        return combining.guarded_intersection(*self._guarded["reclaimable"], preemptor, candidates, _uid)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> list[Task]:
        return combining.guarded_intersection(*self._guarded["evictable"], context, candidates, _uid)

    def unguarded(self, context: EvictionContext, candidates: Sequence[Task]) -> list[Task]:
        """Return the candidates that no guard protects; shares and priorities do not matter where no job loses anything
        to another.
        """
        guards, _, _ = self._guarded["evictable"]
        return combining.guarded_intersection(guards, (), (), context, candidates, _uid) if guards else list(candidates)

    def victim_tasks(self, candidates: Sequence[Task]) -> list[Task]:
        return combining.union_by_tier(self._tiers["victim_tasks"], candidates, _uid)

    # -- nodes --------------------------------------------------------------------------------------------------

    def pre_predicate(self, task_class: TaskClass) -> Reason | None:
        return combining.first_refusal(self._pre_predicate, task_class) if self._pre_predicate else None

    # -- domains ------------------------------------------------------------------------------------------------

    def gradient_for_job(self, job: Job, root: Domain) -> Sequence[Sequence[Domain]]:
        groups = combining.first_answer(self._flat["hyper_node_gradient_for_job"], job, root)
        return groups if groups is not None else [[root]]

    def gradient_for_sub_job(self, sub_job: SubJob, root: Domain) -> Sequence[Sequence[Domain]]:
        groups = combining.first_answer(self._flat["hyper_node_gradient_for_sub_job"], sub_job, root)
        return groups if groups is not None else [[root]]

    def domain_scores(self, subject: Job | SubJob, domains: Sequence[Domain]) -> DomainScores:
        answers = [answer(subject, domains) for answer in self._flat["hyper_node_order"]]
        if len(answers) == 1 and isinstance(answers[0], DomainScores):
            return answers[0]
        scores = {domain.name: 0.0 for domain in domains}
        for answer in answers:
            for name, score in answer.items():
                scores[name] += score
        return DomainScores(domains, np.array([scores[domain.name] for domain in domains]))


def _are_equal(keys: Sequence[object]) -> bool:
    return keys.count(keys[0]) == len(keys)
