"""The controllers of the process by name, and the choice of those that run."""

from __future__ import annotations

PODGROUP, QUEUE, HYPERNODE, JOB = "podgroup", "queue", "hypernode", "job"
JOB_FLOW, JOB_TEMPLATE, CRON_JOB = "jobflow", "jobtemplate", "cronjob"

CONTROLLERS = (PODGROUP, QUEUE, HYPERNODE, JOB, JOB_FLOW, JOB_TEMPLATE, CRON_JOB)
ALL = "*"

#: Names of Volcano's controllers that differ in more than case and the suffix.
_VOLCANO = {"pg": PODGROUP}


def chosen_controllers(text: str) -> tuple[str, ...]:
    """Return the controllers of a list such as `*,-queue`, as kube-controller-manager reads it: `*` is all, a name adds
    one, a name with a minus removes one, and the first entry about one counts. Raises ValueError.
    """
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    named: dict[str, bool] = {}
    for entry in entries:
        if entry != ALL:
            named.setdefault(_name(entry.removeprefix("-")), not entry.startswith("-"))
    chosen = tuple(name for name in CONTROLLERS if named.get(name, ALL in entries))
    if not chosen:
        raise ValueError(f"{text!r} leaves no controller; write a list such as {ALL},-{QUEUE}")
    return chosen


def _name(text: str) -> str:
    plain = text.lower().removesuffix("-controller")
    name = _VOLCANO.get(plain, plain)
    if name not in CONTROLLERS:
        raise ValueError(f"controller {text[:64]!r} is unknown; known: {', '.join(CONTROLLERS)}")
    return name
