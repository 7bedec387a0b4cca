"""The examples: files of the package, or of the checkout that it is installed from."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
#: Left by tools in a checkout.
_CACHES = ("__pycache__", ".mypy_cache", ".ruff_cache", ".import_linter_cache", ".pytest_cache")


def examples_folder() -> Path:
    """Return the folder of the examples."""
    packaged = _PACKAGE / "examples"
    return packaged if packaged.is_dir() else _PACKAGE.parents[1] / "examples"


def example_path(name: str) -> str:
    """Return the path of an example as a command can use it: relative where the current folder has the examples."""
    nearby = Path("examples") / name
    return str(nearby if nearby.exists() else examples_folder() / name)


def summaries() -> dict[str, str]:
    """Return the examples by name, each with the first sentence of its README."""
    folders = sorted(folder for folder in examples_folder().iterdir() if (folder / "README.md").is_file())
    return {folder.name: _summary(folder / "README.md") for folder in folders}


def _summary(readme: Path) -> str:
    """Return the first sentence below the title."""
    paragraphs = readme.read_text(encoding="utf-8").split("\n\n")
    text = next((" ".join(each.split()) for each in paragraphs if each.strip() and not each.startswith("#")), "")
    return f"{text.partition('. ')[0].removesuffix('.')}."


def copy_examples(target: Path, *, force: bool = False) -> int:
    """Copy all files and return their number. Raises FileExistsError for a file that differs, before any is written."""
    source = examples_folder()
    files = [path.relative_to(source) for path in sorted(source.rglob("*")) if _is_example(path)]
    contents = {target / file: (source / file).read_bytes() for file in files}
    changed = {path: content for path, content in contents.items() if _read(path) != content}
    for path in changed if not force else ():
        if path.exists():
            raise FileExistsError(path)
    for path, content in changed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return len(contents)


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _is_example(path: Path) -> bool:
    return path.is_file() and not any(part in _CACHES for part in path.parts) and path.suffix != ".pyc"
