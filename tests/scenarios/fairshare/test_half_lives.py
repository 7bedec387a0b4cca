"""The half-life of a tree of queues: that of its top queue, of the root queue, or of the argument."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from stromboli.core.model.usage.queue_annotations import HALF_LIFE
from tests.scenarios.fairshare.test_fairshare import ShareCase, jobs, owner
from tests.testing.manifests.builders import node, queue

Notes = Mapping[str, str]
#: Usage that ended an hour ago counts without decay, and not at all with a brief half-life.
BRIEF, NONE, NOTHING = {HALF_LIFE: "1s"}, {HALF_LIFE: "0s"}, dict[str, str]()
EQUAL, RIGHT = {"left": 5, "right": 5}, {"right": 10}


def case(
    name: str,
    started: Mapping[str, int],
    *,
    root: Notes = NOTHING,
    left: Notes = NOTHING,
    argument: str = "0s",
    parent: str = "",
) -> ShareCase:
    """Two queues that want the whole cluster; one, with these annotations, has used it. A large k favours the other."""
    above = [queue(parent)] if parent else []
    world = [
        node("a", 10), queue("root", annotations=root), *above, queue("right"),
        queue("left", annotations=left, parent=parent or None), jobs(10, "left"), jobs(10, "right"),
    ]  # fmt: skip
    arguments = {"halfLife": argument, "k": 20}
    return ShareCase(name, world, started, past={("left", ""): {"cpu": 10}}, arguments=arguments)


CASES = [
    case("the argument alone", RIGHT),
    case("that of the top queue", EQUAL, left=BRIEF),
    case("that of the root queue", EQUAL, root=BRIEF),
    case("that of the top queue precedes that of the root", RIGHT, root=BRIEF, left=NONE),
    case("that of a queue below does not count", RIGHT, left=BRIEF, parent="above"),
    case("no decay", RIGHT, root=NONE, argument="1s"),
]


@pytest.mark.parametrize("each", CASES, ids=str)
def test_half_life_of_a_tree(each: ShareCase) -> None:
    decisions = each.session().decisions
    assert (
        dict(Counter(owner(placement.job) for statement in decisions.binds for placement in statement)) == each.started
    )


def test_half_life_below_the_top_is_reported() -> None:
    session = case("", {}, left=BRIEF, parent="above").session()
    assert session.warnings == [
        f"Queue left: annotation {HALF_LIFE}: the half-life of a tree of queues is that of its top queue, or of the "
        "root queue; it is ignored"
    ]


def test_invalid_half_life_is_reported_and_does_not_count() -> None:
    session = case("", {}, root={HALF_LIFE: "soon"}).session()
    assert session.warnings == [
        f"Queue root: annotation {HALF_LIFE}: 'soon' is not a duration; write one such as 90s, 30m or 1h30m; "
        "it is ignored"
    ]
