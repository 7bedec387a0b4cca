"""Says in the log which kinds cannot be followed, and when they can be again."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from stromboli.kube.watch.reflector import Reflector

log = logging.getLogger("stromboli.watches")


class WatchLog:
    """Remembers what was said, so that everything is said once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def tell(self, reflectors: Iterable[Reflector[Any]]) -> None:
        behind = {each.resource.name: each for each in reflectors if each.problem}
        for words in group_by_problem(each for name, each in behind.items() if name not in self._told):
            log.warning("cannot follow %s", words)
        if again := sorted(self._told - set(behind)):
            log.info("can follow again: %s", ", ".join(again))
        self._told = set(behind)


def group_by_problem(reflectors: Iterable[Reflector[Any]]) -> list[str]:
    """Every problem once, behind the names of those that have it."""
    names: dict[str, list[str]] = {}
    for reflector in reflectors:
        if reflector.problem:
            problem = reflector.problem.removeprefix(f"GET {reflector.resource.path()}: ")
            names.setdefault(problem, []).append(reflector.resource.name)
    return [f"{', '.join(those)}: {problem}" for problem, those in names.items()]
