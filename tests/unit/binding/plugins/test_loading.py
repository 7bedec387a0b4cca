"""Loading of binder plugins: their order, and the messages for invalid ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from stromboli.binding.plugins import loading
from stromboli.binding.plugins.loading import BUILT_IN, UnusablePlugin, load_plugins, read_options
from stromboli.binding.plugins.plugin import BinderPlugin, Placement

MODULE = """
from stromboli.binding.plugins.plugin import BinderPlugin

class Licences(BinderPlugin):
    name = "licences"
    defaults = {"server": "localhost"}

class Strict(BinderPlugin):
    name = "strict"
    defaults = {"level": "1"}
    def __init__(self, options=None):
        super().__init__(options)
        if not self.options["level"].isdecimal():
            raise ValueError(f"level: {self.options['level']!r} is no number")

class Nameless(BinderPlugin): ...
class Copycat(BinderPlugin):
    name = "volumes"
class Impatient(BinderPlugin):
    name = "impatient"
    def pre_bind(self, bind): ...
class Curious(BinderPlugin):
    name = "curious"
    def applies_to(self): ...
class Stranger: ...
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "own_binding.py").write_text(MODULE)
    (tmp_path / "broken_binding.py").write_text("raise RuntimeError('out of order')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "own_binding"
    for name in ("own_binding", "broken_binding"):
        sys.modules.pop(name, None)


def names(plugins: list[BinderPlugin]) -> list[str]:
    return [plugin.name for plugin in plugins]


def test_built_in_plugins_come_first_in_their_order(module: str) -> None:
    own = [f"{module}:Strict", f"{module}:Licences"]
    assert names(load_plugins(BUILT_IN, own)) == [*(each.name for each in BUILT_IN), "strict", "licences"]


def test_package_plugins_follow_built_in_ones_by_name(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        EntryPoint("strict", f"{module}:Strict", loading.ENTRY_POINTS),
        EntryPoint("licences", f"{module}:Licences", loading.ENTRY_POINTS),
    ]
    monkeypatch.setattr(loading, "entry_points", lambda group: found)
    assert names(load_plugins(BUILT_IN[:1]))[1:] == ["licences", "strict"]


def test_options_reach_their_plugin_and_one_can_be_left_out(module: str) -> None:
    plugins = load_plugins(
        BUILT_IN, [f"{module}:Licences"], read_options(["licences.server=a=b.c"]), without=["volumes"]
    )
    assert "volumes" not in names(plugins)
    assert plugins[-1].options == {"server": "a=b.c"}


REFUSED = [
    ("no reference", ["nothing"], [], [], "'nothing' does not name a class; write package.module:Class"),
    ("no module", ["not.there:Plugin"], [], [], "not.there:Plugin: cannot import 'not.there'"),
    ("a module that fails", ["broken_binding:X"], [], [], "RuntimeError: out of order"),
    ("no such class", ["own_binding:Missing"], [], [], "module 'own_binding' has no 'Missing'"),
    ("no plugin", ["own_binding:Stranger"], [], [], "own_binding:Stranger is not a binder plugin; derive a class"),
    ("no name", ["own_binding:Nameless"], [], [], "own_binding:Nameless cannot be used: Nameless has no name"),
    ("a name that is taken", ["own_binding:Copycat"], [], [], "the name 'volumes' is taken by stromboli.binding."),
    ("not awaited", ["own_binding:Impatient"], [], [], "Impatient cannot be used: pre_bind must be an async def"),
    ("other arguments", ["own_binding:Curious"], [], [], "applies_to must take (self, placement), and takes (self)"),
    ("an option without a value", [], ["volumes"], [], "'volumes' is not of the form PLUGIN.OPTION=VALUE"),
    ("an option of an unknown plugin", [], ["missing.x=1"], [], "unknown binder plugin 'missing'; known plugins: "),
    ("an option it does not have", ["own_binding:Licences"], ["licences.port=1"], [],
     "has no option 'port'; it has: server"),
    ("an option it cannot read", ["own_binding:Strict"], ["strict.level=x"], [],
     "plugin strict cannot be used: level: 'x' is no"),
    ("skipping an unknown plugin", [], [], ["missing"], "unknown binder plugin 'missing'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("references", "options", "without", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_what_cannot_be_used_is_named(
    module: str, references: list[str], options: list[str], without: list[str], message: str
) -> None:
    with pytest.raises(UnusablePlugin) as error:
        load_plugins(BUILT_IN, references, read_options(options), without=without)
    assert message in str(error.value)


def test_package_that_fails_to_load_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", "not.there:Plugin", loading.ENTRY_POINTS)
    monkeypatch.setattr(loading, "entry_points", lambda group: [broken])
    with pytest.raises(UnusablePlugin, match=r"entry point 'broken'.*reinstall or uninstall the package"):
        load_plugins(BUILT_IN)


class Answers(BinderPlugin):
    name = "answers"

    def validate(self, pod: Mapping[str, Any]) -> list[str]:
        return [] if pod.get("spec") else ["spec: there is none"]

    def mutate(self, pod: dict[str, Any]) -> None:
        pod.setdefault("metadata", {})["name"] = "changed"


def test_plugin_at_admission_needs_only_the_manifest() -> None:
    plugin = Answers()
    pod: dict[str, object] = {"spec": {}}
    assert plugin.validate(pod) == ["spec: there is none"]
    plugin.mutate(pod)
    assert pod["metadata"] == {"name": "changed"}


def test_default_plugin_methods_do_nothing() -> None:
    plugin = BinderPlugin()
    assert plugin.validate({}) == []
    assert plugin.applies_to(Placement("uid", "default", "pod", "default/job", "node")) is True
