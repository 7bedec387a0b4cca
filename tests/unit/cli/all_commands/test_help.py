"""The help of every command: sections, examples that work, and exit codes with one meaning."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from stromboli.cli import COMMANDS, SECTIONS, main
from tests.docs.test_pages import commands
from tests.unit.cli.test_replay_command import a_dump

ROOT = Path(__file__).parents[4]
NAMES = [name.strip() for name, _ in commands(main, "")]

#: Commands that run until stopped, need a cluster, a GPU, or a home folder.
NOT_RUN = (
    "stromboli up",
    "stromboli demo",
    "stromboli scheduler",
    "stromboli controller",
    "stromboli binder",
    "stromboli console",
    "stromboli admission --",
    "stromboli bindrequests",
    "stromboli plan -f job.yaml",
    "stromboli plan -n",
    "stromboli explain -n",
    "stromboli forecast -n",
    "stromboli topology --context",
    "stromboli uninstall",
    "stromboli hypernodes discover --keys",
    "stromboli hypernodes discover --apply",
    "stromboli reserve-gpu",
)


def help_of(name: str) -> str:
    result = CliRunner().invoke(main, [*name.split(), "--help"], terminal_width=200)
    assert result.exit_code == 0
    return result.stdout


def section(text: str, title: str) -> list[str]:
    found = re.search(rf"^ *{title}:\n((?: +\S.*\n?)+)", text, re.MULTILINE)
    return [line.strip() for line in found[1].replace("\\\n", "").splitlines()] if found else []


def examples() -> Iterator[str]:
    """Yield the examples of all commands that can be run here, without pipes and redirections."""
    for name in NAMES:
        for line in section(help_of(name), "Examples"):
            needs_cluster = name.split()[0] in SECTIONS["Cluster"] and " -f " not in line
            if line.startswith("stromboli ") and not line.startswith(NOT_RUN) and not needs_cluster:
                yield " ".join(re.split(r" [|>] ", line)[0].split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the examples, a dump, and a certificate."""
    place = tmp_path_factory.mktemp("help")
    (place / "examples").symlink_to(ROOT / "examples")
    a_dump(place)
    CliRunner().invoke(main, ["admission", "certificates", "--folder", str(place / "certificates")])
    return place


def test_examples_of_the_help_are_found() -> None:
    assert len(set(examples())) >= 20


