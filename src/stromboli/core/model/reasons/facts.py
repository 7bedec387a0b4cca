"""The meaning of every code."""

from stromboli.core.model.reasons import devices, jobs, nodes, pods, preemption, queues, volumes
from stromboli.core.model.reasons.codes import Code, CodeFacts

_SUBJECTS = (nodes, pods, devices, volumes, jobs, queues, preemption)
_FACTS = {code: facts for subject in _SUBJECTS for code, facts in subject.FACTS.items()}

#: In the order of the codes.
CODES: dict[Code, CodeFacts] = {code: _FACTS[code] for code in Code}

#: The job cannot start however long it waits. Reported before all other reasons.
IMPOSSIBLE = frozenset((Code.NO_NODE_HAS_RESOURCE, Code.EXCEEDS_EVERY_NODE, Code.EXCEEDS_CLUSTER))

#: Codes of jobs without enough pods, which may still be created.
PODS_MISSING = (Code.NO_PODS, Code.NOT_ENOUGH_TASKS, Code.NOT_ENOUGH_PODS_OF_ROLE, Code.NOT_ENOUGH_SUB_GROUPS)
