"""Every fault that concerns the scheduler has a test: which one, by row of the fault catalogue."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.only("embedded", because="it checks the tests themselves")

TESTS = Path(__file__).parents[3]

#: Rows that are not about a scheduler that binds by itself: bind requests (A4), several versions (P5), limits of
#: processes (P7, P9), victims (C9), volumes and claims (C10), topology (C12, M6), sizes (M12), formulas (M14).
ELSEWHERE = {"A4", "P5", "P7", "P9", "C9", "C10", "C12", "M6", "M12", "M14"}
LENGTHS = {"A": 19, "W": 10, "P": 11, "C": 12, "M": 14}
ROWS = [f"{letter}{number}" for letter, length in LENGTHS.items() for number in range(1, length + 1)]

BINDS = "integration/scheduler/faults/test_api_faults.py::test_a_gang_is_bound_whole_although_binds_are"
STATUSES = "integration/scheduler/faults/test_api_faults.py::test_a_status_that_could_not_be_written_is_written_later"
EVICTIONS = "integration/scheduler/faults/test_api_faults.py::test_an_eviction_is_carried_out_although_the_server_is"
BUDGETS = "integration/scheduler/faults/test_api_faults.py::test_a_pod_that_a_budget_protects_stays_until_it_does_not"
LOST_NODES = (
    "integration/scheduler/faults/test_mid_bind.py::test_gang_that_loses_a_node_before_its_first_bind_stays_pending"
)
NONSENSE = "integration/scheduler/test_invalid_objects.py::test_invalid_object_is_reported_and_others_are_scheduled"
DISTURBED = "integration/scheduler/faults/test_watch_faults.py::test_nothing_is_lost_or_counted_twice_when_the_server"

COVERED: dict[str, list[str]] = {
    "A1": [BINDS],
    "A2": [
        "integration/scheduler/faults/test_api_faults.py::test_a_pod_that_another_scheduler_bound_meanwhile_is_where_that_one_put_it"
    ],
    "A3": [
        BINDS,
        "integration/scheduler/faults/test_api_faults.py::test_a_pod_that_is_being_deleted_is_not_bound_any_more",
        "integration/scheduler/faults/test_mid_bind.py::test_a_pod_of_the_same_name_is_another_pod",
    ],
    "A5": [STATUSES, "integration/scheduler/faults/test_api_faults.py::test_conditions_of_others_survive_a_conflict"],
    "A6": [
        DISTURBED,
        "integration/scheduler/faults/test_api_faults.py::test_a_forgotten_history_is_listed_again_and_nothing_counts_twice",
    ],
    "A7": [
        BINDS,
        STATUSES,
        "integration/scheduler/faults/test_api_faults.py::test_a_status_that_is_refused_for_good_is_no_storm",
    ],
    "A8": [
        "integration/scheduler/faults/test_api_faults.py::test_a_pod_that_is_gone_when_it_is_bound_is_dropped",
        "integration/scheduler/faults/test_api_faults.py::test_a_kind_that_is_not_served_is_waited_for",
    ],
    "A9": [
        BINDS,
        "integration/scheduler/faults/test_api_faults.py::test_scheduler_without_permission_schedules_nothing_until_it_is_granted",
    ],
    "A10": [BINDS, EVICTIONS],
    "A11": [BUDGETS],
    "A12": [BUDGETS],
    "A13": [BINDS, STATUSES, EVICTIONS],
    "A14": [
        BINDS,
        EVICTIONS,
        "integration/scheduler/faults/test_api_faults.py::test_a_bind_that_is_answered_too_late_is_done_once",
    ],
    "A15": [BINDS, EVICTIONS],
    "A16": [
        BINDS,
        STATUSES,
        "integration/scheduler/faults/test_api_faults.py::test_lists_that_cannot_be_read_are_asked_for_again",
    ],
    "A17": ["integration/scheduler/faults/test_api_faults.py::test_an_object_older_than_what_is_known_changes_nothing"],
    "A18": ["integration/scheduler/faults/test_api_faults.py::test_a_slow_server_is_asked_many_things_at_a_time"],
    "A19": [
        "integration/scheduler/faults/test_api_faults.py::test_a_server_that_is_away_for_long_is_awaited_without_a_decision"
    ],
    "W1": [
        DISTURBED,
        "integration/scheduler/faults/test_watch_faults.py::test_a_watch_that_falls_silent_is_not_trusted",
    ],
    "W2": [DISTURBED],
    "W3": [
        "integration/scheduler/faults/test_watch_faults.py::test_the_order_in_which_kinds_are_heard_of_does_not_matter"
    ],
    "W4": [DISTURBED],
    "W5": [
        "integration/scheduler/faults/test_watch_faults.py::test_a_delete_that_was_missed_and_a_new_pod_of_that_name_are_two_pods",
    ],
    "W6": ["unit/kube/watch/test_reflector.py::test_a_list_from_the_past_is_refused"],
    "W7": ["integration/scheduler/faults/test_watch_faults.py::test_what_came_and_went_unseen_leaves_no_trace"],
    "W8": ["integration/scheduler/faults/test_watch_faults.py::test_a_storm_of_events_is_few_cycles"],
    "W9": [
        "integration/scheduler/faults/test_watch_faults.py::test_object_that_the_cache_rejects_does_not_affect_others"
    ],
    "W10": [
        "integration/scheduler/faults/test_watch_faults.py::test_inconsistent_accounting_is_detected_and_rebuilt",
        "integration/scheduler/faults/test_watch_faults.py::test_accounting_inconsistent_again_soon_ends_the_scheduler",
    ],
    "P1": [
        "integration/scheduler/faults/test_process_faults.py::test_a_successor_completes_a_gang_that_was_left_half_bound",
        "integration/scheduler/faults/test_process_faults.py::test_a_successor_unwinds_a_gang_that_can_not_be_completed",
        "integration/scheduler/faults/test_process_faults.py::test_a_successor_goes_on_with_an_unwinding_that_was_broken_off",
        "e2e/faults/test_crashes.py::test_a_scheduler_dies_between_two_writes",
    ],
    "P2": ["e2e/faults/test_leadership.py::test_a_leader_is_frozen_in_the_middle_of_a_commit_and_wakes_up"],
    "P3": ["unit/scheduler/test_fencing.py::test_leader_with_a_successor_writes_nothing"],
    "P4": ["e2e/faults/test_leadership.py::test_a_leader_is_killed_in_the_middle_of_a_commit"],
    "P6": [
        "integration/scheduler/faults/test_process_faults.py::test_gangs_are_bound_and_healed_by_a_clock_that_is",
        "integration/scheduler/faults/test_process_faults.py::test_a_successor_unwinds_what_was_decided_by_a_clock_that_is",
        "unit/kube/election/test_elector.py::test_a_clock_of_the_day_that_jumps_changes_nothing",
        "unit/kube/election/test_elector.py::test_clocks_that_do_not_go_alike_make_no_two_leaders",
    ],
    "P8": [
        "integration/scheduler/faults/test_process_faults.py::test_a_dump_that_cannot_be_written_stops_nothing",
        "integration/scheduler/faults/test_process_faults.py::test_a_log_that_cannot_be_written_stops_nothing",
    ],
    "P10": [
        "integration/scheduler/test_policies.py::test_a_plugin_costs_only_the_job_about_which_it",
        "integration/scheduler/test_policies.py::test_a_plugin_that_breaks_the_cycle_costs_that_cycle",
        "integration/scheduler/test_policies.py::test_a_plugin_that_takes_its_time_holds_up_decisions_and_nothing_else",
        "integration/scheduler/test_policies.py::test_a_plugin_cannot_change_what_it_is_shown",
    ],
    "P11": [
        "integration/scheduler/test_policies.py::test_a_policy_takes_effect_when_its_file_changes_and_a_bad_one_changes_nothing",
        "integration/scheduler/test_policies.py::test_a_file_that_is_useless_keeps_the_last_good_policy",
        "integration/scheduler/test_policies.py::test_many_changes_in_a_row_end_with_the_last",
    ],
    "C1": [
        LOST_NODES,
        "integration/scheduler/faults/test_mid_bind.py::test_a_node_that_is_lost_in_the_middle_of_a_gang_leaves_no_half_of_it",
        "integration/scheduler/faults/test_mid_bind.py::test_a_gang_that_lost_a_node_in_the_middle_is_completed_elsewhere",
    ],
    "C2": [LOST_NODES],
    "C3": [
        "integration/scheduler/test_nodes.py::test_a_node_with_less_than_it_gave_away_takes_nothing_and_breaks_nothing"
    ],
    "C4": [
        "integration/scheduler/faults/test_mid_bind.py::test_a_pod_that_is_deleted_while_it_is_bound_is_not_missed_by_the_others",
        "integration/scheduler/faults/test_mid_bind.py::test_a_pod_of_the_same_name_is_another_pod",
    ],
    "C5": [
        "integration/scheduler/faults/test_mid_bind.py::test_a_group_that_is_deleted_while_it_is_bound_leaves_nothing_open",
        "integration/scheduler/faults/test_mid_bind.py::test_a_commit_is_judged_by_the_minimum_it_was_made_for",
    ],
    "C6": [
        "integration/scheduler/faults/test_mid_bind.py::test_a_queue_that_goes_while_its_job_is_bound_does_not_tear_it",
        "integration/scheduler/test_queues.py::test_a_capability_that_is_cut_below_what_is_used_stops_new_work_only",
    ],
    "C7": [
        "integration/scheduler/faults/test_mid_bind.py::test_a_priority_class_that_is_deleted_changes_nothing_that_was_decided"
    ],
    "C8": ["integration/scheduler/faults/test_api_faults.py::test_a_victim_that_goes_by_itself_needs_no_eviction"],
    "C11": [LOST_NODES],
    **{row: [NONSENSE] for row in ("M1", "M2", "M3", "M4", "M8")},
    "M5": [
        "integration/scheduler/test_invalid_objects.py::test_queues_that_go_round_in_a_circle_hold_up_only_themselves"
    ],
    "M7": [NONSENSE, "integration/scheduler/test_invalid_objects.py::test_a_minimum_of_nothing_or_less_is_no_minimum"],
    "M9": ["integration/scheduler/test_invalid_objects.py::test_messages_in_every_script_are_kept_within_limits"],
    "M10": [
        "integration/scheduler/test_invalid_objects.py::test_groups_of_every_size_live_side_by_side",
        "integration/scheduler/test_invalid_objects.py::test_a_group_of_another_namespace_is_another_group",
    ],
    "M11": ["integration/scheduler/test_invalid_objects.py::test_pod_with_an_ambiguous_identity_is_quarantined"],
    "M13": [NONSENSE, "integration/scheduler/test_invalid_objects.py::test_a_cluster_of_hardly_any_nodes_is_a_cluster"],
}


@pytest.mark.parametrize("row", [row for row in ROWS if row not in ELSEWHERE])
def test_every_fault_has_a_test(row: str) -> None:
    assert COVERED.get(row), f"no test covers {row}"
    for test in COVERED[row]:
        file, _, name = test.partition("::")
        assert name in names_in(TESTS / file), f"{row}: there is no {test}"


def test_every_fault_test_names_a_known_fault() -> None:
    assert COVERED.keys() <= set(ROWS)
    assert not COVERED.keys() & ELSEWHERE


def names_in(file: Path) -> set[str]:
    module = ast.parse(file.read_text())
    return {node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
