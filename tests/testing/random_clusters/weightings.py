"""Score functions: spreading, packing, both at once so that they cancel, and arbitrary ones.

A ROW rule may return anything. Arbitrary scores are tested because nothing may be assumed about how a score changes
when a node fills up.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from stromboli.core.config.plugin import Plugin
from stromboli.core.model.nodes.amounts import Rows
from stromboli.core.model.nodes.table import Mask, Vector
from stromboli.core.model.resources.resources import CPU, MEMORY, PODS
from stromboli.core.model.tasks.task_class import TaskClass
from stromboli.core.session.program import Program
from tests.testing.random_clusters.engine import program_of


class Whim(Plugin):
    """Scores nodes arbitrarily, by remainders of their usage: up and down, with many ties."""

    name = "whim"

    def node_order(self, task_class: TaskClass, rows: Rows) -> Vector:
        return ((rows.used(CPU) // 250 * 7 + rows.used(PODS) * 5 + rows.used(MEMORY) // (1 << 28)) % 11).astype(float)


class Mood(Plugin):
    """Refuses nodes now and then, even ones that it would accept with one more pod."""

    name = "mood"

    def predicate(self, task_class: TaskClass, rows: Rows) -> Mask:
        refused: Mask = np.equal((rows.used(PODS) * 3 + rows.used(CPU) // 500) % 5, 4)
        return ~refused


_PLUGINS = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: drf
  - name: predicates
  - name: proportion
"""

_NODE_ORDER = """\
  - name: nodeorder
    arguments: {{leastrequested.weight: {least}, mostrequested.weight: {most}, balancedresource.weight: {balanced}}}
"""

_BINPACK = """\
  - name: binpack
    arguments: {{binpack.weight: {weight}, binpack.cpu: {cpu}, binpack.resources: "nvidia.com/gpu, example.com/nic"}}
"""

WEIGHTINGS = {
    "none": _PLUGINS,
    "spread": _PLUGINS + _NODE_ORDER.format(least=1, most=0, balanced=0),
    "pack": _PLUGINS + _BINPACK.format(weight=5, cpu=1),
    "most": _PLUGINS + _NODE_ORDER.format(least=0, most=3, balanced=0),
    "balance": _PLUGINS + _NODE_ORDER.format(least=0, most=0, balanced=7),
    "cancel": _PLUGINS + _NODE_ORDER.format(least=1, most=1, balanced=0),
    "default": _PLUGINS + _NODE_ORDER.format(least=1, most=0, balanced=1) + _BINPACK.format(weight=1, cpu=1),
    "uneven": _PLUGINS + _NODE_ORDER.format(least=-2, most=0, balanced=3) + _BINPACK.format(weight=3, cpu=7),
    "whim": _PLUGINS + "  - name: whim\n",
    "mood": _PLUGINS + "  - name: whim\n  - name: mood\n" + _BINPACK.format(weight=1, cpu=1),
}


@cache
def weighted_program(name: str) -> Program:
    return program_of(WEIGHTINGS[name], [Whim, Mood])
