"""Preparations of members by plugins: all members of a gang side by side, the plugins of one member in their order.

Whoever prepares holds no worker: it may take minutes. When a plugin fails for a member, what the plugins before it did
for that member is taken back at once; the others keep what they have.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from stromboli.binding.plugins.plugin import Bind, BinderPlugin, PermanentFailure
from stromboli.binding.requests.decisions import BindProblem
from stromboli.binding.steps.step import StepFailed
from stromboli.kube.client.api_errors import RequestFailed

log = logging.getLogger("stromboli.binding")


class Preparations:
    """Asks the plugins, in their order. `at_a_time` members of one gang are prepared side by side."""

    def __init__(self, plugins: Sequence[BinderPlugin], *, at_a_time: int = 64) -> None:
        self._plugins = plugins
        self._max_parallel = max(at_a_time, 1)

    def applies_to(self, bind: Bind) -> bool:
        return any(self._applies_to(plugin, bind) for plugin in self._plugins)

    async def prepare(self, binds: Sequence[Bind]) -> dict[str, BindProblem]:
        """By uid, what went wrong."""
        turns = asyncio.Semaphore(self._max_parallel)

        async def one(bind: Bind) -> BindProblem | None:
            async with turns:
                return await self._prepare(bind)

        found = await asyncio.gather(*(one(bind) for bind in binds))
        return {bind.member.pod_uid: problem for bind, problem in zip(binds, found, strict=True) if problem}

    async def _prepare(self, bind: Bind) -> BindProblem | None:
        begun: list[BinderPlugin] = []
        for plugin in self._plugins:
            if not self._applies_to(plugin, bind):
                continue
            begun.append(plugin)
            problem = await _attempt(plugin, bind)
            if problem is not None:
                told = await self._take_back(bind, begun)
                return BindProblem("; ".join((problem.words, *told)), problem.is_final)
        return None

    async def after(self, bind: Bind) -> list[str]:
        """The pod is bound. What a plugin has to say against it is told."""
        told = []
        for plugin in self._plugins:
            if self._applies_to(plugin, bind):
                try:
                    await plugin.post_bind(bind)
                except Exception as error:
                    told.append(f"{plugin.name}: {_words(error)}")
        return told

    async def take_back(self, bind: Bind) -> list[str]:
        """Undo what was prepared, the last first; what could not be undone is told, and keeps none of the others."""
        return await self._take_back(bind, [each for each in self._plugins if self._applies_to(each, bind)])

    async def _take_back(self, bind: Bind, begun: Sequence[BinderPlugin]) -> list[str]:
        told = []
        for plugin in reversed(begun):
            try:
                await plugin.rollback(bind)
            except Exception as error:
                told.append(f"{plugin.name} could not be undone: {_words(error)}")
        return told

    def _applies_to(self, plugin: BinderPlugin, bind: Bind) -> bool:
        try:
            return plugin.applies_to(bind)
        except Exception:
            log.exception("plugin %s cannot say whether a bind concerns it; it is asked", plugin.name)
            return True


async def _attempt(plugin: BinderPlugin, bind: Bind) -> BindProblem | None:
    """A plugin that raises something of its own is a mistake in the plugin: told, and tried again like others."""
    try:
        await plugin.pre_bind(bind)
    except PermanentFailure as error:
        return BindProblem(str(error), is_final=True)
    except StepFailed as error:
        return BindProblem(str(error))
    except Exception as error:
        if not isinstance(error, RequestFailed):
            log.exception("plugin %s failed", plugin.name)
        return BindProblem(f"{plugin.name}: {_words(error)}")
    return None


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, (StepFailed, RequestFailed)) else f"{type(error).__name__}: {error}"
