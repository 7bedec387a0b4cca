"""Policies as Python objects, and the configuration file that they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import stromboli as sb
from stromboli.api import Argument, Arguments, Job, Key, Plugin
from stromboli.core.config.configuration import ConfigurationError, parse_configuration
from stromboli.core.config.registry import RegistrationError
from stromboli.registry import built_in_registry

POLICIES = Path(__file__).parents[3] / "examples" / "policies"


class LongestNameArguments(Arguments):
    weight = Argument("weight", 1)


class LongestName(Plugin):
    name = "longest-name"
    arguments = LongestNameArguments()

    def job_order(self, job: Job) -> Key:
        return -len(job.spec.name), job.key


def test_policy_of_objects_is_the_file_that_the_scheduler_accepts() -> None:
    policy = sb.Policy(
        tiers=[
            ["priority", {"name": "gang", "enablePreemptable": False}],
            [{"name": "binpack", "arguments": {"binpack.cpu": 5}}],
        ],
        actions=["allocate", "backfill"], arguments={"backfill": {"strategy": "easy"}},
    )  # fmt: skip
    read = parse_configuration(policy.to_yaml(), built_in_registry())
    assert read.actions == ("allocate", "backfill")
    assert [[option.name for option in tier.plugins] for tier in read.tiers] == [["priority", "gang"], ["binpack"]]
    assert not read.tiers[0].plugins[1].is_on("enablePreemptable")
    assert policy.warnings == ()


@pytest.mark.parametrize("path", sorted(POLICIES.glob("*.conf")), ids=lambda path: path.stem)
def test_file_of_a_policy_is_what_is_written(path: Path) -> None:
    policy = sb.Policy.from_file(path)
    assert policy.to_yaml() == path.read_text(encoding="utf-8")
    assert sb.Policy.from_yaml(policy.to_yaml(), name=path.stem) == policy


def test_class_is_named_in_the_file_and_used() -> None:
    class Newest(Plugin):
        name = "newest"

        def job_order(self, job: Job) -> Key:
            return (-job.spec.created,)

    policy = sb.Policy([Newest, {"name": LongestName, "arguments": {"weight": 2}}, "gang", "predicates"])
    assert "name: newest" in policy.to_yaml()
    assert not policy.is_importable
    assert [option.name for option in policy.program().configuration.tiers[0].plugins][:2] == ["newest", "longest-name"]
    with pytest.raises(ConfigurationError, match="newest"):
        sb.Policy.from_yaml(policy.to_yaml())
    assert sb.Policy.from_yaml(policy.to_yaml(), classes=[Newest, LongestName]).to_yaml() == policy.to_yaml()


def test_class_of_a_module_is_named_for_other_processes() -> None:
    assert sb.Policy([LongestName, "gang"]).source.plugins == (f"{__name__}:LongestName",)


def test_invalid_policies_are_rejected_with_a_message() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'binpack'"):
        sb.Policy(["binpak"])
    with pytest.raises(TypeError, match="either plugins, which are one tier, or tiers"):
        sb.Policy()
    with pytest.raises(TypeError, match="are lists"):
        sb.Policy("gang")
    with pytest.raises(TypeError, match="neither the name of a plugin"):
        sb.Policy([int])  # type: ignore[list-item]
    with pytest.raises(RegistrationError, match="taken"):
        sb.Policy([type("Gang", (Plugin,), {"name": "gang"})])


def test_policy_is_shown_with_escaped_text() -> None:
    shown = sb.Policy.from_yaml(
        "actions: allocate\ntiers: [{plugins: [{name: gang}]}]  # <b>\n", name="<i>"
    )._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<i>" not in shown
