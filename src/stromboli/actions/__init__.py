"""Actions: the steps of a cycle, one module each."""

from stromboli.actions.allocate import Allocate
from stromboli.actions.backfill import Backfill
from stromboli.actions.consolidate import Consolidate
from stromboli.actions.enqueue import Enqueue
from stromboli.actions.gangpreempt import GangPreempt
from stromboli.actions.gangreclaim import GangReclaim
from stromboli.actions.preempt import Preempt
from stromboli.actions.reclaim import Reclaim
from stromboli.actions.shuffle import Shuffle
from stromboli.actions.stalegang import StaleGang

ACTIONS = (
    Enqueue,
    Allocate,
    Backfill,
    Preempt,
    Reclaim,
    GangPreempt,
    GangReclaim,
    Shuffle,
    StaleGang,
    Consolidate,
)
