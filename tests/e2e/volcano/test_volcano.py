"""The situations of Volcano's end-to-end suites, with its configuration files and without a change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from _pytest.mark.structures import ParameterSet

from tests.e2e.volcano.cases import load_suite, suite_names
from tests.e2e.volcano.runner import running_case
from tests.e2e.volcano.world import World, running_world
from tests.testing.planes import fresh_plane


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """On a server of its own: controllers of Kubernetes would also act on what other tests left behind."""
    with fresh_plane() as plane:
        async with running_world(plane, tmp_path_factory.mktemp("volcano")) as running:
            yield running


def _cases() -> Iterator[ParameterSet]:
    for suite in suite_names():
        for case in load_suite(suite).cases:
            marks = [pytest.mark.only("real", because=case.needs_real)] if case.needs_real else []
            yield pytest.param(suite, case.name, id=f"{suite}/{case.name}", marks=marks)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("suite", "case"), list(_cases()))
async def test_situation_of_volcanos_suites(world: World, suite: str, case: str) -> None:
    async with running_case(world, suite, case) as runner:
        await runner.run()
