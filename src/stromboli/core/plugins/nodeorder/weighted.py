"""The base of all scorers of this plugin: a weight, and a scale from 0 to 100."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stromboli.core.search.node_rules import NodeScorer

if TYPE_CHECKING:
    from stromboli.core.session.session import Session

#: The best score before it is multiplied by the weight.
HIGHEST = 100.0


class WeightedScorer(NodeScorer):
    """A scorer whose best node gets 100 times its weight. A negative weight inverts the preference."""

    def __init__(self, weight: int) -> None:
        self.weight = weight
        #: The score of the best node.
        self.top = HIGHEST * weight

    def open(self, session: Session) -> None:
        """Prepare for a cycle."""
