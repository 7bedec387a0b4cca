"""Logs hide secrets, keep one record per line, and a closed stream does no harm."""

from __future__ import annotations

import ast
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import stromboli
from stromboli.kube.client.redaction import redact, redact_value
from stromboli.observability.logs import SafeStreamHandler, set_up_logs

SOURCES = Path(stromboli.__file__).parent

CANARY = "c4n4ry-S3cret_0123456789"

SECRETS = {
    "header": f"Authorization: Bearer {CANARY}",
    "header with basic": f"authorization=Basic {CANARY}==",
    "header in a map": f"{{'Authorization': 'Bearer {CANARY}', 'Accept': '*/*'}}",
    "header in quoted JSON": f'{{\\"Authorization\\": \\"Bearer {CANARY}\\"}}',
    "bare bearer": f"sent bearer {CANARY} to the server",
    "password": f"password={CANARY}&user=me",
    "password in JSON": f'{{"password": "{CANARY} with spaces", "user": "me"}}',
    "token in YAML": f"users:\n- name: me\n  user:\n    token: {CANARY}\n",
    "client key": f"client-key-data: {CANARY}",
    "address": f"https://me:{CANARY}@example.com/path",
    "private key": f"-----BEGIN EC PRIVATE KEY-----\n{CANARY}\n-----END EC PRIVATE KEY-----",
    "half a private key": f"-----BEGIN PRIVATE KEY-----\n{CANARY}",
    "web token": f"got eyJhbGciOiJSUzI1NiJ9.{CANARY}.{CANARY}",
}


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS)
def test_secrets_do_not_pass(text: str) -> None:
    assert CANARY not in redact(text)
    assert "<redacted>" in redact(text)


ORDINARY = (
    "PodGroup team/train: 3/4 tasks in gang unschedulable: 0/5 nodes are available: 5 Insufficient cpu.",
    "bound team/train-0 to node-1 in 12 ms",
    "watch of pods.v1 ended: https://127.0.0.1:6443/api/v1/pods?watch=1",
    "the basic idea is to bear with it",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


def test_values_are_redacted_by_name_at_any_depth() -> None:
    shown = redact_value(
        {"metrics": {"elasticsearch": {"password": CANARY, "index": "i"}}, "list": [f"Bearer {CANARY}"]}
    )
    assert CANARY not in json.dumps(shown)
    assert shown["metrics"]["elasticsearch"]["index"] == "i"  # type: ignore[index]


@pytest.fixture(autouse=True)
def _restored_root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def logged(form: str, *arguments: object, level: str = "info", **options: object) -> str:
    stream = io.StringIO()
    set_up_logs(log_format=form, level=level, stream=stream)
    logging.getLogger("stromboli.test").warning(*arguments, **options)  # type: ignore[arg-type]
    return stream.getvalue()


def test_json_lines_hold_the_fields() -> None:
    line = logged("json", "bound %s", "team/a", extra={"node": "n1", "seconds": 0.5, "token": CANARY})
    entry = json.loads(line)
    assert line.count("\n") == 1
    assert (entry["level"], entry["logger"], entry["message"]) == ("warning", "stromboli.test", "bound team/a")
    assert (entry["node"], entry["seconds"], entry["token"]) == ("n1", 0.5, "<redacted>")
    assert entry["time"].endswith("Z")


def test_text_shows_the_fields() -> None:
    line = logged("text", "bound", extra={"node": "n1", "why": "two words"})
    assert line.endswith('WARNING stromboli.test: bound node=n1 why="two words"\n')


@pytest.mark.parametrize("form", ["text", "json"])
def test_log_line_cannot_be_forged(form: str) -> None:
    text = logged(form, "pod %s", "a\n2026-01-01T00:00:00.000Z ERROR root: pwned\r\x1b[31m\u2028", extra={"b": "x\ny"})
    assert text.count("\n") == 1
    assert "\x1b" not in text


def failing() -> None:
    raise ValueError(f"first\nAuthorization: Bearer {CANARY}\nERROR root: pwned")


@pytest.mark.parametrize("form", ["text", "json"])
def test_errors_are_logged_without_secrets(form: str) -> None:
    try:
        failing()
    except ValueError:
        text = logged(form, "it failed", exc_info=True)
    assert CANARY not in text
    assert "ValueError" in text
    assert all(line.startswith("    ") for line in text.splitlines()[1:])


def test_long_texts_are_cut() -> None:
    assert len(logged("text", "x" * 1_000_000)) < 20_000


def test_records_below_the_level_are_not_written() -> None:
    assert logged("text", "quiet", level="error") == ""


def test_invalid_logging_call_is_reported_and_does_no_harm() -> None:
    assert "cannot be formatted: TypeError" in logged("text", "%d pods", "many")


class ClosedPipe(io.StringIO):
    def write(self, text: str, /) -> int:
        raise BrokenPipeError("reader is gone")

    def flush(self) -> None:
        raise BrokenPipeError("reader is gone")


@pytest.mark.parametrize("stream", [ClosedPipe(), io.StringIO()], ids=["broken", "closed"])
def test_closed_log_stream_stops_nothing(stream: io.StringIO) -> None:
    if not isinstance(stream, ClosedPipe):
        stream.close()
    handler = set_up_logs(stream=stream)
    logging.getLogger("stromboli.test").error("hello")
    handler.flush()
    assert isinstance(handler, SafeStreamHandler)
    assert handler.lost >= 1


LOGGERS = ("log", "_log", "self._log")


def log_calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call of a logger in the package."""
    methods = {"debug", "info", "warning", "error", "exception", "critical", "log"}
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for call in ast.walk(ast.parse(text)) if "log." in text else ():
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in methods:
                logger = ast.unparse(call.func.value)
                yield from [(f"{path.relative_to(SOURCES)}:{call.lineno}", call)] if logger in LOGGERS else []


def test_log_messages_are_constant_and_facts_are_fields() -> None:
    calls = list(log_calls())
    assert len(calls) > 50
    for place, call in calls:
        message, *rest = (
            call.args[1:] if isinstance(call.func, ast.Attribute) and call.func.attr == "log" else call.args
        )
        assert isinstance(message, ast.Constant), place
        assert "%" not in str(message.value), place
        assert rest == [], place
        assert {keyword.arg for keyword in call.keywords} <= {"extra", "exc_info"}, place
