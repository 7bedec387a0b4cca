"""Sources of manifests: files, folders and standard input.

A path that cannot be read ends the reading with an error; an invalid object inside a readable file does not.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import AnyStr, TextIO

from stromboli.kube.manifests.errors import path_problem, printable
from stromboli.kube.manifests.lines import ManifestText
from stromboli.kube.manifests.yaml import SIZE_LIMIT, load_with_lines
from stromboli.kube.manifests.yaml_errors import YamlError

STANDARD_INPUT = "standard input"
SUFFIXES = (".yaml", ".yml", ".json")


#: How files begin that are not plain text.
_BINARY = {
    b"\x1f\x8b": "is compressed with gzip, and only a single dump may be; decompress it first",
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8",
    b"PK\x03\x04": "is a zip archive; extract it first",
}


_CHECKED_BYTES = 1024


class ManifestError(ValueError):
    """A source that cannot be read or parsed: the message names it and a remedy."""


def load_sources(paths: Sequence[str], stdin: TextIO | None) -> Iterator[tuple[ManifestText, list[object]]]:
    """Yield the text and the documents of every source, in order; folders are searched recursively, `-` is standard
    input. A path without any document is an error, and so are empty lists only.
    """
    has_objects = False
    for path in paths:
        has_content = False
        for source, text in _texts(path, stdin):
            try:
                documents, lines = load_with_lines(text, source)
            except YamlError as error:
                raise ManifestError(str(error)) from None
            has_content |= any(document is not None for document in documents)
            has_objects |= not all(_is_empty(document) for document in documents)
            yield lines, documents
        if not has_content:
            raise _empty(path)
    if paths and not has_objects:
        raise _empty(paths[-1])


def _empty(path: str) -> ManifestError:
    source = STANDARD_INPUT if path == "-" else printable(path)
    return ManifestError(f"{source}: contains no Kubernetes objects; name a file or folder with manifests")


def _is_empty(document: object) -> bool:
    """Report whether a document is nothing, or a list without items."""
    if isinstance(document, dict) and str(document.get("kind")).endswith("List"):
        return not document.get("items", True)
    return document is None or document == []


def _texts(path: str, stdin: TextIO | None) -> Iterator[tuple[str, str]]:
    if path == "-":
        yield STANDARD_INPUT, _read_stdin(stdin)
    else:
        for file in _files(path):
            yield printable(file), _read_file(file)


def _files(path: str) -> list[str]:
    try:
        if not os.path.isdir(path):
            return [path]
        files = sorted(_search(path))
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if not files:
        raise ManifestError(f"{printable(path)}: the folder contains no {', '.join(SUFFIXES)} file; name another one")
    for file in files:
        if os.path.exists(file) and not os.path.isfile(file):
            raise ManifestError(f"{printable(file)}: is not a regular file; remove it, or name it with -f")
    return files


def _search(folder: str) -> Iterator[str]:
    """Hidden entries are skipped: version control, or the internals of a mounted volume."""
    for parent, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (
            os.path.join(parent, name) for name in files if name.endswith(SUFFIXES) and not name.startswith(".")
        )


def _raise(error: OSError) -> None:
    raise error


def _read_file(path: str) -> str:
    """Read up to the size limit: the file may be an endless pipe."""
    try:
        with Path(path).open("rb") as file:
            return _text(path, file.read(SIZE_LIMIT + 1))
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def _read_stdin(stdin: TextIO | None) -> str:
    if stdin is None:
        raise ManifestError(f"{STANDARD_INPUT}: not available; name a file or folder instead of -")
    try:
        if hasattr(stdin, "buffer"):
            return _text(STANDARD_INPUT, stdin.buffer.read(SIZE_LIMIT + 1))
        return _limited(STANDARD_INPUT, stdin.read(SIZE_LIMIT + 1))
    except (OSError, ValueError) as error:
        raise _unreadable(STANDARD_INPUT, error) from None


def _text(source: str, content: bytes) -> str:
    """Decode a text. Raises ManifestError or UnicodeDecodeError for anything else."""
    for beginning, found in _BINARY.items():
        if content.startswith(beginning):
            raise ManifestError(f"{printable(source)}: {found}")
    if b"\0" in content[:_CHECKED_BYTES]:
        raise ManifestError(f"{printable(source)}: is a binary file; name a file with manifests")
    return _limited(source, content).decode("utf-8-sig")


def _limited(source: str, content: AnyStr) -> AnyStr:
    if len(content) > SIZE_LIMIT:
        raise ManifestError(f"{printable(source)}: is larger than {SIZE_LIMIT >> 20} MiB; split it into several files")
    return content


def _unreadable(path: str, error: Exception) -> ManifestError:
    source = printable(path)
    if isinstance(error, ManifestError):
        return error
    if isinstance(error, UnicodeDecodeError):
        return ManifestError(f"{source}: is not UTF-8 text (byte {error.start + 1}); save it as UTF-8")
    return ManifestError(path_problem(path, error))
