"""The plugins of every binder, in their order."""

from __future__ import annotations

from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.binding.steps.claims.plugin import DynamicResourcesPlugin
from stromboli.binding.steps.gpu_sharing.plugin import GpuSharingPlugin
from stromboli.binding.steps.volumes.plugin import VolumesPlugin

BUILT_IN: tuple[type[BinderPlugin], ...] = (VolumesPlugin, DynamicResourcesPlugin, GpuSharingPlugin)
