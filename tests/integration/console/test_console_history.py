"""Jobs of the past: those of other tenants are numbers that no condition changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stromboli.console.server.server import ConsoleServer
from stromboli.local.api_server.server import ApiServer
from tests.integration.console.conftest import ANA, EVE, ROOT, ConsoleClient, running_console
from tests.testing.histories import example_records, write_records

pytestmark = pytest.mark.only("embedded", because="roles of further users are those of the local server")


@pytest.fixture(scope="module")
def with_history(cluster: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleServer]:
    """The history has four jobs of `team-a`, and job `urgent` of `team-b`."""
    path: Path = tmp_path_factory.mktemp("history") / "history.db"
    write_records(str(path), *example_records())
    with running_console(cluster, history=str(path)) as server:
        yield server


@pytest.mark.parametrize(
    ("query", "own", "earlier"),
    [
        ("", ["finetune", "broken", "evaluate", "sweep"], 0),
        ("job=urgent", [], 0),
        ("job=absent", [], 0),
        ("queue=production", [], 0),
        ("namespace=team-b", [], 0),
        ("state=Failed", ["broken"], 0),
        ("limit=1", ["sweep"], 3),
        ("job=urgent&limit=1", [], 0),
    ],
)
async def test_condition_does_not_find_hidden_jobs(
    with_history: ConsoleServer, query: str, own: list[str], earlier: int
) -> None:
    found = await ConsoleClient(with_history, ANA).get(f"/api/history?{query}")
    assert ([job["name"] for job in found["jobs"]], found["earlier"]) == (own, earlier)
    assert found["hidden"] == {"Succeeded": 1}


async def test_people_see_what_their_rights_permit(with_history: ConsoleServer) -> None:
    everything = await ConsoleClient(with_history, ROOT).get("/api/history?job=urgent")
    assert ([job["name"] for job in everything["jobs"]], everything["hidden"]) == (["urgent"], {})
    nothing = await ConsoleClient(with_history, EVE).get("/api/history")
    assert (nothing["jobs"], sum(nothing["hidden"].values())) == ([], 5)


async def test_usage_names_only_queues_of_readable_jobs(with_history: ConsoleServer) -> None:
    everything = await ConsoleClient(with_history, ROOT).get("/api/queue-usage?since=0")
    assert {each["queue"] for each in everything["queues"]} >= {"default", "secret-queue"}
    own = await ConsoleClient(with_history, ANA).get("/api/queue-usage?since=0")
    assert [each["queue"] for each in own["queues"]] == ["default"]
    assert (own["since"], own["budgets"]) == (0, [])
    await ConsoleClient(with_history, ANA).get("/api/queue-usage?since=yesterday", status=400)


async def test_attempts_of_a_job_name_no_other_tenant(with_history: ConsoleServer) -> None:
    found = await ConsoleClient(with_history, ANA).get("/api/jobs/team-a/finetune/history")
    assert len(found["pods"]) == 8
    assert "other-namespace/1" in str(found)
    assert "team-b" not in str(found)
