"""Results by class are dropped with the ledger they are valid for, also where the rule is not asked again."""

from __future__ import annotations

from itertools import count
from typing import Any, cast

from stromboli.core.search.class_cache import ClassCache


class Ledger:
    """Stands for the ledger of a cycle."""


def test_results_are_kept_for_one_ledger() -> None:
    made = count()
    cache: ClassCache[int] = ClassCache(lambda *_: next(made))
    first, second = cast(Any, Ledger()), cast(Any, Ledger())
    assert [cache.of(cast(Any, each), first) for each in "aba"] == [0, 1, 0]
    assert cache.of(cast(Any, "a"), second) == 2


def test_classes_are_released_with_the_ledger() -> None:
    cache: ClassCache[str] = ClassCache(lambda *_: "result")
    ledger = Ledger()
    cache.of(cast(Any, "a"), cast(Any, ledger))
    assert cache._kept
    del ledger
    assert not cache._kept
