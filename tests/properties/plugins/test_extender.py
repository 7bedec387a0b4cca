"""For any answer of an extender the cycle ends, gangs are complete and no node is overcommitted."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stromboli.core.config.configuration import parse_configuration
from stromboli.core.config.external_services import Document, Endpoint, ServiceError
from stromboli.core.session.program import Program
from stromboli.planner.plan import make_plan
from tests.testing.cases.case import BUILT_IN, SCHEDULER_NAMES, configuration, flattened, objects, plugin
from tests.testing.manifests.builders import gang, nodes, priority_class, running
from tests.testing.random_clusters.effort import examples

VERBS = ("onSessionOpen", "onSessionClose", "predicate", "prioritize", "preemptable", "reclaimable", "queueOverused",
         "jobEnqueueable", "jobEnqueued", "jobReady", "allocateFunc", "deallocateFunc")  # fmt: skip

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.floats(allow_nan=False), st.text(max_size=5),
    st.sampled_from(["a", "b", "pod-default-old-task-0"]),
)  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abx"), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
FIELDS = ("refused", "nodeScore", "status", "victims", "overused", "errorMessage")
answers = st.one_of(
    st.none(),
    st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, values)),
    st.just({"status": True, "overused": False}),
    st.just({"status": 1, "victims": ["pod-default-old-task-0"], "nodeScore": {"b": 3}}),
)


class Whimsical:
    """Returns one prepared answer after the other, regardless of the request, and fails after the last."""

    def __init__(self, script: list[Any]) -> None:
        self._script = script
        self._asked = 0

    def client_for(self, endpoint: Endpoint) -> Whimsical:
        return self

    def ask(self, verb: str, question: Document) -> Document:
        answer = self._script[self._asked % len(self._script)]
        self._asked += 1
        if answer is None:
            raise ServiceError("no")
        return dict(answer)

    def close(self) -> None:
        """There is nothing to close."""


@examples(25)
@given(script=st.lists(answers, min_size=1, max_size=8), ignorable=st.booleans())
def test_any_extender_answer_leads_to_a_valid_cycle(script: list[Any], ignorable: bool) -> None:
    named = {f"extender.{verb}Verb": verb for verb in VERBS}
    own = plugin("extender", {"extender.urlPrefix": "http://x", "extender.ignorable": ignorable, **named})
    conf = configuration(["priority", "gang"], ["predicates", own], actions="enqueue, allocate, preempt, backfill")
    program = Program(parse_configuration(conf, BUILT_IN), BUILT_IN, Whimsical(script))
    world = [nodes(3, 2), priority_class("high", 9), running("aaa"), gang(3, name="one", resources={"cpu": 3}),
             gang(2, 2, name="two", priority="high")]  # fmt: skip
    plan = make_plan(objects(flattened(world)), program, cycles=2, scheduler_names=SCHEDULER_NAMES)
    bound = list(plan.binds)
    for name, members in (("one", 3), ("two", 2)):
        assert sum(pod.startswith(f"default/{name}-") for pod in bound) in (0, members)
    idle = plan.session.ledger.all_rows.idle(0)
    assert (idle >= 0).all()
