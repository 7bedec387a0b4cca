"""Questions that need a calculation: the contract of the server and the process that answers them.

One answer is calculated by `stromboli answer` in a process of its own, from a dump of the cache, with limited time and
memory: the question of one person does not delay the answers to others.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class ConsoleQuestion(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What is asked. Fields that a question does not use are empty."""

    console: Literal["explanation", "scores", "plan", "policyDiff", "simulation"]
    #: The namespaces whose names may be part of the answer; null for all.
    readable: list[str] | None = None
    #: The namespace of objects without one, and of the jobs that a plan is about; empty for all.
    namespace: str = ""
    #: The key of a PodGroup.
    job: str = ""
    #: The description of a change that lets the job start; empty for none.
    change: str = ""
    #: YAML or JSON of further objects.
    manifests: str = ""
    #: Policies as YAML; that of the scheduler if null. A difference compares `policy` with `other_policy`.
    policy: str | None = None
    other_policy: str | None = None
    cycles: int = 1
    #: The simulated time, and the run time of pods that name none, in seconds.
    seconds: int = 0
    run_seconds: int = 0
