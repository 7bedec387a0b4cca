"""The documentation is complete: extension points, arguments, options, labels and events."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from benchmarks.workloads import WORKLOADS
from stromboli.binding.recovery import COMMIT, DECIDED
from stromboli.cli import main
from stromboli.cli.options.ignored_flags import IGNORED
from stromboli.controllers import hypernode_controller
from stromboli.controllers.queue_state import CLOSED_BY_PARENT
from stromboli.core.actions import ACTIONS
from stromboli.core.config.action import Action
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.core.config.extension_points import EXTENSION_POINTS, SWITCHES, ExtensionPoint
from stromboli.core.config.plugin import Plugin
from stromboli.core.plugins import PLUGINS
from stromboli.kube.objects.timestamps import RUN_SECONDS
from stromboli.local.fakes.kubelet.pod_lifecycle import EXIT_CODE, START_SECONDS, STOP_SECONDS
from stromboli.local.fakes.kubelet.simulated_nodes import RACK, READY, SIMULATED
from stromboli.scheduler.reporting import announcer
from stromboli.workloads.plain_groups import MIN_MEMBER, TOPOLOGY_MODE, TOPOLOGY_TIER
from stromboli.workloads.queues import QUEUE_NAMES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def read(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """Return the text below a heading, up to the next one of the same or a higher level; empty if there is none."""
    found = re.search(rf"^(#+) {re.escape(title)}$(.*?)(?=^\1 |^#{{1,2}} |\Z)", text, re.DOTALL | re.MULTILINE)
    return found[2] if found else ""


# -- extension points -------------------------------------------------------------------------------------------------


def signature_of(name: str) -> str:
    """Return the signature as in the source; `inspect` quotes postponed annotations."""
    return f"def {name}{inspect.signature(getattr(Plugin, name))}".replace("'", "")


@pytest.mark.parametrize("point", EXTENSION_POINTS, ids=lambda point: point.name)
def test_extension_points_are_documented_with_signature_rule_and_switches(point: ExtensionPoint) -> None:
    text = section(read("extension-points.md"), point.name)
    assert signature_of(point.name) in text
    assert f"* Rule: {point.rule.value}.\n" in text
    assert f"* Switch: {f'`{point.switch}`' if point.switch else 'none'}" in text


def test_no_unknown_extension_point_is_documented() -> None:
    documented = re.findall(r"^### (\w+)$", read("extension-points.md"), re.MULTILINE)
    assert sorted(documented) == sorted(point.name for point in EXTENSION_POINTS)


# -- plugins and actions ----------------------------------------------------------------------------------------------


def page_of(member: type[Plugin] | type[Action]) -> str:
    """Return the section about a plugin or action."""
    pages = [page for page in PAGES if page.startswith("plugins/")] if issubclass(member, Plugin) else ["actions.md"]
    return "".join(section(read(page), member.name) for page in pages)


def as_written(default: object) -> str:
    """Format a default as in the configuration file."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, float):
        return f"{default:g}"
    return '""' if default == "" else str(default)


def described(text: str) -> dict[str, str]:
    """Return the default of every argument in the tables of a text."""
    tables = re.findall(r"^\| Argument \|.*\n\|[-|]+\|\n((?:\|.*\n?)+)", text, re.MULTILINE)
    rows = re.findall(r"^\| `([^`]+)` \| [^|]+ \| `([^`]*)` \|", "\n".join(tables), re.MULTILINE)
    return dict(rows)


@pytest.mark.parametrize("member", [*PLUGINS, *ACTIONS], ids=lambda member: member.name)
def test_arguments_are_documented_with_their_defaults(member: type[Plugin] | type[Action]) -> None:
    text = page_of(member)
    arguments = member.arguments.declared
    assert text, f"there is no section about {member.name}"
    assert described(text) == {argument.key: as_written(argument.default) for argument in arguments}
    assert ("takes no arguments" in text) is not bool(arguments)


@pytest.mark.parametrize("member", [*PLUGINS, *ACTIONS], ids=lambda member: member.name)
def test_argument_without_effect_is_documented_as_such(member: type[Plugin] | type[Action]) -> None:
    for argument in member.arguments.declared:
        row = next(line for line in page_of(member).splitlines() if line.startswith(f"| `{argument.key}` |"))
        assert ("no effect" in row) is bool(argument.ignored)


