"""The plugins that every binder has, in their order."""

from __future__ import annotations

from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.binding.steps.claims.plugin import DynamicResources
from stromboli.binding.steps.gpu_sharing.plugin import GpuSharingPlugin
from stromboli.binding.steps.volumes.plugin import Volumes

BUILT_IN: tuple[type[BinderPlugin], ...] = (Volumes, DynamicResources, GpuSharingPlugin)
