"""A refusal: its code, and a message with the numbers and names of the case."""

from collections.abc import Callable, Hashable

from stromboli.core.model.reasons.codes import Code, Remedy, RetryEvent
from stromboli.core.model.reasons.facts import CODES

#: The length of the short form of a reason: it fits beside the name of a job in 80 columns.
MAX_SHORT = 60


class Reason:
    """One refusal. `detail` is the message, with numbers and names; `short` fits a table cell.

    A function as `short` is called when the short form is read, so that reasons that are not read cost nothing. Reasons
    of one code are equal if they state the same `fact`, by default the same detail.
    """

    __slots__ = ("_short", "code", "detail", "fact")

    def __init__(
        self, code: Code, detail: str, *, short: str | Callable[[], str] = "", fact: Hashable | None = None
    ) -> None:
        self.code = code
        self.detail = detail
        self.fact = detail if fact is None else fact
        self._short = short

    def __str__(self) -> str:
        return self.detail

    def __repr__(self) -> str:
        return f"Reason({self.code!s}, {self.detail!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and (self.code, self.fact) == (other.code, other.fact)

    def __hash__(self) -> int:
        return hash((self.code, self.fact))

    @property
    def short(self) -> str:
        """Return one line of at most 60 characters: the text of the producer, else the detail if it fits, else the
        code's title with a part of the detail. For nodes ("node(s) were ...") it is the title alone.
        """
        own = self._short() if callable(self._short) else self._short
        if line := shortened_line(own):
            return line
        title = CODES[self.code].title
        if self.detail.startswith("node(s)"):
            return title
        return shortened_line(self.detail if 0 < len(self.detail) <= MAX_SHORT else f"{title}: {self.detail}")

    @property
    def has_own_short(self) -> bool:
        """Report whether the short form is not derived from the detail."""
        return bool(self._short)

    @property
    def remedy(self) -> Remedy:
        return CODES[self.code].remedy

    @property
    def retry_events(self) -> tuple[RetryEvent, ...]:
        return CODES[self.code].retry_events


def shortened_line(text: str, limit: int = MAX_SHORT) -> str:
    """Return the text as one line of at most `limit` characters, cut between words, not after the number of a list."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    kept = line[: limit - 2].rpartition(" ")[0].rstrip(" ,;:") or line[: limit - 3]
    head, _, item = kept.rpartition(", ")
    kept = head if head and item.isdigit() else kept
    return f"{kept[: limit - 3]}..."
