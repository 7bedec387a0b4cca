"""Files that commands write as text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from gzip import GzipFile
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from stromboli.cli.output import Failure


@contextmanager
def written_target(target: str) -> Iterator[TextIO]:
    """Open a file for writing, or the standard output for -. A name that ends with `.gz` is compressed. The file
    replaces an older one when it is complete; errors end the command.
    """
    if target == "-":
        yield sys.stdout
        return
    path = Path(target)
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file, ExitStack() as stack:
            # without a time in the header, so that equal traces are equal files
            packed = stack.enter_context(GzipFile("", "wb", fileobj=file, mtime=0)) if target.endswith(".gz") else file
            yield stack.enter_context(TextIOWrapper(packed, encoding="utf-8", newline=""))
        part.replace(path)
    except OSError as error:
        raise Failure(f"{target}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
