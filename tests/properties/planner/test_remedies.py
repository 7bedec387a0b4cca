"""Every proposed change works, and its edits reproduce it."""

from __future__ import annotations

from hypothesis import given

from stromboli.planner.advice import Advice, advise
from stromboli.planner.changes import ObjectChange
from stromboli.planner.plan import SchedulingPlan
from stromboli.planner.report import advice_as_plain
from stromboli.planner.trials import Trials
from tests.testing.manifests.edited_documents import apply_edits, documents_of
from tests.testing.random_clusters.effort import examples
from tests.testing.random_clusters.engine import SCHEDULER_NAMES, default_program, plan_of
from tests.testing.random_clusters.worlds import SmallWorld, Traits, worlds


def places(plan: SchedulingPlan, job: str, all_pods: bool) -> bool:
    group = plan.groups[job]
    return group.has_started and not (all_pods and group.waiting)


def proposals(advice: Advice) -> list[ObjectChange]:
    smallest = advice.remedies.smallest
    return [*([smallest] if smallest else []), *advice.remedies.alternatives]


@examples(40)
@given(worlds(Traits(most_nodes=4)))
def test_proposed_change_places_the_job(world: SmallWorld) -> None:
    plan = plan_of(world.objects)
    trials = Trials(world.objects, default_program(), scheduler_names=SCHEDULER_NAMES)
    for advice in advise(plan, trials, plan.waiting[:3]):
        job, started = advice.explanation.job, advice.explanation.group.has_started
        for change in proposals(advice):
            changed = change.apply(world.objects)
            outcomes = [places(plan_of(changed, cycles=cycles), job, started) for cycles in (1, 2, 3)]
            assert any(outcomes), f"{job}: {change.description}"


@examples(20)
@given(worlds(Traits(most_nodes=4)))
def test_json_edits_reproduce_the_change(world: SmallWorld) -> None:
    plan = plan_of(world.objects)
    trials = Trials(world.objects, default_program(), scheduler_names=SCHEDULER_NAMES)
    for advice in advise(plan, trials, plan.waiting[:2]):
        report = advice_as_plain(advice)
        plain = [*filter(None, [report["smallestChange"]]), *report["alternatives"]]
        for change, described in zip(proposals(advice), plain, strict=True):
            by_hand = apply_edits(documents_of(world.objects), described["edits"])
            assert by_hand == documents_of(change.apply(world.objects)), change.description
