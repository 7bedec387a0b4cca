"""Logs: one line per record, as text or JSON, without secrets and without forged lines.

A record has a constant message and facts in `extra`, which become key=value: `log.warning("watch failed",
extra={"error": error})`. Values may come from untrusted objects: control characters are escaped, credentials are
redacted, and long values are cut. A log that cannot be written (a closed pipe, a full disk) does not stop the process:
records are dropped and counted.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO

from stromboli.kube.client.redaction import REDACTED, is_sensitive, redact

FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")

_MAX_TEXT = 16 * 1024
_MAX_FIELDS = 64
#: Attributes of every record; all others come from `extra`.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
#: Libraries that log every request at INFO.
_VERBOSE_LIBRARIES = ("aiohttp.access", "asyncio")


def escape(text: str) -> str:
    """Return the text on one line, without terminal control characters."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def _clean(value: object) -> str:
    """Return a value as text without secrets, cut to a maximum length."""
    text = str(value)
    if len(text) > _MAX_TEXT:
        text = f"{text[:_MAX_TEXT]}… ({len(text) - _MAX_TEXT} more characters)"
    return redact(text)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields = [(key, value) for key, value in vars(record).items() if key not in _STANDARD][:_MAX_FIELDS]
    return {key: REDACTED if is_sensitive(key) else _plain(value) for key, value in fields}


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float) else _clean(value)


def _timestamp(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Formatter(logging.Formatter):
    def _traceback(self, record: logging.LogRecord) -> str:
        """Return the traceback of the record's error, if any."""
        parts = [self.formatException(record.exc_info)] if record.exc_info else []
        parts += [record.stack_info] if record.stack_info else []
        return _clean("\n".join(parts)) if parts else ""


class JsonFormatter(_Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "time": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _clean(record.getMessage()),
        }
        entry |= {key: value for key, value in _fields(record).items() if key not in entry}
        if traceback_text := self._traceback(record):
            entry["error"] = traceback_text
        return json.dumps(entry, default=str)


class TextFormatter(_Formatter):
    """Time, level, logger, message and fields; a traceback follows, indented."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {key}={_quoted(value)}" for key, value in _fields(record).items())
        message = escape(_clean(record.getMessage()))
        line = f"{_timestamp(record)} {record.levelname:<7} {record.name}: {message}{fields}"
        traceback_text = "".join(f"\n    {escape(part)}" for part in self._traceback(record).splitlines())
        return line + traceback_text


def _quoted(value: object) -> str:
    text = escape(str(value))
    return json.dumps(text, ensure_ascii=False) if not text or " " in text or '"' in text else text


class SafeStreamHandler(logging.StreamHandler[TextIO]):
    """Writes records, and never raises when that fails."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        #: The number of records that were not written.
        self.lost = 0

    def format(self, record: logging.LogRecord) -> str:
        """Replace a record that cannot be formatted by a record of that error."""
        try:
            return super().format(record)
        except Exception as error:
            record_fields = {
                "msg": "a record from %s:%s cannot be formatted: %s",
                "levelname": "ERROR",
                "name": record.name,
            }
            fields = {"args": (record.pathname, record.lineno, type(error).__name__), "created": record.created}
            return super().format(logging.makeLogRecord({**record_fields, **fields}))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        self.lost += 1

    def flush(self) -> None:
        try:
            super().flush()
        except (OSError, ValueError):
            self.lost += 1


def set_up_logs(*, log_format: str = "text", level: str = "info", stream: TextIO | None = None) -> SafeStreamHandler:
    """Make this the only log of the process; the result counts lost records."""
    formatters: Mapping[str, type[_Formatter]] = {"json": JsonFormatter, "text": TextFormatter}
    handler = SafeStreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(formatters[log_format]())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _VERBOSE_LIBRARIES:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    return handler
