"""The answers of the plugins about candidates, by plugin: approvals and vetoes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from stromboli.core.config.combining import Answer
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.rules import PreemptionRules, replaceable
from stromboli.core.session.decision_records import PluginApproval, RuleObjection
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session

_NamedAnswers = list[tuple[str, Answer]]

#: The rule of candidates about which no plugin answers.
NO_PLUGIN = "no-plugin"
#: The rule that a task without a request replaces only others without one.
WITHOUT_REQUEST = "without-request"


@dataclass(slots=True)
class PluginVerdict:
    """The answers of all plugins to one extension point about one preemptor."""

    session: Session
    preemptor: Task
    allowed: list[Task] = field(default_factory=list)
    #: By the uid of a protected candidate, the name of the plugin that vetoes.
    vetoes: dict[str, str] = field(default_factory=dict)
    #: The deciding plugins, with the number of tasks they allow; guards decide only where no other plugin answers.
    deciding_plugins: dict[str, int] = field(default_factory=dict)
    #: All other plugins that allow those.
    other_approvals: list[str] = field(default_factory=list)

    def veto(self, task: Task) -> tuple[str, Callable[[], str], str]:
        """The plugin that vetoes a candidate, its message, and the candidate."""
        name = self.vetoes.get(task.uid, NO_PLUGIN)
        if name == NO_PLUGIN:
            return name, lambda: "no configured plugin allows its eviction", task.key
        if name == WITHOUT_REQUEST:
            return name, lambda: "it has a request, and the preemptor has none", task.key
        plugin = self.session.program.plugins[name]
        return name, lambda: plugin_message(plugin.veto, self.preemptor, task) or "no reason given", task.key

    def approvals(self, task: Task) -> tuple[PluginApproval, ...]:
        """The plugins that allow a victim. The decisive rule is the narrowest of those with a justification."""
        plugins = self.session.program.plugins
        rights = {
            name: plugin_message(plugins[name].justification, self.preemptor, task) for name in self.deciding_plugins
        }
        by_right = [name for name, right in rights.items() if right] or list(rights)
        decisive = min(by_right, key=self.deciding_plugins.__getitem__, default=None)
        approvals = [PluginApproval(name, right, name == decisive) for name, right in rights.items()]
        return (*approvals, *(PluginApproval(name) for name in self.other_approvals))


def ask_plugins(session: Session, rules: PreemptionRules, preemptor: Task, candidates: Sequence[Task]) -> PluginVerdict:
    """Call every plugin separately; the combining rule is that of `guarded_intersection`."""
    verdict = PluginVerdict(session, preemptor)
    guards, tiers, everywhere = _named_answers(session.program, rules.question)
    subject = rules.subject(preemptor)
    left = _keep(verdict, WITHOUT_REQUEST, candidates, {task.uid for task in replaceable(preemptor, candidates)})
    asked = dict[str, int]()
    for name, answer in guards:
        victims = answer(subject, left)
        if victims is not None:
            left = _keep(verdict, name, left, {victim.uid for victim in victims})
            asked[name] = len(left)
    verdict.other_approvals = list(asked)
    if any(tiers):
        _ask_tiers(verdict, subject, tiers, everywhere, left)
    elif guards:
        verdict.allowed, verdict.deciding_plugins, verdict.other_approvals = left, asked, []
    return verdict


def _ask_tiers(
    verdict: PluginVerdict,
    subject: object,
    tiers: Sequence[_NamedAnswers],
    everywhere: _NamedAnswers,
    left: Sequence[Task],
) -> None:
    """The first tier whose members agree on a victim decides; without an agreement its members veto."""
    for tier in tiers:
        votes = {name: answer(subject, left) for name, answer in tier}
        chosen = {name: {victim.uid for victim in victims} for name, victims in votes.items() if victims is not None}
        agreed = list(left)
        for name, uids in chosen.items():
            agreed = _keep(verdict, name, agreed, uids)
        for name, answer in everywhere if chosen else ():
            victims = None if name in votes else answer(subject, agreed)
            if victims is not None:
                agreed = _keep(verdict, name, agreed, {victim.uid for victim in victims})
                chosen[name] = {victim.uid for victim in victims}
        if chosen and agreed:
            verdict.allowed = agreed
            verdict.deciding_plugins = {name: len(uids) for name, uids in chosen.items()}
            for task in agreed:
                verdict.vetoes.pop(task.uid, None)
            return


def _keep(verdict: PluginVerdict, name: str, tasks: Iterable[Task], uids: set[str]) -> list[Task]:
    """The tasks that a plugin allows. The first veto of each task is kept."""
    kept = []
    for task in tasks:
        if task.uid in uids:
            kept.append(task)
        else:
            verdict.vetoes.setdefault(task.uid, name)
    return kept


def _named_answers(program: Program, question: str) -> tuple[_NamedAnswers, list[_NamedAnswers], _NamedAnswers]:
    """The guards, the others by tier, and those that veto in every tier, with their names."""
    named = program.named(question)
    guards, tiers, everywhere = program.guarded(question)
    return (
        [(name, answer) for name, answer in named if answer in guards],
        [[(name, answer) for name, answer in named if answer in tier] for tier in tiers],
        [(name, answer) for name, answer in named if answer in everywhere],
    )


def plugin_message(message: Answer, preemptor: Task, victim: Task) -> str:
    """The message of a plugin about a victim. Its decision counts even if the message raises an error."""
    try:
        return str(message(preemptor, victim))
    except Exception as error:
        return f"(reason unavailable: {type(error).__name__}: {error})"


def grouped(reasons: Iterable[tuple[str, Callable[[], str], str]]) -> tuple[RuleObjection, ...]:
    """Objections out of (rule, message, object), the commonest rule first. The message is computed once per rule."""
    objects: dict[str, list[str]] = {}
    whys: dict[str, str] = {}
    for rule, message, name in reasons:
        if rule not in whys:
            whys[rule] = message()
        objects.setdefault(rule, []).append(name)
    order = sorted(objects, key=lambda rule: -len(objects[rule]))
    return tuple(RuleObjection(rule, whys[rule], tuple(objects[rule])) for rule in order)
