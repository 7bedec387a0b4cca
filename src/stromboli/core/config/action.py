"""The base of every action: one step of a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from stromboli.core.config.arguments import Arguments

if TYPE_CHECKING:
    from stromboli.core.model.jobs.job import Job
    from stromboli.core.session.session import Session
    from stromboli.core.session.statement import Statement


class Action:
    """A step of a cycle: queries the session, makes statements, and commits or discards them."""

    #: The name in the configuration file.
    name: ClassVar[str] = ""
    #: The version of `stromboli.api` that the class is written for.
    api_version: ClassVar[int] = 1
    #: Declared as an instance of a subclass of Arguments; an action reads its own values from `self.arguments`.
    arguments: Arguments = Arguments()

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments

    def initialize(self, session: Session) -> None:
        """Called before `execute`."""

    def execute(self, session: Session) -> None:
        """Run the step."""

    def uninitialize(self, session: Session) -> None:
        """Called after `execute`, also if it failed."""


class PreemptionTrial(Protocol):
    """What a preempting action would do, without doing it."""

    def try_for(self, job: Job, statement: Statement) -> bool:
        """Evict pods for the job on a statement that the caller rolls back; report whether there is a plan."""


class PreemptingAction(Action):
    """An action that evicts pods in favour of starving jobs, one job after the other."""

    def trial(self, session: Session) -> PreemptionTrial:
        raise NotImplementedError
