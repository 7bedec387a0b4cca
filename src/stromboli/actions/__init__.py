"""Actions: the steps of a cycle, one module each."""

from stromboli.actions.allocate import Allocate
from stromboli.actions.backfill import Backfill
from stromboli.actions.enqueue import Enqueue

ACTIONS = (Enqueue, Allocate, Backfill)
