"""Registration of plugins and actions: valid classes, and the errors of invalid ones."""

from functools import cache
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from stromboli.core.config import registry as registry_module
from stromboli.core.config.action import Action
from stromboli.core.config.arguments import Argument, Arguments
from stromboli.core.config.plugin import Plugin
from stromboli.core.config.registry import (
    ACTION_ENTRY_POINTS,
    PLUGIN_ENTRY_POINTS,
    RegistrationError,
    Registry,
    load_entry_points,
    load_named,
)
from stromboli.core.config.rule_adapters import NodeView, PerNodePredicate


class SampleArguments(Arguments):
    weight: int = Argument("weight", 1, "how much it counts")


class TwiceDeclared(SampleArguments):
    another: int = Argument("weight", 2, "how much it counts")


def plugin_class(title: str = "Sample", base: type = Plugin, /, **attributes: Any) -> type:
    return type(title, (base,), {"name": "sample", **attributes})


class Sample(Plugin):
    name = "sample"
    arguments = SampleArguments()

    def __init__(self, arguments: Arguments, hierarchy: bool = False, client: object = None) -> None:
        super().__init__(arguments, hierarchy)

    def job_order(self, job: Any, further: int = 0) -> Any:
        return further

    @staticmethod
    def task_order(task: Any) -> Any:
        return task

    @classmethod
    def queue_order(cls, queue: Any, *others: Any, **named: Any) -> Any:
        return queue

    @cache  # noqa: B019 - any decorator that leaves a method will do
    def overused(self, queue: Any) -> Any:
        return None

    def share_of(self, job: Any) -> float:
        return 0.5

    def _job_odrer(self) -> None:
        """Private names are not checked."""


class Tidy(Action):
    name = "tidy-up"

    def execute(self, session: Any) -> None:
        pass


class OneByOne(PerNodePredicate, Plugin):
    name = "one-by-one"

    def filter_node(self, task_class: Any, node: NodeView) -> bool:
        return True


def test_valid_classes_are_registered_by_name() -> None:
    registry = Registry([Sample, OneByOne], [Tidy])
    assert registry.plugins == {"sample": Sample, "one-by-one": OneByOne}
    assert registry.actions == {"tidy-up": Tidy}


def test_duplicate_name_is_rejected_unless_same_class() -> None:
    registry = Registry([Sample])
    registry.add(Sample)
    with pytest.raises(RegistrationError, match=r"Other: the name 'sample' is taken by .*Sample; choose another"):
        registry.add(plugin_class("Other"))


def test_plugin_and_action_may_share_a_name() -> None:
    registry = Registry([Sample], [plugin_class("SampleAction", Action)])
    assert registry.plugins.keys() == registry.actions.keys()


def method(*parameters: str) -> Any:
    """A method that takes these parameters."""
    namespace: dict[str, Any] = {}
    exec(f"def sample(self, {', '.join(parameters)}): ...", namespace)  # noqa: S102 - signatures as text
    return namespace["sample"]


