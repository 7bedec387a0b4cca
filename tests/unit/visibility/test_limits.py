"""What one person, and the people of one namespace, may ask at a time."""

from __future__ import annotations

import asyncio

import pytest

from stromboli.visibility.limits import QuestionLimits, TooManyQuestions


class Desk:
    """Questions that stay open until they are answered."""

    def __init__(self, limits: QuestionLimits) -> None:
        self._limits = limits
        self.working: list[str] = []
        self.answered = asyncio.Event()

    async def ask(self, person: str, namespace: str = "") -> None:
        """Without a namespace it is one of the person alone."""
        async with self._limits.slot(person, namespace or f"namespace-of-{person}"):
            self.working.append(person)
            await self.answered.wait()
            self.working.remove(person)


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_many_questions_of_one_person_do_not_delay_another() -> None:
    desk = Desk(QuestionLimits(concurrent=2, per_person=4))
    tasks = [asyncio.create_task(desk.ask("a")) for _ in range(4)]
    await turns()
    assert desk.working == ["a"]
    tasks.append(asyncio.create_task(desk.ask("b")))
    await turns()
    assert sorted(desk.working) == ["a", "b"]
    with pytest.raises(TooManyQuestions, match="4 questions of this person are open already"):
        await desk.ask("a")
    desk.answered.set()
    await asyncio.gather(*tasks)
    await desk.ask("a")


async def test_accounts_of_one_namespace_do_not_delay_another_namespace() -> None:
    desk = Desk(QuestionLimits(concurrent=2, per_namespace=3))
    tasks = [asyncio.create_task(desk.ask(f"robot-{number}", "team-a")) for number in range(3)]
    await turns()
    assert desk.working == ["robot-0"]
    tasks.append(asyncio.create_task(desk.ask("b", "team-b")))
    await turns()
    assert desk.working == ["robot-0", "b"]
    with pytest.raises(TooManyQuestions, match="3 questions of this namespace are open already"):
        await desk.ask("robot-3", "team-a")
    desk.answered.set()
    await asyncio.gather(*tasks)
    await desk.ask("robot-3", "team-a")


async def test_questions_of_all_are_limited() -> None:
    desk = Desk(QuestionLimits(concurrent=1, per_person=2, waiting=2))
    tasks = [asyncio.create_task(desk.ask(person)) for person in "ab"]
    await turns()
    with pytest.raises(TooManyQuestions, match="too many questions"):
        await desk.ask("c")
    tasks[1].cancel()
    await turns()
    tasks.append(asyncio.create_task(desk.ask("c")))
    await turns()
    desk.answered.set()
    await asyncio.gather(*tasks, return_exceptions=True)