# -- configuration ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", SWITCHES)
def test_switches_are_documented_in_every_spelling(spelling: str) -> None:
    assert f"`{spelling}`" in section(read("configuration.md"), "Switches")


def test_default_configuration_is_documented() -> None:
    assert f"```yaml\n{DEFAULT_TEXT}```" in read("configuration.md")


# -- commands and benchmarks ------------------------------------------------------------------------------------------


def commands(group: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(group, click.Group):
        if group.invoke_without_command:
            yield name, group
        context = click.Context(group)
        for child in group.list_commands(context):
            found = group.get_command(context, child)
            assert found is not None
            yield from commands(found, f"{name} {child}")
    else:
        yield name, group


def page_about(command: str) -> str:
    """Return the page with a heading for the command."""
    return next((page for page in PAGES if re.search(rf"^#+ {command}$", read(page), re.MULTILINE)), "")


@pytest.mark.parametrize(("name", "command"), list(commands(main, "stromboli")))
def test_commands_are_documented_with_their_options(name: str, command: click.Command) -> None:
    page = page_about(name)
    assert page, f"no page has the heading `{name}`"
    assert f"`{name}`" in read("commands.md")
    text = read(page)
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert [option for option in parameter.opts if f"`{option}" not in text] == []


@pytest.mark.parametrize(("name", "command"), list(commands(main, "stromboli")))
def test_options_are_documented_with_environment_and_default(name: str, command: click.Command) -> None:
    text = read(page_about(name))
    context = click.Context(command)
    for option in command.params:
        if isinstance(option, click.Option) and option.envvar and f"| `{option.envvar}` |" in text:
            row = next(line for line in text.splitlines() if line.startswith(f"| `{option.opts[0]}"))
            assert f" | `{option.envvar}` | {default_of(option, context)} | " in row
        elif isinstance(option, click.Option) and option.envvar:
            assert f"`{option.envvar}`" in text


def default_of(option: click.Option, context: click.Context) -> str:
    """Format a default as in the tables: in the spelling of the command line, or a dash."""
    default = option.get_default(context, call=False)
    if isinstance(default, bool):
        return "on" if default else "off"
    if isinstance(default, tuple):
        default = ", ".join(default)
    written = f"{default:g}" if isinstance(default, float) else default
    return f"`{written}`" if isinstance(written, str | int) and written != "" else "-"


@pytest.mark.parametrize(("flag", "why"), IGNORED.items())
def test_ignored_flags_are_documented_with_the_reason(flag: str, why: str) -> None:
    assert f"| `{flag}` | {why} |\n" in read("scheduler.md")


@pytest.mark.parametrize("workload", WORKLOADS)
def test_benchmarks_have_a_row(workload: str) -> None:
    assert f"| `{workload}` | `python -m benchmarks {workload}` |" in read("performance.md")


# -- labels, annotations and events -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "key"),
    [
        *(("up.md", key) for key in (START_SECONDS, RUN_SECONDS, STOP_SECONDS, EXIT_CODE, READY, SIMULATED, RACK)),
        *(("scheduler.md", key) for key in (COMMIT, DECIDED)),
        *(
            ("controllers.md", key)
            for key in (*QUEUE_NAMES, MIN_MEMBER, TOPOLOGY_MODE, TOPOLOGY_TIER, CLOSED_BY_PARENT)
        ),
    ],
)
def test_labels_and_annotations_are_documented(page: str, key: str) -> None:
    assert f"`{key}" in read(page)


def test_reasons_of_events_are_documented() -> None:
    documented = set(re.findall(r"^\| [\w ]+ \| (?:Normal|Warning) \| `(\w+)` \|", read("statuses.md"), re.MULTILINE))
    sources = inspect.getsource(announcer) + inspect.getsource(hypernode_controller)
    assert documented == set(re.findall(r'reason="(\w+)"', sources))


def test_readme_begins_with_demo_and_test() -> None:
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40]
    assert {"$ make demo", "$ make test"} <= set(first_screen)
