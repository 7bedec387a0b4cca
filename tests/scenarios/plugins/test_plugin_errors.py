"""An error in a plugin affects the job that it was about, and no other."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from stromboli.cli.commands.ask.explain import explain as explain_command
from stromboli.cli.commands.ask.plan import plan as plan_command
from stromboli.cli.commands.ask.simulate import simulate as simulate_command
from stromboli.core.config.action import Action
from stromboli.core.config.combining import Vote
from stromboli.core.config.plugin import Event, Plugin, PluginFailure
from stromboli.core.model.ledger.entry import LedgerInconsistency
from stromboli.core.session.session import Session
from tests.testing.cases.case import Case, configuration
from tests.testing.cases.probe_plugins import probe
from tests.testing.manifests.builders import Facts, gang, gang_of, nodes, pod, queue

CONF = configuration("gang", "predicates", "probe")
POLICIES = [{"matchLabelKeys": ["part"], "minSubGroups": 1}]
#: Pods of the first job request 2 cpu each; no others do.
FIRST: Facts = {"cpu": 2, "name": "first", "labels": {"part": "1"}, "resources": {"cpu": 1}}
SECOND: Facts = {"name": "second", "labels": {"part": "1"}, "resources": {"cpu": 1}}


def place(function: Callable[..., Any], text: str = "raise ") -> str:
    """Return the file and line where a function contains a text."""
    lines, start = inspect.getsourcelines(function)
    offset = next(number for number, line in enumerate(lines) if text in line)
    return f"plugins/{Path(__file__).name}:{start + offset}"


def trip(subject: Any, otherwise: Any = None) -> Any:
    """Fails for the first job, its sub-jobs, its tasks and its class."""
    for attribute in ("spec", "tasks", "task_class"):
        subject = getattr(subject, attribute, subject)
        subject = subject[0] if isinstance(subject, list | tuple) else subject
    is_first = subject.name == "first" if hasattr(subject, "name") else dict(subject.request)[0] == 2000
    if is_first:
        raise ValueError("an error")
    return otherwise


ERROR = f"scheduling failed with an error: ValueError: an error (plugin probe, {place(trip)})"

QUESTIONS: dict[str, Callable[..., Any]] = {
    "job_order": lambda self, job: trip(job, 0),
    "job_valid": lambda self, job: trip(job),
    "job_enqueueable": lambda self, job: trip(job, Vote.ABSTAIN),
    "job_ready": lambda self, job: trip(job, True),
    "allocatable": lambda self, queue, task_class, wanted: trip(task_class),
    "pre_predicate": lambda self, task_class: trip(task_class),
    "predicate": lambda self, task_class, rows: trip(task_class, True),
    "node_order": lambda self, task_class, rows: trip(task_class, 0.0),
    "batch_node_order": lambda self, task_class, rows, candidates: trip(task_class, 0.0),
    "node_map": lambda self, task_class, rows: trip(task_class, 0.0),
    "best_node": lambda self, task, scores: trip(task),
    "on_allocate": lambda self, event: trip(event),
    "bind_context": lambda self, task, context: trip(task),
}
PARTS_QUESTIONS: dict[str, Callable[..., Any]] = {
    "sub_job_order": lambda self, sub_job: trip(sub_job, 0),
    "sub_job_ready": lambda self, sub_job: trip(sub_job, True),
    "hyper_node_gradient_for_job": lambda self, job, root: trip(job),
    "hyper_node_gradient_for_sub_job": lambda self, sub_job, root: trip(sub_job),
    "hyper_node_order": lambda self, sub_job, domains: trip(sub_job, {}),
}


def raising(question: str, answer: Callable[..., Any], **facts: Any) -> Case:
    return Case(
        question, nodes(4, 1), gang(1, **FIRST, **facts), gang(2, **SECOND, **facts), conf=CONF, binds="- aa",
        reasons={"first": [ERROR], "second": []}, codes={"first": ["PluginFailed"], "second": []},
        warnings=[f"PodGroup default/first: {ERROR}"], extensions=[probe(**{question: answer})],
    )  # fmt: skip


CASES = [raising(*entry) for entry in QUESTIONS.items()]
CASES += [raising(*entry, policies=POLICIES) for entry in PARTS_QUESTIONS.items()]
CASES += [
    # A single task is not ordered.
    Case(
        "task_order", nodes(6, 1), gang(2, **FIRST), gang(1, **SECOND), conf=CONF, binds="-- a",
        reasons={"first": [ERROR], "second": []}, codes={"first": ["PluginFailed"], "second": []},
        warnings=[f"PodGroup default/first: {ERROR}"],
        extensions=[probe(task_order=lambda self, task: trip(task, 0))],
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_error_affects_its_job_only(case: Case) -> None:
    case.check()


WRONG = [
    ("numbers for a predicate", "predicate", [1, 0], "predicate must return one boolean per node"),
    ("too few booleans", "predicate", [True], "predicate must return one boolean per node"),
    ("no answer", "predicate", None, "predicate must return one boolean per node"),
    ("too many scores", "node_order", [1.0] * 3, "node_order must return one score per node, got shape (3,)"),
    ("a score that is no number", "node_order", float("nan"), "node_order must return finite numbers"),
    ("a score beyond all numbers", "node_order", float("inf"), "node_order must return finite numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "answer", "words"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
def test_answer_of_wrong_type_is_rejected_with_message(question: str, answer: object, words: str) -> None:
    by = probe(**{question: lambda self, task_class, rows: np.array(answer) if isinstance(answer, list) else answer})
    plan = Case("", nodes(4, 2), gang(1), conf=CONF, binds="-", extensions=[by]).plan()
    group = plan.groups["default/gang"]
    assert (plan.binds, list(group.codes)) == ({}, ["PluginFailed"])
    origin = f"plugin probe, {place(test_answer_of_wrong_type_is_rejected_with_message, 'by = probe(')}"
    assert group.reasons == [f"scheduling failed with an error: InvalidAnswer: {words} ({origin})"]


def test_error_while_binding_leaves_gang_whole() -> None:
    by = probe(bind_context=QUESTIONS["bind_context"])
    Case("", nodes(4, 1), gang_of(pod(1), pod(2)), gang(1, name="second"), conf=CONF, binds="-- a", extensions=[by],
         warnings=[f"PodGroup default/gang: {ERROR}"]).check()  # fmt: skip


def test_error_during_rollback_leaves_no_capacity_assumed() -> None:
    by = probe(on_deallocate=lambda self, event: trip(event))
    Case("", nodes(4, 1), gang_of(pod(1), pod(2), pod(9)), gang(4, name="second"), conf=CONF, binds="--- aaaa",
         extensions=[by], warnings=[f"PodGroup default/gang: {ERROR}"]).check()  # fmt: skip


class Listener(Plugin):
    """Trusts its notifications: how often every task was placed, less how often it was removed."""

    name = "listener"
    balance: ClassVar[Counter[str]] = Counter()

    def open(self, session: Session) -> None:
        self.balance.clear()

    def on_allocate(self, event: Event) -> None:
        self.balance.update(task.name for task in event.tasks)

    def on_deallocate(self, event: Event) -> None:
        self.balance.subtract(task.name for task in event.tasks)


@pytest.mark.parametrize("order", [("listener", "probe"), ("probe", "listener")], ids=" before ".join)
@pytest.mark.parametrize("question", ["on_allocate", "on_deallocate"])
def test_error_of_one_handler_does_not_skip_others(question: str, order: tuple[str, str]) -> None:
    by = probe(**{question: lambda self, event: trip(event)})
    Case("", nodes(4, 1), gang_of(pod(1), pod(2), pod(9)), gang(4, name="second"), binds="--- aaaa",
         conf=configuration("gang", "predicates", *order), extensions=[Listener, by],
         warnings=[f"PodGroup default/gang: {ERROR}"]).check()  # fmt: skip
    assert +Listener.balance == Counter({f"second-task-{place}": 1 for place in range(4)})
    assert not -Listener.balance


def test_jobs_admitted_before_error_stay_admitted() -> None:
    by = probe(job_enqueued=QUESTIONS["job_valid"])
    Case("", nodes(4, 1), gang(1, **FIRST), gang(2, **SECOND), conf=CONF, binds="a aa", extensions=[by],
         warnings=[f"PodGroup default/first: {ERROR}"]).check()  # fmt: skip


def judge(queue: Any) -> None:
    if queue.name == "left":
        raise ValueError("an error")


QUEUE_QUESTIONS: dict[str, Callable[..., Any]] = {
    "queue_order": lambda self, queue: judge(queue),
    "overused": lambda self, queue: judge(queue),
}
UNJUDGED = f"queue left cannot be evaluated: ValueError: an error (plugin probe, {place(judge)})"


@pytest.mark.parametrize("question", QUEUE_QUESTIONS)
def test_error_about_queue_affects_its_jobs_only(question: str) -> None:
    by = probe(**{question: QUEUE_QUESTIONS[question]})
    Case("", nodes(4, 1), queue("left"), gang(1, queue="left"), gang(2, name="second"), conf=CONF, binds="- aa",
         codes={"gang": ["PluginFailed"]}, reasons={"gang": [UNJUDGED]}, warnings=[UNJUDGED], extensions=[by],
         ).check()  # fmt: skip


def test_queue_with_failing_check_is_not_served_again() -> None:
    """It keeps what it got; the others are served."""

    def answer(self: Any, queue: Any) -> bool:
        if self.jobs["default/gang"].ready_count:
            judge(queue)
        return bool(queue.name != "left")

    by = probe(queue_order=answer, open=lambda self, session: setattr(self, "jobs", session.jobs))
    Case("", nodes(4, 1), queue("left"), gang(2, minimum=1, queue="left"), gang(2, name="second"), conf=CONF,
         binds="a- aa", warnings=[UNJUDGED], extensions=[by]).check()  # fmt: skip


def test_job_with_failing_order_gets_no_more_tasks() -> None:
    """It keeps what it got; the others are served."""
    by = probe(job_order=lambda self, job: trip(job) if job.ready_count else 0)
    Case("", nodes(6, 1), gang(2, **FIRST, minimum=1), gang(2, **SECOND), conf=CONF, binds="a- aa",
         warnings=[f"PodGroup default/first: {ERROR}"], extensions=[by]).check()  # fmt: skip


class Stumbling(Action):
    name = "stumbling"

    def execute(self, session: Session) -> None:
        raise ValueError("an error")


class StumblingBefore(Action):
    name = "stumbling"

    def initialize(self, session: Session) -> None:
        raise ValueError("an error")


class StumblingAfter(Action):
    name = "stumbling"

    def uninitialize(self, session: Session) -> None:
        raise ValueError("an error")


class StumblingAtOnce(Plugin):
    name = "probe"

    def open(self, session: Session) -> None:
        raise ValueError("an error")


class StumblingAtTheEnd(Plugin):
    name = "probe"

    def close(self, session: Session) -> None:
        raise ValueError("an error")


def stumble(self: Plugin, queue: Any = None) -> Any:
    raise ValueError("an error")


def failed(title: str, function: Callable[..., Any]) -> str:
    return f"{title} failed: ValueError: an error ({place(function)})"


STUMBLING = configuration("gang", actions="stumbling")
NOBODYS = [
    ("rules that cannot be made", probe(node_filters=stumble), CONF, failed("plugin probe: node rules", stumble)),
    ("no rules at all", probe(node_scorers=lambda self: None), CONF,
     "plugin probe: node rules failed: TypeError: 'NoneType' object is not iterable (config/rule_adapters.py:"),
    ("facts that raise an error", probe(queue_facts=stumble), CONF, failed("plugin probe", stumble)),
    ("facts of a strange kind", probe(queue_facts=lambda self, queue: [1, 2]), CONF,
     "plugin probe: queue_facts must return QueueFacts or None, not [1, 2]"),
    ("a plugin that cannot begin", StumblingAtOnce, CONF, failed("plugin probe", StumblingAtOnce.open)),
    ("a plugin that cannot end", StumblingAtTheEnd, CONF, failed("plugin probe", StumblingAtTheEnd.close)),
    ("an action", Stumbling, STUMBLING, failed("action stumbling", Stumbling.execute)),
    ("an action that cannot begin", StumblingBefore, STUMBLING, failed("action stumbling", StumblingBefore.initialize)),
    ("an action that cannot end", StumblingAfter, STUMBLING, failed("action stumbling", StumblingAfter.uninitialize)),
]  # fmt: skip


@pytest.mark.parametrize(("by", "conf", "words"), [each[1:] for each in NOBODYS], ids=[each[0] for each in NOBODYS])
def test_error_without_job_aborts_cycle_with_message(by: Any, conf: str, words: str) -> None:
    with pytest.raises(PluginFailure) as failure:
        Case("", nodes(4, 1), gang(1), conf=conf, binds="", extensions=[by]).plan()
    assert str(failure.value).startswith(words)


@pytest.mark.parametrize("request_of", [{"cpu": 1}, {"cpu": 0}], ids=["allocate", "backfill"])
def test_inconsistent_accounting_aborts_cycle(request_of: Facts) -> None:
    def answer(self: Plugin, task_class: Any) -> None:
        raise LedgerInconsistency("two and two are five")

    with pytest.raises(LedgerInconsistency):
        Case(
            "", nodes(4, 1), gang(1, **request_of), conf=CONF, binds="", extensions=[probe(pre_predicate=answer)]
        ).plan()


def test_command_ends_with_that_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").write_text(yaml.safe_dump_all([*nodes(4, 1), *gang(1)]), encoding="utf-8")
    Path("scheduler.conf").write_text(CONF, encoding="utf-8")
    options = ["-f", "cluster.yaml", "--conf", "scheduler.conf", "--plugin", f"{__name__}:StumblingAtOnce"]
    result = CliRunner().invoke(plan_command, options)
    assert (result.exit_code, result.stderr) == (1, f"error: {failed('plugin probe', StumblingAtOnce.open)}\n")


class FailingJobs(Plugin):
    """Fails for every job."""

    name = "probe"

    def job_valid(self, job: Any) -> None:
        raise ValueError("an error")


COMMANDS: dict[str, tuple[Any, ...]] = {
    "plan": (plan_command,),
    "explain": (explain_command, "b"),
    "simulate": (simulate_command,),
}


@pytest.mark.parametrize("plugin", [FailingJobs, StumblingAtOnce], ids=["of a job", "of the cycle"])
@pytest.mark.parametrize("command", COMMANDS)
def test_traceback_option_prints_the_whole_traceback_once(
    command: str, plugin: type[Plugin], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").write_text(yaml.safe_dump_all([*nodes(4, 1), *gang(1), *gang(1, name="b")]), encoding="utf-8")
    Path("scheduler.conf").write_text(CONF, encoding="utf-8")
    options = ["-f", "cluster.yaml", "--conf", "scheduler.conf", "--plugin", f"{__name__}:{plugin.__name__}"]
    main, *subject = COMMANDS[command]
    without = CliRunner().invoke(main, [*options, *subject])
    result = CliRunner().invoke(main, [*options, *subject, "--traceback"])
    assert (without.exit_code, without.stdout) == (result.exit_code, result.stdout)
    assert "Traceback" not in without.stderr
    assert result.stderr.count("Traceback (most recent call last):") == 1
    assert "ValueError: an error" in result.stderr
    assert f'File "{__file__}", line' in result.stderr
