"""consolidate: move running work closer together, so that a gang fits that would fit if what is free were in one place.

Nobody loses anything for good: whoever has to move is known to have a place elsewhere, found in the same dry run and by
the same rules. If the gang cannot be placed so, nobody is moved.

The parts: `action` takes turns; `moving` finds for one job what to move; `movable` knows what may be moved for it;
`housing` finds the new places; `pruning` spares who need not move; `telling` puts it into words.
"""

from stromboli.core.actions.consolidate.action import Consolidate

__all__ = ["Consolidate"]
