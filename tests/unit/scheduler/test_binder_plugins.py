"""Binder plugins in a scheduler that binds directly: their order, and kinds that only they watch."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from stromboli.binding.plugins.plugin import BinderPlugin
from stromboli.core.actions import ACTIONS
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.kube.client.client import Client
from stromboli.kube.objects.catalogue import CONFIG_MAPS
from stromboli.kube.objects.cluster import ConfigMap
from stromboli.kube.objects.meta import ObjectMeta, TopLevel
from stromboli.kube.objects.resources import Resource
from stromboli.scheduler.loop import Scheduler
from stromboli.scheduler.options import SchedulerOptions
from stromboli.scheduler.policy import ActivePolicy


class ConfigMapPlugin(BinderPlugin):
    """Records events of ConfigMaps, which the scheduler itself does not watch."""

    name = "config-maps"
    watches: ClassVar[tuple[Resource[Any], ...]] = (CONFIG_MAPS,)

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[str, bool]] = []

    def changed(self, entry: TopLevel, before: TopLevel | None) -> None:
        self.events.append((entry.metadata.resource_version or "", entry is before))


def scheduler_with(plugin: BinderPlugin, **options: Any) -> Scheduler:
    policy = ActivePolicy(Registry(PLUGINS, ACTIONS))
    return Scheduler(cast(Client, None), policy, SchedulerOptions(**options), binder_plugins=[plugin])


def config_map(version: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta("map", "default", "uid", resource_version=version))


async def test_package_plugins_follow_built_in_ones_in_direct_mode() -> None:
    names = [each.name for each in scheduler_with(ConfigMapPlugin()).plugins.plugins]
    assert names == ["volumes", "dynamic-resources", "gpusharing", "config-maps"]


async def test_request_mode_runs_no_binder_plugin() -> None:
    assert list(scheduler_with(ConfigMapPlugin(), bind_mode="request").plugins.plugins) == []


async def test_kind_of_a_plugin_is_watched_and_listed() -> None:
    plugin = ConfigMapPlugin()
    scheduler = scheduler_with(plugin)
    assert [each.resource for each in scheduler.watches.reflectors].count(CONFIG_MAPS) == 1
    view = plugin.context.view
    for version in ("2", "1", "3"):
        view.apply(config_map(version))
    assert plugin.events == [("2", False), ("3", False)]
    found = view.get(ConfigMap, "default/map")
    assert found is not None
    assert list(view.of_kind(ConfigMap)) == [found]
    scheduler.plugins.object_changed(found, found)
    assert view.get(ConfigMap, "default/map") is None
    assert plugin.events[-1] == ("3", True)
