"""The recommended configuration is valid, and explains every difference from the default."""

import re

from stromboli.core.config.configuration import DEFAULT_TEXT, Configuration, parse_configuration
from stromboli.install.recommended import RECOMMENDED
from stromboli.registry import built_in_registry

REGISTRY = built_in_registry(())
#: The names before the colon of each comment.
HEADS = re.findall(r"^ *# (\w[\w., -]*): ", RECOMMENDED, re.MULTILINE)
EXPLAINED = {name for head in HEADS for name in head.split(", ")}


def settings(configuration: Configuration) -> set[str]:
    """The names of all actions, plugins, and configured arguments."""
    names = {*configuration.actions}
    options = [option for tier in configuration.tiers for option in tier.plugins]
    arguments = [option.arguments for option in options]
    arguments += [configuration.arguments_of(name) for name in REGISTRY.actions]
    for option in options:
        names |= {option.name, *(f"{option.name}.{switch}" for switch, on in option.switches.items() if not on)}
    for each in arguments:
        names |= set(each.configured)
    return names


def test_recommended_configuration_is_valid_without_warnings() -> None:
    assert not parse_configuration(RECOMMENDED, REGISTRY).warnings


def test_every_difference_from_the_default_is_explained() -> None:
    recommended, default = (settings(parse_configuration(text, REGISTRY)) for text in (RECOMMENDED, DEFAULT_TEXT))
    assert recommended ^ default == EXPLAINED
