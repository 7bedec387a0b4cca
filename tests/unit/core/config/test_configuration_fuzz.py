"""Whatever comes, the reader answers with a configuration or with a ConfigurationError."""

import textwrap

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from stromboli.core.config.configuration import DEFAULT_TEXT, ConfigurationError, Problem, parse_configuration
from tests.unit.core.config.sample_configuration import COMPLETE, REGISTRY, config_map


def survives(text: str) -> None:
    """Any text is a configuration or a ConfigurationError, never anything else."""
    problems: tuple[Problem, ...] | None = None
    try:
        parse_configuration(text, REGISTRY)
    except ConfigurationError as error:
        problems = error.problems
    assert problems != ()
    assert all(problem.line >= 1 and problem.sentence for problem in problems or ())


@given(st.text(st.characters()))
@example("\ufeff")
@example("%YAML 9.9\n---\na: 1")
@example("a: 0x_")
@example("{" * 70_000)
def test_any_text_is_read_or_rejected(text: str) -> None:
    survives(text)


WORDS = st.sampled_from(
    [
        *("actions", "tiers", "plugins", "name", "arguments", "configurations", "metrics", "kind", "data"),
        *("ConfigMap", "a.conf", DEFAULT_TEXT, "allocate", "enqueue, allocate", "preempt", "shuffle", "tdm"),
        *("gang", "drf", "binpack", "predicates", "enableHierarchy", "enabledJobOrder", "binpack.weight"),
        *("binpack.resources.x", "thresholds", "strategies", "predicate.CacheEnable", ""),
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS
STRUCTURES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=4),
    max_leaves=30,
)
PLUGIN_ENTRIES = st.fixed_dictionaries({"name": WORDS}, optional={"arguments": STRUCTURES})
NEARLY_RIGHT = st.fixed_dictionaries(
    {
        "actions": st.lists(WORDS) | WORDS | STRUCTURES,
        "tiers": st.lists(st.fixed_dictionaries({"plugins": st.lists(PLUGIN_ENTRIES | STRUCTURES)}) | STRUCTURES),
    },
    optional={"configurations": st.lists(PLUGIN_ENTRIES) | STRUCTURES, "metrics": STRUCTURES},
)


@given(STRUCTURES | NEARLY_RIGHT)
def test_any_structure_is_read_or_rejected(structure: object) -> None:
    survives(yaml.safe_dump(structure, allow_unicode=True))
    survives(config_map({"a.conf": yaml.safe_dump(structure)}))


@given(st.data())
def test_valid_file_with_a_replaced_piece_is_read_or_rejected(data: st.DataObject) -> None:
    text = textwrap.dedent(COMPLETE)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    survives(text[:start] + data.draw(st.text(max_size=5) | WORDS) + text[end:])
