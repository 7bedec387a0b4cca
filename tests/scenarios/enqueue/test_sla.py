"""No job waits longer than its SLA."""

from __future__ import annotations

from typing import Any

import pytest

from stromboli.core.config.configuration import ConfigurationError
from tests.testing.cases.case import Case, configuration, plugin
from tests.testing.manifests.builders import Facts, gang, group, namespace, nodes, running

AGREED = "volcano.sh/sla-waiting-time"


def agreeing(waiting_time: str = "", *others: Any, **switches: bool) -> str:
    """sla in a tier above the others."""
    own = plugin("sla", {"sla-waiting-time": waiting_time} if waiting_time else None, **switches)
    return configuration([own], [*(others or ("gang", "predicates"))])


def at(clock: str) -> str:
    return f"2026-03-01T{clock}:00Z"


#: The latest object of a cluster defines the current time.
NOON = {**namespace("clock"), "metadata": {"name": "clock", "uid": "clock", "creationTimestamp": at("12:00")}}


def waiting(name: str, since: str, agreed: str = "", count: int = 1, **facts: Any) -> Any:
    notes = {AGREED: agreed} if agreed else None
    return gang(count, name=name, created=at(since), notes=notes, **facts)


ONE = [NOON, nodes(1, 1)]

ORDER = [
    Case("the nearer deadline first", ONE, waiting("old", "10:00", "5h"), waiting("young", "11:00", "3h"),
         conf=agreeing(), binds="-a"),
    Case("the older of equal deadlines", ONE, waiting("young", "11:00", "2h"), waiting("old", "10:00", "3h"),
         conf=agreeing(), binds="-a"),
    Case("a job without an SLA comes last", ONE, waiting("old", "10:00"), waiting("young", "11:00", "100h"),
         conf=agreeing(), binds="-a"),
    Case("without any SLA: by age", ONE, waiting("young", "11:00"), waiting("old", "10:00"),
         conf=agreeing(), binds="-a"),
    Case("the default holds for jobs without their own", ONE, waiting("old", "10:00", "9h"),
         waiting("young", "11:00"), conf=agreeing("1h30m"), binds="-a"),
    Case("a job's own word counts first", ONE, waiting("old", "10:00", "1h"), waiting("young", "11:00"),
         conf=agreeing("30m"), binds="a-"),
    Case("the short name of the annotation", ONE, waiting("old", "10:00"),
         gang(1, name="young", created=at("11:00"), notes={"sla-waiting-time": "9h"}), conf=agreeing(), binds="-a"),
    Case("the long name counts first", ONE, waiting("old", "10:00", "3h"),
         gang(1, name="young", created=at("11:00"), notes={"sla-waiting-time": "1m", AGREED: "9h"}), conf=agreeing(),
         binds="a-"),
    Case("the switch", ONE, waiting("old", "10:00"), waiting("young", "11:00", "1h"),
         conf=agreeing(enableJobOrder=False), binds="a-"),
    Case("a job without a date came just now", ONE, gang(1, name="none", notes={AGREED: "1h"}),
         waiting("young", "11:00", "90m"), conf=agreeing(), binds="-a"),
    Case(
        "an invalid value is reported and ignored", ONE, waiting("old", "10:00"), waiting("young", "11:00", "soon"),
        conf=agreeing(), binds="a-",
        warnings=[
            f"PodGroup default/young: annotation {AGREED}: 'soon' is not a duration; "
            "write one such as 90s, 30m or 1h30m; it is ignored",
        ],
    ),
    Case("all units", ONE, waiting("old", "10:00", "2h1m"), waiting("young", "10:00", "2h30s500ms"),
         conf=agreeing(), binds="-a"),
]  # fmt: skip

LARGE: Facts = {"resources": {"cpu": 9}}
OVERCOMMIT = ("gang", "predicates", "overcommit")

ADMISSION = [
    Case("before the deadline others decide", NOON, nodes(1, 1), waiting("gang", "11:00", "2h", **LARGE),
         conf=agreeing("", *OVERCOMMIT), binds="-", phases={"gang": "Pending"}),
    Case("after it the job is admitted", NOON, nodes(1, 1), waiting("gang", "11:00", "30m", **LARGE),
         conf=agreeing("", *OVERCOMMIT), binds="a"),
    Case("to the second", NOON, nodes(1, 1), waiting("gang", "11:00", "1h", **LARGE),
         conf=agreeing("", *OVERCOMMIT), binds="a"),
    Case("a moment before", NOON, nodes(1, 1), waiting("gang", "11:00", "1h1ms", **LARGE),
         conf=agreeing("", *OVERCOMMIT), binds="-"),
    Case("a refusal in its own tier counts more", NOON, nodes(1, 1), waiting("gang", "11:00", "30m", **LARGE),
         conf=configuration("sla", *OVERCOMMIT), binds="-", phases={"gang": "Pending"}),
    Case("the switch of admission", NOON, nodes(1, 1), waiting("gang", "11:00", "30m", **LARGE),
         conf=agreeing("", *OVERCOMMIT, enableJobEnqueued=False), binds="-"),
    Case("an agreement for all", NOON, nodes(1, 1), waiting("gang", "11:00", **LARGE),
         conf=agreeing("59m", *OVERCOMMIT), binds="a"),
    Case("groups without pods, too", NOON, nodes(1, 1),
         group("gang", 1, created=at("11:00"), notes={AGREED: "1m"}, resources={"cpu": 9}),
         conf=agreeing("", *OVERCOMMIT), binds="", phases={"gang": "Inqueue"}),
]  # fmt: skip

TWO = [NOON, nodes(2, 1)]
SMALL = waiting("small", "11:59")

KEEPING = [
    Case("a gang that does not fit does not block others", TWO, waiting("large", "11:00", "2h", 3), SMALL,
         conf=agreeing(),
         binds="--- a"),
    Case("after its SLA it keeps what it finds", TWO, waiting("large", "11:00", "30m", 3), SMALL,
         conf=agreeing(), binds="--- -"),
    Case("no pod of it is bound before it is whole", TWO, waiting("large", "11:00", "30m", 3), conf=agreeing(),
         binds="---", cycles=2),
    Case("it starts when there is capacity", NOON, nodes(2, 1), running("a", releasing=True),
         waiting("large", "11:00", "30m", 2), SMALL, cycles=2, conf=agreeing(), binds="aa -"),
    Case("the switch of keeping", TWO, waiting("large", "11:00", "30m", 3), SMALL,
         conf=agreeing(enableJobPipelined=False), binds="--- a"),
]  # fmt: skip


@pytest.mark.parametrize("case", [*ORDER, *ADMISSION, *KEEPING], ids=str)
def test_sla(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("text", ["soon", "5", "1h 30m", "-5m", "0s", "1d", "9" * 65 + "s", "99999999h"])
def test_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"argument 'sla-waiting-time' of plugin 'sla': .* (duration|100 years)"
    ):
        Case("", nodes(1, 1), gang(1), binds="").plan(agreeing(text))
