"""What can be chosen about an installation. Everything else follows from it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stromboli import __version__
from stromboli.core.config.configuration import DEFAULT_TEXT
from stromboli.install.labels import NAME

NAMESPACE = f"{NAME}-system"
IMAGE = f"{NAME}:{__version__}"
SCHEDULER_NAMES = ("stromboli", "volcano")

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SCHEDULER = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_IMAGE = re.compile(r"[\w][\w./:@-]*")


class InvalidChoice(ValueError):
    """Something that was chosen cannot be installed. `option` is where it was chosen."""

    def __init__(self, option: str, problem: str) -> None:
        self.option = option
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class Installation:
    """Raises UnusableChoice when it is made."""

    namespace: str = NAMESPACE
    image: str = IMAGE
    replicas: int = 2
    scheduler_names: tuple[str, ...] = SCHEDULER_NAMES
    #: The text of volcano-scheduler.conf.
    configuration: str = DEFAULT_TEXT
    evict_by_delete: bool = False
    #: The labels of nodes that HyperNodes follow, as the controllers take them; empty for none.
    discover_hypernodes: str = ""
    #: Whether pods are bound by a process of its own, from bind requests.
    binder: bool = False
    #: Whether whoever binds pods may hold GPUs that pods share.
    share_gpus: bool = False

    def __post_init__(self) -> None:
        if not _NAMESPACE.fullmatch(self.namespace):
            raise InvalidChoice(
                "--namespace",
                f"{self.namespace!r} is no name for a namespace; use at most 63 small letters, digits and hyphens, "
                "with a letter or digit at both ends",
            )
        if not _IMAGE.fullmatch(self.image):
            raise InvalidChoice(
                "--image", f"{self.image!r} is no image; write one like registry/stromboli:{__version__}"
            )
        for name in self.scheduler_names:
            if not _SCHEDULER.fullmatch(name) or len(name) > 253:
                raise InvalidChoice(
                    "--scheduler-name",
                    f"{name!r} is nothing that a pod could name; use small letters, digits, hyphens and dots, "
                    "with a letter or digit at both ends",
                )
