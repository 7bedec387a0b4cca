"""The dashboard can be imported anywhere, and every panel has a description."""

from __future__ import annotations

from typing import Any

from tests.integration.deploy.expressions import dashboard

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


def panels() -> list[dict[str, Any]]:
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def test_it_belongs_to_no_data_source_in_particular() -> None:
    chosen = [variable for variable in dashboard()["templating"]["list"] if variable["type"] == "datasource"]
    assert [(variable["name"], variable["query"]) for variable in chosen] == [("datasource", "prometheus")]
    sources = [panel["datasource"] for panel in panels()]
    sources += [target["datasource"] for panel in panels() for target in panel["targets"]]
    assert [source for source in sources if source != DATASOURCE] == []


def test_one_can_choose_queue_and_instance() -> None:
    names = {variable["name"] for variable in dashboard()["templating"]["list"]}
    assert names == {"datasource", "job", "instance", "queue"}


def test_every_panel_follows_the_choice() -> None:
    ignoring = [
        (panel["title"], target["expr"])
        for panel in panels()
        for target in panel["targets"]
        if 'instance=~"$instance"' not in target["expr"]
        or ("queue_" in target["expr"] and 'queue_name=~"$queue"' not in target["expr"])
    ]
    assert ignoring == []


def test_every_panel_has_a_description() -> None:
    assert [panel["title"] for panel in panels() if not panel["description"].endswith(".")] == []
    titles = [panel["title"] for panel in panels()]
    assert len(titles) == len(set(titles))


def test_panels_have_numbers_and_places_of_their_own() -> None:
    everything = dashboard()["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    taken = [
        (column, line)
        for panel in everything
        for column in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for line in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(column for column, _ in taken) < 24
