"""The plugins and actions that the command knows: built in, from installed packages, and named by a flag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stromboli.core.config.registry import Registry


def built_in_registry(extra: Sequence[str] = ()) -> Registry:
    """A registry with everything a configuration may name; `extra` are references `package.module:Class`.

    Raises RegistrationError when user code cannot be used. The core is imported here, and not with the
    module, so that asking the command for help does not wait for it.
    """
    from stromboli.core.actions import ACTIONS
    from stromboli.core.config.registry import Registry, load_entry_points, load_named
    from stromboli.core.plugins import PLUGINS

    registry = Registry(PLUGINS, ACTIONS)
    load_entry_points(registry)
    for reference in extra:
        load_named(registry, reference)
    return registry
