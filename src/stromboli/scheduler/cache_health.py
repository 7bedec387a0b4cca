"""Whether the books can be trusted: they are checked now and then, and what is wrong twice is not trusted again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

#: Books that are wrong again within this time are wrong for a reason that will not go away by itself.
WINDOW = 600.0


class CacheUnrecoverable(RuntimeError):
    """The books were wrong, were made anew, and are wrong again. It is better to stop than to go on."""


class CacheHealth:
    """`distrust` is called when the books are found wrong, to dump the state and to make the books anew."""

    def __init__(self, distrust: Callable[[Sequence[str]], None], clock: Callable[[], float]) -> None:
        self._rebuild_cache = distrust
        self._clock = clock
        self._last: float | None = None
        #: How often the books were found wrong.
        self.losses = 0

    def lose(self, findings: Sequence[str]) -> None:
        """The books are wrong. Raises Untrustworthy if they were so a short while ago."""
        self.losses += 1
        self._rebuild_cache(findings)
        now = self._clock()
        if self._last is not None and now - self._last < WINDOW:
            raise CacheUnrecoverable(
                f"the books are wrong again, {now - self._last:.0f} s after they were made anew: {findings[0]}"
            )
        self._last = now