@pytest.mark.parametrize("line", sorted(set(examples())))
def test_example_of_the_help_works(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(main, shlex.split(line)[1:])
    assert result.exit_code in (0, 3) or (line.startswith("stromboli replay") and result.exit_code == 4), result.output
    assert result.stdout


@pytest.mark.parametrize("name", ["", *NAMES])
def test_help_fits_80_columns(name: str) -> None:
    text = CliRunner().invoke(main, [*name.split(), "--help"], terminal_width=80).stdout
    assert not [line for line in text.splitlines() if len(line) > 80]


@pytest.mark.parametrize("name", NAMES)
def test_help_has_examples(name: str) -> None:
    assert any(f"stromboli {name}" in line for line in section(help_of(name), "Examples"))


#: The beginning of the description of each exit code; those of success differ.
EXIT_CODES: dict[str, tuple[str, ...]] = {
    "0": ("",),
    "1": ("invalid input",),
    "2": ("wrong usage",),
    "3": ("a job waits", "the job waits", "a job still waits"),
    "4": ("the decisions differ",),
    "5": ("leadership lost",),
    "6": ("a cycle did not end",),
}


@pytest.mark.parametrize("name", NAMES)
def test_exit_codes_have_the_same_meaning_in_all_commands(name: str) -> None:
    listed = dict(line.split(maxsplit=1) for line in section(help_of(name), "Exit codes"))
    assert {"0", "1", "2"} <= set(listed)
    for code, meaning in listed.items():
        assert meaning.startswith(EXIT_CODES[code])


def test_main_help_lists_commands_by_section() -> None:
    text = help_of("")
    listed = {title: [line.split()[0] for line in section(text, title)] for title in SECTIONS}
    assert listed == {title: list(those) for title, those in SECTIONS.items()}
    assert {name.split()[0] for name in NAMES} == set(COMMANDS)


MISTYPED = {
    "command": ("plann", "No such command 'plann'. Did you mean 'plan'?"),
    "sub-command": ("config chek", "No such command 'chek'. Did you mean 'check'?"),
    "option": (
        "plan --conff x",
        "No such option '--conff'. (Did you mean one of: '--conf', ",
    ),
    "value": ("bindrequests --phase Bound", "'Bound' is not one of 'Pending', 'Binding', 'Succeeded', "),
    "missing option": ("plan", "Missing option '-f' / '--filename', and there is no cluster"),
}


@pytest.mark.parametrize("case", MISTYPED)
def test_mistyped_word_is_reported_with_valid_ones(case: str) -> None:
    arguments, message = MISTYPED[case]
    result = CliRunner().invoke(main, arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


#: Options that would have no effect with others; the dump is that of `a_dump`.
WITHOUT_EFFECT = {
    "seed of a dump": ("plan -f dump.json.gz --seed 3", "--seed has no effect on a dump, which contains its own value"),
    "names of a dump": ("explain -f dump.json.gz --scheduler-name x large", "--scheduler-name has no effect on a dump"),
    "time of a dump": ("plan -f dump.json.gz --now 2026-01-01T00:00:00Z", "--now has no effect on a dump"),
    "pods as data": ("bindrequests --pods -o json", "--pods has no effect with -o json, which has the requests"),
    "cluster and files": (
        "hypernodes discover -f examples/topology --context x",
        "--context has no effect with -f; leave it out.",
    ),
}


@pytest.mark.parametrize("case", WITHOUT_EFFECT)
def test_option_without_effect_is_rejected(case: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, message = WITHOUT_EFFECT[case]
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(main, arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def complete(*words: str) -> list[str]:
    """Return the completions of the last word."""
    line = shlex.join(["stromboli", *words])
    environment = {"_STROMBOLI_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    lines = CliRunner().invoke(main, prog_name="stromboli", env=environment).stdout.splitlines()
    return [line.partition(",")[2] for line in lines if line]


def test_completion_has_commands_options_and_formats() -> None:
    assert complete("pl") == ["plan"]
    assert set(complete("")) == set(COMMANDS)
    assert "--scheduler-name" in complete("plan", "--s")
    assert complete("plan", "-o", "") == ["table", "wide", "json", "yaml", "name"]
    assert complete("reasons", "-o", "m") == ["markdown"]


@pytest.mark.parametrize("words", [["plan", "--conf"], ["bindrequests", "--kubeconfig"], ["config", "check"]])
def test_completion_of_files_is_left_to_the_shell(words: list[str]) -> None:
    line = shlex.join(["stromboli", *words, "x"])
    environment = {"_STROMBOLI_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) + 1)}
    assert CliRunner().invoke(main, prog_name="stromboli", env=environment).stdout == "file,x\n"


JOBS = {
    "by name": (["examples/cluster"], "f", ["finetune"]),
    "by namespace": (["examples/cluster"], "research/", ["research/finetune", "research/sweep", "research/train"]),
    "of several files": (["examples/cluster/sweep.yaml", "examples/cluster/train.yaml"], "", ["sweep", "train"]),
    "without files": ([], "f", []),
    "of the standard input": (["-"], "f", []),
    "of a missing file": (["nowhere"], "f", []),
}


@pytest.mark.parametrize("case", JOBS)
def test_completion_has_the_jobs_of_the_manifests(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paths, incomplete, expected = JOBS[case]
    monkeypatch.chdir(ROOT)
    assert complete("explain", *(word for path in paths for word in ("-f", path)), incomplete) == expected
