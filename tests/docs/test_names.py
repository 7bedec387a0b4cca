"""Commands, options, metrics, log lines and codes in the pages exist."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from stromboli.admission.metrics import AdmissionMetrics
from stromboli.binding.requests.metrics import BinderMetrics
from stromboli.cli import main
from stromboli.controllers.jobs.plugins.registry import BUILT_IN
from stromboli.controllers.metrics import ControllerMetrics
from stromboli.core.model.reasons import Code
from stromboli.observability.metrics.scheduler import SchedulerMetrics
from stromboli.scheduler.reporting import announcer, patches

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Decisions describe their time; all other pages describe this version.
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
    if path.parent.name != "adr" and path.name != "CHANGELOG.md"
}
EVERY_PAGE = pytest.mark.parametrize("text", PAGES.values(), ids=PAGES)
GUIDES = {name: text for name, text in PAGES.items() if name.startswith(("docs/troubleshooting/", "docs/tutorials/"))}

_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]+)`")
_COMMAND = re.compile(r"(?:^|[$|`] ?|^ {8})stromboli ([a-z-][^|`\n]*)", re.MULTILINE)

#: Options of kubectl, docker, operators and benchmarks.
OF_OTHERS = {
    "--server-side", "--validate", "--ignore-not-found", "--sort-by", "--build-arg", "--gang-scheduler-name",
    "--gang-scheduling", "--batch-scheduler", "--enable-batch-scheduler", "--queues", "--runs",
    "--situation",
}  # fmt: skip
#: Arguments of job plugins, also one of an earlier version of Volcano, and one of the example.
OF_JOB_PLUGINS = {
    f"--{name}" for plugin in BUILT_IN for flag in plugin.flags for name in (flag.name, *flag.aliases)
} | {"--no-root", "--slots", "--name"}
#: Terms of Kubernetes and of Volcano.
OF_KUBERNETES = {
    "CrashLoopBackOff", "OOMKilled", "Terminating", "SchedulingGated", "AlwaysAllow", "PodScheduled", "SchedulerError",
    "NotEnoughResources", "Pending", "Inqueue", "Insufficient", "Schedulable",
}  # fmt: skip


def alerts() -> set[str]:
    groups = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text(encoding="utf-8"))["groups"]
    return {rule["alert"] for group in groups for rule in group["rules"]}


def known_words() -> set[str]:
    events = set(re.findall(r'reason="(\w+)"', inspect.getsource(announcer)))
    return {code.value for code in Code} | events | alerts() | OF_KUBERNETES | {patches.BIND_STUCK}


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command at the start of the words, and the remaining words."""
    command: click.Command = main
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"there is no command {words[0]}"
        command, words = found, words[1:]
    return command, words


def options_of(command: click.Command) -> set[str]:
    parameters = [*command.params, *([command.get_help_option(click.Context(command))] if command.name else [])]
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option)]
    return {name for option in options for name in (*option.opts, *option.secondary_opts)}


def all_options(command: click.Command = main) -> Iterator[str]:
    yield from options_of(command)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from all_options(child)


@EVERY_PAGE
def test_commands_exist_with_these_options(text: str) -> None:
    for line in _COMMAND.findall(text.replace("\\\n", " ")):
        command, words = command_of(shlex.split(line))
        own = words[: words.index("--")] if "--" in words else words  # what follows is the command of a job
        given = {word.partition("=")[0] for word in own if word.startswith("-") and word != "-"}
        assert given - options_of(command) == set(), line


@EVERY_PAGE
def test_options_exist(text: str) -> None:
    named = {
        word.split()[0].partition("=")[0] for word in _INLINE.findall(_FENCE.sub("", text)) if re.match("--[a-z]", word)
    }
    assert named - set(all_options()) - OF_OTHERS - OF_JOB_PLUGINS == set()


@EVERY_PAGE
def test_metrics_exist(text: str) -> None:
    processes = (SchedulerMetrics(), AdmissionMetrics(), BinderMetrics(), ControllerMetrics())
    families = {family.name for each in processes for family in each.registry.collect()}
    named = {name.removesuffix("_total") for name in re.findall(r"\b(?:stromboli|volcano)_[a-z_]+[a-z]\b", text)}
    assert named - families == set()


@pytest.mark.parametrize("text", GUIDES.values(), ids=GUIDES)
def test_reasons_events_and_alerts_exist(text: str) -> None:
    words = {word for word in _INLINE.findall(_FENCE.sub("", text)) if re.fullmatch(r"(?:[A-Z][a-z]+){2,}", word)}
    assert words - known_words() == set()


def logged() -> Iterator[str]:
    """Yield the log messages of the package as patterns, with placeholders for values."""
    for path in (ROOT / "src" / "stromboli").rglob("*.py"):
        for part in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(part, ast.Call) and part.args and isinstance(message := part.args[0], ast.Constant):
                is_logged = ast.unparse(part.func).startswith(("log.", "_log.", "self._log."))
                if is_logged and re.search(r"[a-z]{3}", str(message.value)):
                    yield re.sub(r"%[sdr]", ".+", re.escape(str(message.value)).replace("\\%", "%"))


@functools.cache
def patterns() -> list[re.Pattern[str]]:
    return [re.compile(rf"{pattern}(?: \w+=.*)?") for pattern in logged()]


@EVERY_PAGE
def test_log_lines_exist(text: str) -> None:
    for line in re.findall(r"^(?:INFO|WARNING|ERROR) +stromboli\.\w+: (.+)$", text, re.MULTILINE):
        assert any(pattern.fullmatch(line) for pattern in patterns()), line


def test_index_links_every_page() -> None:
    index = PAGES["docs/troubleshooting/index.md"]
    rows = re.findall(r"^\| .+ \| \[.+\]\(([\w-]+\.md)\) \|$", index, re.MULTILINE)
    assert sorted([*rows, "index.md"]) == sorted(path.name for path in (DOCS / "troubleshooting").glob("*.md"))


WRONG = {
    "a command": (test_commands_exist_with_these_options, "```\n$ stromboli unknown\n```"),
    "its option": (test_commands_exist_with_these_options, "see `stromboli replay FILE --backwards`"),
    "an option": (test_options_exist, "raise `--unknown-period`"),
    "a metric": (test_metrics_exist, "`stromboli_unknown_total` grows"),
    "a line of the log": (
        test_log_lines_exist,
        "```\nERROR   stromboli.policy: an unknown message\n```",
    ),
    "a reason": (test_reasons_events_and_alerts_exist, "the reason `QueueImaginary`"),
}


@pytest.mark.parametrize(("check", "text"), WRONG.values(), ids=WRONG)
def test_unknown_names_are_found(check: object, text: str) -> None:
    assert callable(check)
    with pytest.raises(AssertionError):
        check(text)
