"""The base of every action: one step of a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from stromboli.core.config.arguments import Argument, Arguments

if TYPE_CHECKING:
    from stromboli.core.session.session import Session


class Action:
    """A step. It asks the session questions, makes statements, and commits or discards them."""

    name: ClassVar[str] = ""
    arguments: ClassVar[tuple[Argument, ...]] = ()

    def __init__(self, given: Arguments) -> None:
        self.given = given

    def initialize(self, session: Session) -> None:
        """Called before `execute`."""

    def execute(self, session: Session) -> None:
        """Do the work of the step."""

    def uninitialize(self, session: Session) -> None:
        """Called after `execute`, also when it failed."""
