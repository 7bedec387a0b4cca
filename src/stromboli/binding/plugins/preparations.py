"""Runs binder plugins for members of a gang: members in parallel, the plugins of one member in their order.

Preparations may take minutes and occupy no worker. When a plugin fails for a member, what the plugins before it did for
that member is rolled back at once; the other members keep what they have.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from stromboli.binding.plugins.plugin import BinderPlugin, PermanentFailure
from stromboli.binding.steps.step import StepFailed
from stromboli.core.model.tasks.placement import Placement
from stromboli.kube.client.api_errors import RequestFailed
from stromboli.kube.objects.pod import Pod

log = logging.getLogger("stromboli.binding")


@dataclass(frozen=True, slots=True)
class BindProblem:
    """The reason why a member is not bound; a final problem is not retried."""

    message: str
    is_final: bool = False


class Preparations:
    """Prepares up to `max_parallel` members of one gang at a time."""

    def __init__(self, plugins: Sequence[BinderPlugin], *, max_parallel: int = 64) -> None:
        self._plugins = plugins
        self._max_parallel = max(max_parallel, 1)

    def applies_to(self, placement: Placement) -> bool:
        return any(self._applies_to(plugin, placement) for plugin in self._plugins)

    def are_made_for(self, pod: Pod) -> bool:
        """Report whether a plugin finds a preparation for this pod."""
        return any(plugin.prepared_for(pod) for plugin in self._plugins)

    async def prepare(self, placements: Sequence[Placement], *, tolerated: int | None = None) -> dict[str, BindProblem]:
        """Prepare all members. Returns problems by uid; cancels the rest once more than `tolerated` members failed."""
        slots = asyncio.Semaphore(self._max_parallel)
        problems: dict[str, BindProblem] = {}
        running = {asyncio.ensure_future(self._prepare(each, slots)): each for each in placements}
        try:
            while running and (tolerated is None or len(problems) <= tolerated):
                finished, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                found = {running.pop(task).uid: task.result() for task in finished}
                problems |= {uid: problem for uid, problem in found.items() if problem is not None}
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        return problems

    async def _prepare(self, placement: Placement, slots: asyncio.Semaphore) -> BindProblem | None:
        started: list[BinderPlugin] = []
        async with slots:
            for plugin in self._plugins:
                if not self._applies_to(plugin, placement):
                    continue
                started.append(plugin)
                problem = await _attempt(plugin, placement)
                if problem is not None:
                    errors = await self._roll_back(placement, started)
                    return BindProblem("; ".join((problem.message, *errors)), problem.is_final)
        return None

    async def after_bind(self, placement: Placement) -> None:
        """Run `post_bind` of every plugin; errors are logged and change nothing."""
        for plugin in self._plugins:
            if self._applies_to(plugin, placement):
                try:
                    await plugin.post_bind(placement)
                except Exception as error:
                    facts = {"plugin": plugin.name, "pod": placement.key, "error": _message(error)}
                    log.warning("post_bind failed", extra=facts)

    def forget(self, placement: Placement) -> None:
        """Drop what plugins keep in memory for a bind whose outcome another process or the watches will show."""
        for plugin in self._plugins:
            if self._applies_to(plugin, placement):
                try:
                    plugin.forget(placement)
                except Exception:
                    log.exception("forget failed", extra={"plugin": plugin.name, "pod": placement.key})

    async def roll_back(self, placement: Placement) -> list[str]:
        """Undo preparations in reverse order. Returns the errors; one that fails does not stop the others."""
        return await self._roll_back(placement, [each for each in self._plugins if self._applies_to(each, placement)])

    async def _roll_back(self, placement: Placement, started: Sequence[BinderPlugin]) -> list[str]:
        errors = []
        for plugin in reversed(started):
            try:
                await plugin.rollback(placement)
            except Exception as error:
                errors.append(f"{plugin.name} could not be undone: {_message(error)}")
        return errors

    def _applies_to(self, plugin: BinderPlugin, placement: Placement) -> bool:
        try:
            return plugin.applies_to(placement)
        except Exception:
            facts = {"plugin": plugin.name, "pod": placement.key}
            log.exception("applies_to failed; the plugin runs for the pod", extra=facts)
            return True


async def _attempt(plugin: BinderPlugin, placement: Placement) -> BindProblem | None:
    """Run `pre_bind`. An exception of another type is a bug in the plugin: logged, and retried like any failure."""
    try:
        await plugin.pre_bind(placement)
    except PermanentFailure as error:
        return BindProblem(str(error), is_final=True)
    except StepFailed as error:
        return BindProblem(str(error))
    except Exception as error:
        if not isinstance(error, RequestFailed):
            log.exception("pre_bind failed", extra={"plugin": plugin.name, "pod": placement.key})
        return BindProblem(f"{plugin.name}: {_message(error)}")
    return None


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, (StepFailed, RequestFailed)) else f"{type(error).__name__}: {error}"
