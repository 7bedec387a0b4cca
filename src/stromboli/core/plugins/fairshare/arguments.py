"""The arguments of fairshare."""

from __future__ import annotations

from collections.abc import Mapping

from stromboli.core.config.arguments import Argument, Arguments, PrefixArgument
from stromboli.core.model.usage.decay import UsageDecay, WindowForm
from stromboli.core.model.values.times import duration_or_nothing

_SLIDING, _TUMBLING = WindowForm.SLIDING.value, WindowForm.TUMBLING.value


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(","))))


class FairShareArguments(Arguments):
    half_life: float = Argument(
        "halfLife", "168h", "The time after which usage counts half; 0s for no decay.", parse=duration_or_nothing
    )
    window: float = Argument(
        "window", "0s", "The time outside of which usage does not count; 0s for none.", parse=duration_or_nothing
    )
    form: str = Argument(
        "windowForm",
        _SLIDING,
        "Whether the window moves with the time, or begins anew at its multiples.",
        choices=(_SLIDING, _TUMBLING),
    )
    strength: float = Argument("k", 1.0, "How strongly past usage changes the weights of queues.", minimum=0)
    billing: Mapping[str, float] = PrefixArgument(
        "billing.<resource>", 1.0, "The weight of a resource in the order; without any, the largest fraction counts.",
        minimum=0,
    )  # fmt: skip
    per_user: bool = Argument("perUser", False, "Whether users share their queue.")
    preempt_users: bool = Argument(
        "preemptUsers", False, "Whether `preempt` evicts pods of users beyond their part of the queue for the others."
    )
    limits_users: bool = Argument("limitUsers", False, "Whether the limits of users in annotations of queues apply.")
    groups: Mapping[str, tuple[str, ...]] = PrefixArgument(
        "group.<name>", "", "The users of a group, separated by commas.", parse=_names
    )

    @property
    def decay(self) -> UsageDecay:
        return UsageDecay(self.half_life, self.window, WindowForm(self.form))