REFUSED = [
    ("no name", {"name": ""}, "it has no name"),
    ("name is no text", {"name": 3}, "it has no name"),
    ("capitals in the name", {"name": "Gang"}, "the name 'Gang' must be lower-case words joined by hyphens"),
    ("underscore in the name", {"name": "node_order"}, "lower-case words joined by hyphens"),
    ("hyphen at the end", {"name": "node-"}, "lower-case words joined by hyphens"),
    ("line break after the name", {"name": "gang\n"}, "lower-case words joined by hyphens"),
    ("arguments as a class", {"arguments": SampleArguments}, "'arguments' must be an instance of a subclass"),
    ("arguments as a tuple", {"arguments": ("weight",)}, "'arguments' must be an instance of a subclass"),
    ("argument twice", {"arguments": TwiceDeclared()}, "argument 'weight' is declared twice"),
    (
        "another version of the API",
        {"api_version": 2},
        "it is written for version 2 of stromboli.api, and this is version",
    ),
    ("locality as a text", {"locality": "row"}, "'locality' must be a Locality"),
    ("labels as a text", {"reads_labels": "app"}, "'reads_labels' must be a tuple of texts, not 'app'"),
    ("annotations in a list", {"reads_annotations": ["a"]}, "'reads_annotations' must be a tuple"),
    ("config maps as a text", {"reads_config_maps": "a/b"}, "'reads_config_maps' must be a tuple of texts"),
    ("parameter missing", {"job_order": method()}, "'job_order' takes (), but must take (job)"),
    ("parameter renamed", {"job_order": method("a_job")}, "'job_order' takes (a_job), but must take (job)"),
    (
        "parameters swapped",
        {"predicate": method("rows", "task_class")},
        "'predicate' takes (rows, task_class), but must take (task_class, rows)",
    ),
    ("further one without a default", {"job_order": method("job", "x")}, "further parameters need a default"),
    ("only by name", {"job_order": method("*", "job")}, "'job_order' takes (job), but must take (job)"),
    ("anything goes", {"job_order": method("*args")}, "'job_order' takes (*args), but must take (job)"),
    (
        "constructor",
        {"__init__": method("arguments")},
        "'__init__' takes (arguments), but must take (arguments, hierarchy)",
    ),
    ("cycle begins without a session", {"open": method()}, "'open' takes (), but must take (session)"),
    ("answer in place of a method", {"job_order": 7}, "'job_order' must be a method"),
    ("property", {"job_order": property(lambda self: 1)}, "'job_order' must be a method"),
    ("letters swapped", {"job_odrer": method()}, "'job_odrer' is not a question; did you mean 'job_order'?"),
    ("Volcano's spelling", {"JobOrder": method()}, "did you mean 'job_order'?"),
    ("Volcano's suffix", {"job_ready_fn": method()}, "did you mean 'job_ready'?"),
    ("other vowel", {"preemptible": method()}, "did you mean 'preemptable'?"),
    ("plural", {"predicates": method()}, "'predicates' is not a question; did you mean 'predicate'?"),
    ("rule in the singular", {"node_filter": method()}, "did you mean 'node_filters'?"),
]


