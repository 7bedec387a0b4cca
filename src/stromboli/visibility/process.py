"""One answer, calculated by `stromboli answer` in a process of its own: its time, its memory and its failures do not
affect the scheduler.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from stromboli.visibility.questions import VisibilityAnswer

MAX_SECONDS = 45.0
"""Below the minute for which an API server waits."""
_MAX_MEMORY = 4 << 30
#: Of cgroups v2 and v1.
_MEMORY_OF_CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_PARTS = 4
"""Two answers at a time leave half of the memory of the container to the scheduler."""
_PRIORITY = 5


class _Passed(VisibilityAnswer):
    """An answer whose result is only passed on."""

    result: msgspec.Raw = msgspec.Raw(b"null")


_DECODER = msgspec.json.Decoder(_Passed)


_log = logging.getLogger("stromboli.visibility")


class AnswerFailed(Exception):
    """The process failed, or took too long; the message is for the person who asked."""


class NotLeading(AnswerFailed):
    """Another replica can answer."""


class AnsweringProcess:
    """`command` is the command line without the path of the dump; `plugins` are those of the policy."""

    def __init__(
        self,
        history: str = "",
        plugins: Sequence[str] = (),
        *,
        command: Sequence[str] = (sys.executable, "-m", "stromboli", "answer"),
        seconds: float = MAX_SECONDS,
    ) -> None:
        self._history = history
        self._command = (*command, *(f"--plugin={reference}" for reference in plugins))
        self._seconds = seconds

    async def answer(self, question: msgspec.Struct, dump: Path) -> VisibilityAnswer:
        """Raises AnswerFailed, OSError."""
        process = await asyncio.create_subprocess_exec(
            *self._command, str(dump),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env=self._environment(dump),
        )  # fmt: skip
        try:
            limit_process(process.pid)
            output, errors = await asyncio.wait_for(process.communicate(msgspec.json.encode(question)), self._seconds)
        except TimeoutError as error:
            raise AnswerFailed(f"the answer takes longer than {self._seconds:g} s; ask about less") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            last = errors.decode(errors="replace").strip().rpartition("\n")[2]  # may name objects of others
            _log.error("answering process failed", extra={"code": process.returncode, "error": last[:300]})
            raise AnswerFailed("the answering process failed; the log of the server contains the cause")
        return _DECODER.decode(output)  # not the result, which may have millions of values

    def _environment(self, dump: Path) -> dict[str, str]:
        """Temporary files are in the folder of the dump, which is deleted with it: a killed process leaves them."""
        own = {"STROMBOLI_HISTORY": self._history, "OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(dump.parent)}
        return {**os.environ, **own}


def limit_process(pid: int) -> None:
    """Give a process a lower priority, limited memory, and the first place among those that are killed when memory
    runs out. What the system does not support stays as it is.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, _PRIORITY)
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        memory = _max_memory()
        resource.prlimit(pid, resource.RLIMIT_AS, (memory, memory))


def _max_memory() -> int:
    """Kubernetes ends all processes of a container when one of them exceeds its memory (memory.oom.group)."""
    for path in _MEMORY_OF_CONTAINER:
        with contextlib.suppress(OSError, ValueError):  # no such cgroup, or `max`
            return min(_MAX_MEMORY, int(path.read_text()) // _PARTS)
    return _MAX_MEMORY
