"""Groups of keys take turns, and a group keeps the order of its keys."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stromboli.kube.work.fair_keys import FairKeys


def taken(keys: FairKeys[str]) -> list[str]:
    order = []
    while keys:
        order.append(next(iter(keys)))
        keys.take(order[-1])
    return order


def test_groups_take_turns() -> None:
    keys: FairKeys[str] = FairKeys(lambda key: key[0])
    for key in ("a1", "a2", "a3", "b1", "c1", "b2"):
        assert keys.add(key)
    assert taken(keys) == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_without_groups_keys_are_taken_in_order_of_arrival() -> None:
    keys: FairKeys[str] = FairKeys()
    assert [keys.add(key) for key in ("c", "a", "c", "b")] == [True, True, False, True]
    assert taken(keys) == ["c", "a", "b"]


def test_key_moves_with_its_group() -> None:
    groups = {"1": "many", "2": "many", "3": "many"}
    keys = FairKeys(groups.__getitem__)
    for key in groups:
        keys.add(key)
    groups["3"] = "few"
    assert not keys.add("3")
    assert taken(keys) == ["1", "3", "2"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=60), st.data())
def test_no_group_is_passed_over_twice_while_it_waits(added: list[tuple[str, int]], data: st.DataObject) -> None:
    keys: FairKeys[tuple[str, int]] = FairKeys(lambda key: key[0])
    since: dict[str, Counter[str]] = {}
    for key in added:
        keys.add(key)
        if data.draw(st.booleans()):
            group = next(iter(keys))[0]
            keys.take(next(iter(keys)))
            for other in {each[0] for each in keys} - {group}:
                turns = since.setdefault(other, Counter())
                turns[group] += 1
                assert turns[group] <= 2
            since.pop(group, None)
        assert len(keys) == len(set(keys))
        assert all(each in keys for each in keys)
