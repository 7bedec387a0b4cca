"""How the plugins judge some candidates, told one by one: who lets whom go, and who objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from stromboli.core.config.combining import Answer
from stromboli.core.model.tasks.task import Task
from stromboli.core.preemption.rules import Terms
from stromboli.core.session.decision_records import Objection, PluginApproval
from stromboli.core.session.program import Program
from stromboli.core.session.session import Session

_Named = list[tuple[str, Answer]]

#: The rule of those about whom no plugin says anything.
NOBODY = "nobody"


@dataclass(slots=True)
class PluginVerdict:
    """The answers of all plugins to one question about one claimant."""

    session: Session
    preemptor: Task
    allowed: list[Task] = field(default_factory=list)
    #: By the uid of a candidate that may not go, the name of the plugin that objects.
    objecting: dict[str, str] = field(default_factory=dict)
    #: Those that had a say in whom to let go, with how many they let go; guards have a say only where nobody else has.
    deciding: dict[str, int] = field(default_factory=dict)
    #: All others that let those go.
    consenting: list[str] = field(default_factory=list)

    def veto(self, task: Task) -> tuple[str, Callable[[], str], str]:
        """The plugin that objects to a candidate, what it says, and the candidate."""
        name = self.objecting.get(task.uid, NOBODY)
        if name == NOBODY:
            return name, lambda: "no configured plugin lets it go", task.key
        plugin = self.session.program.plugins[name]
        return name, lambda: words_of(plugin.veto, self.preemptor, task) or "it gives no reason", task.key

    def consents(self, task: Task) -> tuple[PluginApproval, ...]:
        """Who lets a lawful victim go. The rule that singled it out is the narrowest of those that give a right."""
        plugins = self.session.program.plugins
        rights = {name: words_of(plugins[name].justification, self.preemptor, task) for name in self.deciding}
        by_right = [name for name, right in rights.items() if right] or list(rights)
        decisive = min(by_right, key=self.deciding.__getitem__, default=None)
        consents = [PluginApproval(name, right, name == decisive) for name, right in rights.items()]
        return (*consents, *(PluginApproval(name) for name in self.consenting))


def judge(session: Session, terms: Terms, preemptor: Task, candidates: Sequence[Task]) -> PluginVerdict:
    """Ask every plugin for itself; the rule is that of `guarded_intersection`."""
    verdict = PluginVerdict(session, preemptor)
    guards, tiers, everywhere = _named(session.program, terms.question)
    subject = terms.subject(preemptor)
    left, asked = list(candidates), dict[str, int]()
    for name, answer in guards:
        victims = answer(subject, left)
        if victims is not None:
            left = _keep(verdict, name, left, {victim.uid for victim in victims})
            asked[name] = len(left)
    verdict.consenting = list(asked)
    if any(tiers):
        _ask_tiers(verdict, subject, tiers, everywhere, left)
    elif guards:
        verdict.allowed, verdict.deciding, verdict.consenting = left, asked, []
    return verdict


def _ask_tiers(
    verdict: PluginVerdict, subject: object, tiers: Sequence[_Named], everywhere: _Named, left: Sequence[Task]
) -> None:
    """The first tier whose members agree on somebody decides; those without an agreement object."""
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
            verdict.deciding = {name: len(uids) for name, uids in chosen.items()}
            for task in agreed:
                verdict.objecting.pop(task.uid, None)
            return


def _keep(verdict: PluginVerdict, name: str, tasks: Iterable[Task], uids: set[str]) -> list[Task]:
    """Those among the tasks that a plugin lets go. Whoever objected first is remembered."""
    kept = []
    for task in tasks:
        if task.uid in uids:
            kept.append(task)
        else:
            verdict.objecting.setdefault(task.uid, name)
    return kept


def _named(program: Program, question: str) -> tuple[_Named, list[_Named], _Named]:
    """The guards, the others by tier, and those that object in every tier, with their names."""
    named = program.named(question)
    guards, tiers, everywhere = program.guarded(question)
    return (
        [(name, answer) for name, answer in named if answer in guards],
        [[(name, answer) for name, answer in named if answer in tier] for tier in tiers],
        [(name, answer) for name, answer in named if answer in everywhere],
    )


def words_of(tell: Answer, preemptor: Task, victim: Task) -> str:
    """What a plugin says about a victim. One that cannot say it has decided nevertheless."""
    try:
        return str(tell(preemptor, victim))
    except Exception as error:
        return f"(it cannot say why: {type(error).__name__}: {error})"


def grouped(reasons: Iterable[tuple[str, Callable[[], str], str]]) -> tuple[Objection, ...]:
    """Objections out of (rule, words, object), the commonest rule first. Words are asked for once per rule."""
    objects: dict[str, list[str]] = {}
    whys: dict[str, str] = {}
    for rule, tell, name in reasons:
        if rule not in whys:
            whys[rule] = tell()
        objects.setdefault(rule, []).append(name)
    order = sorted(objects, key=lambda rule: -len(objects[rule]))
    return tuple(Objection(rule, whys[rule], tuple(objects[rule])) for rule in order)
