"""Logs which watches fail, and when they recover."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from stromboli.kube.watch.reflector import Reflector

log = logging.getLogger("stromboli.watches")


class WatchLog:
    """Logs every failure and every recovery once."""

    def __init__(self) -> None:
        self._failed: set[str] = set()

    def update(self, reflectors: Iterable[Reflector[Any]]) -> None:
        failed = {each.resource.name: each for each in reflectors if each.problem}
        for problem, names in _by_problem(each for name, each in failed.items() if name not in self._failed).items():
            log.warning("watch failed", extra={"resources": ",".join(names), "error": problem})
        if recovered := sorted(self._failed - set(failed)):
            log.info("watch recovered", extra={"resources": ",".join(recovered)})
        self._failed = set(failed)


def group_by_problem(reflectors: Iterable[Reflector[Any]]) -> list[str]:
    """Describe every problem once, after the names of the resources that have it."""
    return [f"{', '.join(names)}: {problem}" for problem, names in _by_problem(reflectors).items()]


def _by_problem(reflectors: Iterable[Reflector[Any]]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for reflector in reflectors:
        if reflector.problem:
            problem = reflector.problem.removeprefix(f"GET {reflector.resource.path()}: ")
            names.setdefault(problem, []).append(reflector.resource.name)
    return names
