"""Actions: the steps of a scheduling cycle, one module or folder each."""

from stromboli.core.actions.allocate import Allocate
from stromboli.core.actions.backfill import Backfill
from stromboli.core.actions.consolidate import Consolidate
from stromboli.core.actions.enqueue import Enqueue
from stromboli.core.actions.gangpreempt import GangPreempt
from stromboli.core.actions.gangreclaim import GangReclaim
from stromboli.core.actions.preempt import Preempt
from stromboli.core.actions.reclaim import Reclaim
from stromboli.core.actions.relieve import Relieve
from stromboli.core.actions.shuffle import Shuffle
from stromboli.core.actions.stalegang import StaleGang

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
    Relieve,
)
