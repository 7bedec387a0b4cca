"""Which clients are API servers: those that send requests to a secret path.

API servers present no credentials to webhooks unless they are configured to on their hosts, but they read the path from
the webhook configuration, which only administrators may read. The file may hold several secrets, one per line, so that
an old and a new one work while the path is exchanged.
"""

from __future__ import annotations

import hmac
import logging
from pathlib import Path

from stromboli.kube.manifests.errors import path_problem

MIN_LENGTH = 16

_log = logging.getLogger("stromboli.admission")


class InvalidPathSecret(ValueError):
    """An unusable file of path secrets; the message has the reason."""


class PathSecrets:
    """The secrets of a file, read again when it changes; without a file, every path is accepted."""

    def __init__(self, file: str = "") -> None:
        """Raises InvalidPathSecret."""
        self._file = Path(file) if file else None
        self._content = self._file.read_bytes() if self._file and self._file.is_file() else b""
        self._secrets = read_secrets(file) if file else ()

    def refresh(self) -> None:
        """Read the file again; an unusable one leaves the last secrets in use."""
        if self._file is None:
            return
        try:
            content = self._file.read_bytes()
            if content == self._content:
                return
            self._content, self._secrets = content, read_secrets(str(self._file))
        except (InvalidPathSecret, OSError) as error:
            _log.error("path secrets rejected; keeping the last valid ones", extra={"error": str(error)})
        else:
            _log.info("path secrets reloaded", extra={"file": str(self._file)})

    def accepts(self, given: str) -> bool:
        if self._file is None:
            return True
        sent = given.encode(errors="replace")
        return any(hmac.compare_digest(sent, secret.encode()) for secret in self._secrets)


def read_secrets(file: str) -> tuple[str, ...]:
    """Return the secrets of a file, the newest first. Raises InvalidPathSecret."""
    try:
        lines = Path(file).read_text("ascii").split()
    except UnicodeDecodeError:
        raise InvalidPathSecret(f"{file}: a path secret has ASCII letters and digits only") from None
    except OSError as error:
        raise InvalidPathSecret(path_problem(file, error)) from error
    if not lines or any(len(line) < MIN_LENGTH or not line.isalnum() for line in lines):
        raise InvalidPathSecret(f"{file}: write a secret of at least {MIN_LENGTH} letters and digits in each line")
    return tuple(lines)
