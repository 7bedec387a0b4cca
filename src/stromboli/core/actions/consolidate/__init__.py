"""consolidate: move running pods closer together, so that a gang fits into what is free in sum.

Every moved pod has a place elsewhere, found in the same dry run and by the same rules. If the gang cannot be placed
that way, nothing is moved.

The modules: `action` orders the jobs; `search` finds for one job what to move; `relocation` lists what may be moved
for it; `pending_preemptions` finds what other actions evict soon; `pruning` takes back unnecessary moves; `report`
explains the result.
"""

from stromboli.core.actions.consolidate.action import Consolidate

__all__ = ["Consolidate"]
