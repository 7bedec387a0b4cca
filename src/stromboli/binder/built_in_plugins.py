"""The plugins that every binder has, in their order."""

from __future__ import annotations

from stromboli.binder.claims.plugin import DynamicResources
from stromboli.binder.gpu_sharing.plugin import GpuSharingPlugin
from stromboli.binder.plugin import BinderPlugin
from stromboli.binder.volumes.plugin import Volumes

BUILT_IN: tuple[type[BinderPlugin], ...] = (Volumes, DynamicResources, GpuSharingPlugin)
