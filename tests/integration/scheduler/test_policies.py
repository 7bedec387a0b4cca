"""The policy changes while everything runs, or breaks in the middle of a cycle."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stromboli.core.actions import ACTIONS
from stromboli.core.config.registry import Registry
from stromboli.core.plugins import PLUGINS
from stromboli.scheduler.policy import ActivePolicy
from tests.testing.cases.case import configuration
from tests.testing.cases.probe_plugins import probe
from tests.testing.invariants import check
from tests.testing.manifests.builders import gang
from tests.testing.world import cpus, policy_of, running_cluster

#: Gangs are kept whole with one, and are not with the other.
WHOLE = configuration("priority", "gang", "predicates")
LOOSE = configuration("priority", "predicates")
BAD = "actions: allocate\ntiers:\n- plugins:\n  - name: gnag\n"


def read_from(path: Path) -> ActivePolicy:
    return ActivePolicy(Registry(PLUGINS, ACTIONS), str(path))


def replace_file(path: Path, text: str) -> None:
    """As an editor does it: the new file takes the place of the old one at once."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(path)


async def test_a_policy_takes_effect_when_its_file_changes_and_a_bad_one_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(WHOLE)
    async with running_cluster(cpus(1), bare=True, policy=read_from(file)) as world:
        program = world.policy.program
        replace_file(file, BAD)
        await world.until_true(lambda: "gnag" in world.policy.problem)
        assert world.policy.program is program, "the last good one stays"
        await world.create(gang(2, 4, name="first"))
        await world.until_condition("first", "Insufficient cpu")
        assert await world.bound() == []
        replace_file(file, LOOSE)
        await world.until_bound("first", 1)
        assert world.policy.problem == ""
        await check(world, torn=["first"])


async def test_problems_and_warnings_of_a_policy_are_events(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(WHOLE + "old-key: 1\n")
    async with running_cluster(cpus(1), bare=True, policy=read_from(file)) as world:
        await world.until_event("default", "unknown key 'old-key'", "ConfigurationWarning")
        replace_file(file, BAD)
        await world.until_event("default", "the last valid configuration stays", "ConfigurationRejected")
        await check(world)


async def test_a_config_map_that_is_exchanged_is_read_again(tmp_path: Path) -> None:
    """The files of a ConfigMap are links into a folder that is itself a link, and that one is exchanged."""
    for name, text in (("one", WHOLE), ("two", LOOSE)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.yaml").write_text(text)
    data, file = tmp_path / "..data", tmp_path / "policy.yaml"
    data.symlink_to("one")
    file.symlink_to("..data/policy.yaml")
    async with running_cluster(cpus(1), bare=True, policy=read_from(file)) as world:
        await world.create(gang(2, 4, name="gang"))
        await world.until_condition("gang", "Insufficient cpu")
        fresh = tmp_path / "..fresh"
        fresh.symlink_to("two")
        fresh.replace(data)
        await world.until_bound("gang", 1)
        await check(world, torn=["gang"])


BROKEN = {
    "misspelt": BAD,
    "cut off": WHOLE + "- plugins: [",
    "empty": "",
    "no text": "\x00\xff",
    "of another kind": "[1, 2, 3]",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
async def test_a_file_that_is_useless_keeps_the_last_good_policy(text: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(WHOLE)
    policy = read_from(file)
    program = policy.program
    replace_file(file, text)
    assert (policy.reload(), bool(policy.problem), policy.program is program) == (False, True, True)
    file.unlink()
    assert (policy.reload(), policy.program is program) == (False, True)
    assert "policy.yaml" in policy.problem
    replace_file(file, LOOSE)
    assert (policy.reload(), policy.problem) == (True, "")


async def test_many_changes_in_a_row_end_with_the_last(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(WHOLE)
    async with running_cluster(cpus(1), bare=True, policy=read_from(file)) as world:
        await world.create(gang(2, 4, name="gang"))
        for text in [BAD, WHOLE] * 10:
            replace_file(file, text)
            world.scheduler.trigger.notify()
            await world.cycles(1)
        assert await world.bound() == []
        replace_file(file, LOOSE)
        os.utime(file)
        await world.until_bound("gang", 1)
        await check(world, torn=["gang"])


# -- plugins ------------------------------------------------------------------------------------------------------

WITH_PROBE = configuration("priority", "gang", "predicates", "probe")


def only_bad(answer: Callable[[], Any]) -> Callable[..., Any]:
    """Answers so for pods that ask for 2 cpus; all others are welcome everywhere."""

    def predicate(self: Any, task_class: Any, rows: Any) -> Any:
        return answer() if dict(task_class.request)[0] == 2000 else np.ones(len(rows), dtype=bool)

    return predicate


def mistake() -> Any:
    raise ValueError("a mistake")


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "raises": (mistake, "ValueError: a mistake"),
    "answers with a text": (lambda: "yes", "must return one boolean per node"),
    "answers with nothing": (lambda: None, "must return one boolean per node"),
    "answers for too many nodes": (lambda: np.ones(99, dtype=bool), "must return one boolean per node"),
}


@pytest.mark.parametrize(("answer", "words"), MISTAKES.values(), ids=MISTAKES)
async def test_a_plugin_costs_only_the_job_about_which_it(answer: Callable[[], Any], words: str) -> None:
    async with running_cluster(
        cpus(1), bare=True, policy=policy_of(WITH_PROBE, probe(predicate=only_bad(answer)))
    ) as world:
        await world.create(gang(1, 2, name="bad"), gang(2, 1, name="good"))
        await world.until_bound("good", 2)
        await world.until_condition("bad", words)
        assert await world.bound("bad") == []
        await check(world)


async def test_a_plugin_that_breaks_the_cycle_costs_that_cycle() -> None:
    broken = True

    def opened(self: Any, session: Any) -> None:
        if broken:
            raise RuntimeError("cannot open")

    async with running_cluster(cpus(1), bare=True, policy=policy_of(WITH_PROBE, probe(open=opened))) as world:
        await world.create(gang(1, 1, name="gang"))
        turns = 0

        def on_iteration() -> None:
            nonlocal turns
            turns += 1

        world.scheduler.on_iteration = on_iteration
        await world.until_true(lambda: turns > 3)
        assert await world.bound() == []
        broken = False
        await world.until_bound("gang", 1)
        await check(world)


async def test_a_plugin_that_takes_its_time_holds_up_decisions_and_nothing_else() -> None:
    def slow(self: Any, task_class: Any, rows: Any) -> Any:
        time.sleep(0.3)
        return np.ones(len(rows), dtype=bool)

    async with running_cluster(cpus(1), bare=True, policy=policy_of(WITH_PROBE, probe(predicate=slow))) as world:
        await world.create(gang(2, 1, name="gang"))
        await world.until_bound("gang", 2)
        await world.until_phase("gang", "Running")
        await check(world)


async def test_a_plugin_cannot_change_what_it_is_shown() -> None:
    changed: list[str] = []

    def meddle(self: Any, task_class: Any, rows: Any) -> Any:
        for column in ("idle", "used", "allocatable"):
            try:
                getattr(rows, column)[:] = 0
                changed.append(column)
            except (AttributeError, TypeError, ValueError):
                continue
        return np.ones(len(rows), dtype=bool)

    async with running_cluster(cpus(1), bare=True, policy=policy_of(WITH_PROBE, probe(predicate=meddle))) as world:
        await world.create(gang(2, 1, name="gang"))
        await world.until_bound("gang", 2)
        await check(world)
    assert changed == []
