"""The plugins that every binder has, in their order."""

from __future__ import annotations

from stromboli.binder.plugin import BinderPlugin
from stromboli.binder.volumes_plugin import Volumes

BUILT_IN: tuple[type[BinderPlugin], ...] = (Volumes,)
