"""The Dockerfile as stages of instructions, and their execution without a container engine."""

from __future__ import annotations

import glob
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Instruction:
    word: str
    rest: str

    @property
    def parts(self) -> list[str]:
        return self.rest.split()


@dataclass(slots=True)
class Stage:
    base: str
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    def of(self, word: str) -> list[str]:
        return [each.rest for each in self.instructions if each.word == word]


def instructions() -> list[Instruction]:
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [Instruction(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def stages() -> list[Stage]:
    found: list[Stage] = []
    for each in instructions():
        if each.word == "FROM":
            base, _, name = each.rest.partition(" AS ")
            found.append(Stage(base, name))
        elif found:
            found[-1].instructions.append(each)
    return found


class Builder:
    """Executes COPY and RUN of the stages below a folder: absolute paths are mapped into it."""

    def __init__(self, folder: Path, python: Path) -> None:
        self._folder = folder
        self._python = python

    def build(self, stage: Stage) -> None:
        here = self._folder
        for each in stage.instructions:
            if each.word == "WORKDIR":
                here = self._place(each.rest, here)
                here.mkdir(parents=True, exist_ok=True)
            elif each.word == "COPY":
                self._copy(each, here)
            elif each.word == "RUN":
                self._run(each.rest, here)

    def _place(self, path: str, here: Path) -> Path:
        return self._folder / path.lstrip("/") if path.startswith("/") else here / path

    def _copy(self, instruction: Instruction, here: Path) -> None:
        """From the checkout, or from an earlier stage, which is the same place here."""
        *sources, target = [part for part in instruction.parts if not part.startswith("--")]
        if "--from=" in instruction.rest:
            assert all(self._place(source, here).exists() for source in sources), instruction.rest
            return
        for source in sources:
            place = self._place(target, here) / Path(source).name if target.endswith("/") else self._place(target, here)
            place.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
            copy(ROOT / source, place)

    def _run(self, command: str, here: Path) -> None:
        words = [self._word(word) for word in shlex.split(command)]
        expanded = [found for word in words for found in (glob.glob(word) if "*" in word else [word])]
        environment = {**os.environ, "PATH": f"{self._python.parent}:{os.environ['PATH']}"}
        done = subprocess.run(expanded, cwd=here, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"

    def _word(self, word: str) -> str:
        return str(self._folder / word.lstrip("/")) if word.startswith("/") else word
