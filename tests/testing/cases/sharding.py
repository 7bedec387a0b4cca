"""Cases of a scheduler with a shard of the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stromboli.cli.options.shards import parse_shard_selector
from stromboli.core.config.configuration import parse_configuration
from stromboli.core.model.nodes.shards import ShardChoice, ShardMode
from stromboli.core.session.program import Program
from stromboli.planner.plan import SchedulingPlan, make_plan
from tests.testing.cases.case import BUILT_IN, SCHEDULER_NAMES, Case, objects
from tests.testing.manifests.builders import Manifest, given, manifest

OUTSIDE = "node(s) didn't belong to this scheduler's shard"


def node_shard(name: str, desired: Sequence[str] | None = (), in_use: Sequence[str] | None = None) -> Manifest:
    """A NodeShard with these nodes, each a letter."""
    wanted = None if desired is None else list(desired)
    status = given(nodesInUse=None if in_use is None else list(in_use))
    return manifest("NodeShard", name, "shard.volcano.sh/v1alpha1", spec=given(nodesDesired=wanted), status=status)


class Sharded(Case):
    """A case of the scheduler of shard `ours`, or of the nodes with some labels."""

    def __init__(self, name: str, mode: str, *world: Any, selector: str = "", shard: str = "ours", **more: Any) -> None:
        super().__init__(name, *world, **more)
        self.choice = ShardChoice(ShardMode(mode), shard, parse_shard_selector(selector) if selector else None)

    def plan(self, conf: str | None = None) -> SchedulingPlan:
        program = Program(parse_configuration(conf or self.conf, BUILT_IN), BUILT_IN)
        return make_plan(
            objects(self.manifests), program, cycles=self.cycles, scheduler_names=SCHEDULER_NAMES, shard=self.choice
        )


def hard(name: str, *world: Any, **more: Any) -> Sharded:
    return Sharded(name, "hard", *world, **more)


def soft(name: str, *world: Any, **more: Any) -> Sharded:
    return Sharded(name, "soft", *world, **more)