@pytest.mark.parametrize(("name", "attributes", "sentence"), REFUSED, ids=[case[0] for case in REFUSED])
def test_invalid_plugin_is_rejected(name: str, attributes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        Registry([plugin_class("FooPlugin", **attributes)])
    assert str(caught.value).startswith("FooPlugin: ")
    assert sentence in str(caught.value)


def test_all_faults_are_reported_at_once() -> None:
    faulty = plugin_class("FooPlugin", name="", locality=None, job_odrer=method())
    with pytest.raises(RegistrationError) as caught:
        Registry([faulty])
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == ["FooPlugin"] * 3


@pytest.mark.parametrize("honest", ["queue_share", "job_share", "opened", "score_of_node", "victims", "job_order_key"])
def test_further_methods_of_a_plugin_are_accepted(honest: str) -> None:
    Registry([plugin_class(**{honest: method()})])


def test_invalid_action_is_rejected() -> None:
    with pytest.raises(RegistrationError, match="'excute' is not a step of an action; did you mean 'execute'"):
        Registry(actions=[plugin_class("FooAction", Action, excute=method("session"))])
    with pytest.raises(RegistrationError, match=r"'execute' takes \(\), but must take \(session\)"):
        Registry(actions=[plugin_class("FooAction", Action, execute=method())])


@pytest.mark.parametrize("stranger", [object, 3, None, "sample", SampleArguments(), Sample(SampleArguments())])
def test_other_objects_are_rejected(stranger: object) -> None:
    with pytest.raises(RegistrationError, match="is neither a Plugin nor an Action; derive a class"):
        Registry().add(stranger)


@pytest.mark.parametrize("base", [Plugin, Action])
def test_base_classes_are_rejected(base: type) -> None:
    with pytest.raises(RegistrationError, match="has no name"):
        Registry().add(base)


NAMED_MODULE = """
from stromboli.core.config.plugin import Plugin
class Fair(Plugin):
    name = "fair"
class Unnamed(Plugin):
    pass
class Outer:
    class Inner(Plugin):
        name = "inner"
number = 3
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """User code on the import path."""
    (tmp_path / "fair_policies.py").write_text(NAMED_MODULE)
    (tmp_path / "broken_policies.py").write_text("1 / 0")
    (tmp_path / "needy_policies.py").write_text("import package_that_nobody_has")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("modules")
def test_class_is_registered_by_reference() -> None:
    registry = Registry()
    load_named(registry, "fair_policies:Fair")
    load_named(registry, "fair_policies:Outer.Inner")
    assert list(registry.plugins) == ["fair", "inner"]


BAD_REFERENCES = [
    ("no class", "fair_policies", "does not name a class; write package.module:Class"),
    ("no module", ":Fair", "does not name a class"),
    ("nothing", "", "'' does not name a class"),
    ("module unknown", "unfair_policies:Fair", "cannot import 'unfair_policies'"),
    ("relative module", ".fair_policies:Fair", "importing '.fair_policies' failed"),
    (
        "module lacks something",
        "needy_policies:Fair",
        "No module named 'package_that_nobody_has'; is its package",
    ),
    (
        "module raises",
        "broken_policies:Fair",
        "failed: ZeroDivisionError: division by zero; correct the module",
    ),
    ("class misspelt", "fair_policies:Fiar", "has no 'Fiar'; did you mean 'Fair'?"),
    ("class unknown", "fair_policies:Xyzzy", "has no 'Xyzzy'; look for the name of the class there"),
    ("no class at all", "fair_policies:number", "fair_policies:number cannot be used: 3 is neither"),
    ("faulty class", "fair_policies:Unnamed", "cannot be used: Unnamed: it has no name"),
]


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize(("name", "reference", "sentence"), BAD_REFERENCES, ids=[c[0] for c in BAD_REFERENCES])
def test_invalid_reference_is_rejected(name: str, reference: str, sentence: str) -> None:
    with pytest.raises(RegistrationError) as caught:
        load_named(Registry(), reference)
    assert sentence in str(caught.value)


def install(monkeypatch: pytest.MonkeyPatch, *installed: tuple[str, str]) -> None:
    """Pretend that packages with these entry points (group, value) are installed."""
    points = EntryPoints(EntryPoint("fair", value, group) for group, value in installed)
    monkeypatch.setattr(registry_module, "entry_points", lambda group: points.select(group=group))


def test_classes_are_registered_by_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, (PLUGIN_ENTRY_POINTS, f"{__name__}:Sample"), (ACTION_ENTRY_POINTS, f"{__name__}:Tidy"))
    registry = Registry()
    load_entry_points(registry)
    assert (list(registry.plugins), list(registry.actions)) == (["sample"], ["tidy-up"])


@pytest.mark.usefixtures("modules")
def test_installed_package_is_found_and_named(tmp_path: Path) -> None:
    package = tmp_path / "fair_package-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: fair-package\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(f"[{PLUGIN_ENTRY_POINTS}]\nunnamed = fair_policies:Unnamed\n")
    with pytest.raises(RegistrationError, match="of package 'fair-package' cannot be used: Unnamed: it has"):
        load_entry_points(Registry())


BAD_ENTRY_POINTS = [
    ("module unknown", PLUGIN_ENTRY_POINTS, "unfair_policies:Fair", "ModuleNotFoundError: No module named"),
    ("class unknown", PLUGIN_ENTRY_POINTS, "fair_policies:Xyzzy", "has no attribute 'Xyzzy'"),
    ("module raises", PLUGIN_ENTRY_POINTS, "broken_policies:Fair", "ZeroDivisionError"),
    (
        "wrong group",
        ACTION_ENTRY_POINTS,
        "fair_policies:Fair",
        "Fair is no Action; move it to the other group",
    ),
    ("no class", ACTION_ENTRY_POINTS, "fair_policies:number", "3 is neither a Plugin nor an Action"),
    ("faulty class", PLUGIN_ENTRY_POINTS, "fair_policies:Unnamed", "Unnamed: it has no name"),
]


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize(("name", "group", "value", "sentence"), BAD_ENTRY_POINTS, ids=[c[0] for c in BAD_ENTRY_POINTS])
def test_invalid_entry_point_is_reported_with_remedy(
    name: str, group: str, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, (group, value))
    with pytest.raises(RegistrationError) as caught:
        load_entry_points(Registry())
    message = str(caught.value)
    assert message.startswith(f"entry point 'fair' ({value}) in group '{group}' of an installed package")
    assert sentence in message
    assert message.endswith("; correct, reinstall or uninstall the package")
