"""The origin of an error: the plugin or action, with the file and line of its code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from types import CodeType, FrameType

from stromboli.core.config.action import Action
from stromboli.core.config.plugin import Plugin
from stromboli.core.config.rule_adapters import InvalidAnswer
from stromboli.core.search.node_rules import NodeFilter, NodeScorer

Frames = list[tuple[FrameType, int]]


def describe_error(error: BaseException, *, with_owner: bool = True) -> str:
    """Return the type and message of an error, with its origin: `ValueError: no (plugin green-power, green.py:21)`."""
    frames = list(_frames(error))
    culprit = _culprit(frames)
    where = _location(error, frames, culprit)
    owner = _title(frames, culprit) if with_owner else ""
    origin = ", ".join(part for part in (owner, where) if part)
    return f"{type(error).__name__}: {error}" + (f" ({origin})" if origin else "")


def _frames(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    """Return the frames of a traceback with their lines, the innermost last."""
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame, step.tb_lineno
        step = step.tb_next


def _culprit(frames: Frames) -> int | None:
    """Return the index of the innermost frame that is a method of a plugin, of one of its rules, or of an action."""
    owners = (Plugin, NodeFilter, NodeScorer, Action)
    found = (i for i in reversed(range(len(frames))) if isinstance(frames[i][0].f_locals.get("self"), owners))
    return next(found, None)


def _title(frames: Frames, culprit: int | None) -> str:
    if culprit is None:
        return ""
    owner = frames[culprit][0].f_locals["self"]
    return f"{'action' if isinstance(owner, Action) else 'plugin'} {owner.name}"


def _location(error: BaseException, frames: Frames, culprit: int | None) -> str:
    """Return the innermost line in the folder of the culprit's code; without a culprit, the innermost line of all."""
    if isinstance(error, InvalidAnswer) and error.code is not None:
        return _place(error.code, error.code.co_firstlineno)
    if not frames:
        return ""
    start = 0 if culprit is None else culprit
    folder = PurePath(frames[start][0].f_code.co_filename).parent
    near = [(f, n) for f, n in frames[start:] if culprit is None or PurePath(f.f_code.co_filename).parent == folder]
    frame, line = near[-1]
    return _place(frame.f_code, line)


def _place(code: CodeType, line: int) -> str:
    return f"{'/'.join(PurePath(code.co_filename).parts[-2:])}:{line}"
