"""Results by class are dropped with the ledger they are valid for, also where the rule is not asked again."""

from __future__ import annotations

from typing import Any, cast

from stromboli.core.search.class_cache import ClassCache


class Ledger:
    """Stands for the ledger of a cycle."""


def test_results_are_kept_for_one_ledger() -> None:
    made: list[str] = []
    cache: ClassCache[str] = ClassCache(lambda task_class, _: made.append(cast(str, task_class)) or f"of {task_class}")
    first, second = cast(Any, Ledger()), cast(Any, Ledger())
    assert [cache.of(cast(Any, each), first) for each in "aba"] == ["of a", "of b", "of a"]
    assert cache.of(cast(Any, "a"), second) == "of a"
    assert made == ["a", "b", "a"]


def test_classes_are_released_with_the_ledger() -> None:
    cache: ClassCache[str] = ClassCache(lambda *_: "result")
    ledger = Ledger()
    cache.of(cast(Any, "a"), cast(Any, ledger))
    assert cache._kept
    del ledger
    assert not cache._kept
