"""Usage and budgets of queues: sums of the tree, and budgets of others that only count."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import cast

import pytest

from stromboli.console.access.rights import PersonRights
from stromboli.console.cache.cache import ConsoleCache
from stromboli.console.cache.frames import ConsoleFrames
from stromboli.console.documents.sessions import ConsoleRights
from stromboli.console.documents.usage import QueueUsages
from stromboli.console.views.history import HistoryReader
from stromboli.console.views.usage import budgets_in, families_of, queue_usages
from stromboli.console.views.view import PersonView
from stromboli.core.model.usage.budgets import BUDGETS
from stromboli.kube.client.client import Client
from stromboli.planner.live.installation import InstallationName
from tests.testing.cases.case import flattened, objects
from tests.testing.histories import START, example_records, write_records
from tests.testing.manifests.builders import gang, nodes, queue
from tests.testing.random_clusters.engine import default_program
from tests.testing.random_clusters.histories import cluster_of

_HOUR = 3600.0
_BUDGETS = (
    '[{"resource": "cpu", "hours": 1, "period": "day", "grace": 0.5}, '
    '{"resource": "cpu", "hours": 100, "user": "*"}, {"resource": "cpu", "hours": 100, "namespace": "*"}]'
)


def _view(*, everything: bool) -> PersonView:
    """A tree of which the history has queues, and a person of namespace `team-b`."""
    documents = [
        *nodes(4, 2), queue("company", annotations={BUDGETS: _BUDGETS}), queue("research", parent="company"),
        queue("production", parent="company"), queue("broken", annotations={BUDGETS: "[{"}), queue("hidden"),
        *gang(1, cpu=1, name="mine", namespace="team-b", queue="production"),
    ]  # fmt: skip
    cache = ConsoleCache(cast(Client, None), lambda text, source: default_program(), InstallationName())
    cache.cluster, cache.program = cluster_of(objects(flattened(documents))), default_program()
    frames = ConsoleFrames(cache, "stromboli.dev/user")
    frames.take()
    known = ConsoleRights(all_namespaces=everything, nodes=everything, all_queues=everything, policy=everything)
    rights = PersonRights(inf, known, {"team-b": True, "team-a": False})
    return PersonView(frames.instance, frames.current, cache.cluster, rights)


@pytest.fixture
def history(tmp_path: Path) -> HistoryReader:
    write_records(str(tmp_path / "history.db"), *example_records())
    return HistoryReader(str(tmp_path / "history.db"))


def _usages(view: PersonView, history: HistoryReader) -> QueueUsages:
    now = START + 3 * _HOUR
    return queue_usages(view, history.usage(START, now, budgets_in(view), families_of(view.frame.queues)))


def test_usage_of_a_parent_includes_its_children(history: HistoryReader) -> None:
    found = {each.queue: each.hours for each in _usages(_view(everything=True), history).queues}
    assert found["research"]["cpu"] > 0 < found["production"]["cpu"]
    assert found["company"]["cpu"] == pytest.approx(found["research"]["cpu"] + found["production"]["cpu"])
    assert found["hidden"] == {}


def test_budgets_have_a_state_for_each_holder(history: HistoryReader) -> None:
    found = _usages(_view(everything=True), history)
    of_all = [each for each in found.budgets if not each.user and not each.namespace]
    assert [(each.queue, each.limit, each.grace, each.state) for each in of_all] == [("company", 1.0, 0.5, "used up")]
    assert {each.user for each in found.budgets if each.user} >= {"ana", "ben"}
    assert {each.namespace for each in found.budgets if each.namespace} == {"team-a", "team-b"}
    assert found.hidden_budgets == 0


def test_budgets_of_others_are_counted(history: HistoryReader) -> None:
    everything, found = (_usages(_view(everything=each), history) for each in (True, False))
    assert [each.queue for each in found.queues] == ["company", "production"]
    assert {(each.user, each.namespace) for each in found.budgets} == {("", ""), ("", "team-b")}
    assert found.hidden_budgets == len(everything.budgets) - len(found.budgets) > 0
