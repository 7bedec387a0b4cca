"""Processes that answer: their limits, and what they leave behind."""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from stromboli.visibility import process as answering
from stromboli.visibility.process import AnswerFailed, AnsweringProcess
from stromboli.visibility.questions import Question

QUESTION = Question("jobs", "team-a")
LEAVES = "import tempfile, sys; tempfile.mkdtemp(prefix='left-'); print('secret of team-b', file=sys.stderr); "
LIMIT = "import json, resource, sys, time; time.sleep(0.2); print(json.dumps({'result': resource.getrlimit(9)[0]}))"


def process(code: str, *, seconds: float = 30.0) -> AnsweringProcess:
    return AnsweringProcess(command=(sys.executable, "-c", code), seconds=seconds)


def written(folder: Path) -> Path:
    """Return the path of a dump in a folder of its own."""
    path = folder / "dump" / "snapshot.json.gz"
    path.parent.mkdir()
    path.touch()
    return path


async def test_files_of_a_killed_process_are_in_the_folder_of_the_dump(tmp_path: Path) -> None:
    dump = written(tmp_path)
    before = set(Path(tempfile.gettempdir()).glob("left-*"))
    with pytest.raises(AnswerFailed, match="takes longer than 1 s"):
        await process(f"{LEAVES} sys.stdin.read(); import time; time.sleep(60)", seconds=1.0).answer(QUESTION, dump)
    assert len(list(dump.parent.glob("left-*"))) == 1
    assert set(Path(tempfile.gettempdir()).glob("left-*")) == before


async def test_cause_of_a_failure_is_logged_and_not_answered(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(AnswerFailed) as failed:
        await process(f"{LEAVES} sys.exit(3)").answer(QUESTION, written(tmp_path))
    assert str(failed.value) == "the answering process failed; the log of the server contains the cause"
    [record] = caplog.records
    assert (record.__dict__["code"], record.__dict__["error"]) == (3, "secret of team-b")


MEMORY = {
    "container": ("2147483648\n", 512 << 20),
    "large container": (f"{64 << 30}\n", 4 << 30),
    "container without a limit": ("max\n", 4 << 30),
    "no container": (None, 4 << 30),
}


@pytest.mark.parametrize("case", MEMORY)
async def test_memory_is_a_quarter_of_that_of_the_container(
    tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, limit = MEMORY[case]
    if text is not None:
        (tmp_path / "memory.max").write_text(text)
    monkeypatch.setattr(answering, "_MEMORY_OF_CONTAINER", (tmp_path / "memory.max",))
    answer = await process(LIMIT).answer(QUESTION, written(tmp_path))
    assert json.loads(msgspec.json.encode(answer))["result"] == limit


async def test_result_is_passed_on_without_being_decoded(tmp_path: Path) -> None:
    code = 'print(\'{"exitCode": 3, "result": {"jobs": [1, 2]}}\')'
    answer = await process(code).answer(QUESTION, written(tmp_path))
    assert bytes(answer.result) == b'{"jobs": [1, 2]}'
    assert json.loads(msgspec.json.encode(answer))["result"] == {"jobs": [1, 2]}
    assert answer.exit_code == 3
