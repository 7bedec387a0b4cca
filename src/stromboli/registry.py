"""The registry of plugins and actions: built in, from installed packages, and from options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stromboli.core.config.registry import Registry


def built_in_registry(extra: Sequence[str] = ()) -> Registry:
    """Return a registry with all plugins and actions; `extra` are references `package.module:Class`.

    Raises RegistrationError for invalid user code. The core is imported here, and not with the module, so that
    `--help` does not wait for it.
    """
    from stromboli.core.actions import ACTIONS
    from stromboli.core.config.registry import Registry, load_entry_points, load_named
    from stromboli.core.plugins import PLUGINS

    registry = Registry(PLUGINS, ACTIONS)
    load_entry_points(registry)
    for reference in extra:
        load_named(registry, reference)
    return registry
