"""Captured log records as the text that a process writes, with their key=value facts."""

import pytest

from stromboli.observability.logs import TextFormatter

_FORMATTER = TextFormatter()


def log_text(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(map(_FORMATTER.format, caplog.records))
