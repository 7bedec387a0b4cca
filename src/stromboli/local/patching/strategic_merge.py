"""Strategic merge patches: merge patches with keyed lists and directives.

`$patch` replaces or deletes a map or an item, `$retainKeys` clears the other branches of a union,
`$deleteFromPrimitiveList/x` removes values from a set, and `$setElementOrder/x` defines the order of a list.
"""

from __future__ import annotations

from typing import Any

from stromboli.local.patching.list_order import arranged
from stromboli.local.patching.patches import MalformedPatch
from stromboli.local.patching.shapes import BUILT_IN, Shape

_DELETE_PREFIX = "$deleteFromPrimitiveList/"
_ORDER_PREFIX = "$setElementOrder/"


def strategic_merge(target: dict[str, Any], patch: Any) -> dict[str, Any]:
    """Merge the patch into `target`. Unchanged parts are shared with `target`, nothing is changed in place."""
    if not isinstance(patch, dict):
        raise MalformedPatch("a strategic merge patch is an object")
    return _merge_map(target, patch, BUILT_IN)


def _merge_map(target: Any, patch: dict[str, Any], shape: Shape) -> dict[str, Any]:
    fresh = {name: change for name, change in patch.items() if not name.startswith("$")}
    match patch.get("$patch", "merge"):
        case "replace":
            return _cleaned(fresh)
        case "delete":
            return {}
        case "merge":
            merged = dict(target) if isinstance(target, dict) else {}
        case directive:
            raise MalformedPatch(f"unknown $patch directive {directive!r}")
    if len(fresh) < len(patch):
        _delete_from_sets(merged, patch)
    for name, change in fresh.items():
        if change is None:
            merged.pop(name, None)
        elif isinstance(change, dict | list):
            _merge_field(merged, name, change, shape.field(name))
        else:
            merged[name] = change
    if len(fresh) < len(patch):
        _order_lists(merged, patch, shape)
    return _retained(merged, patch.get("$retainKeys"))


def _merge_field(merged: dict[str, Any], name: str, change: dict[str, Any] | list[Any], shape: Shape) -> None:
    if isinstance(change, list):
        merged[name] = _merge_list(merged.get(name), change, shape)
    elif change.get("$patch") == "delete":
        merged.pop(name, None)
    else:
        merged[name] = _merge_map(merged.get(name), change, shape)


def _merge_list(target: Any, patch: list[Any], shape: Shape) -> list[Any]:
    items = target if isinstance(target, list) else []
    if shape.is_set:
        return list(dict.fromkeys(_plain([*items, *patch])))
    if not shape.keys or not all(isinstance(item, dict) for item in (*items, *patch)):
        return _cleaned(patch)
    if any(item.get("$patch") == "replace" for item in patch):
        return [_cleaned(item) for item in patch if item.get("$patch") != "replace"]
    return _merge_items(items, patch, shape)


def _merge_items(items: list[Any], patch: list[Any], shape: Shape) -> list[Any]:
    key = shape.keys[0]
    merged = list(items)
    for change in patch:
        if key not in change:
            raise MalformedPatch(f"map: {change} does not contain declared merge key: {key}")
        places = [place for place, item in enumerate(merged) if item.get(key) == change[key]]
        if change.get("$patch") == "delete":
            merged = [item for item in merged if item.get(key) != change[key]]
        elif places:
            merged[places[0]] = _merge_map(merged[places[0]], change, shape.item())
        else:
            merged.append(_merge_map({}, change, shape.item()))
    return _arranged(merged, [item.get(key) for item in items], [change[key] for change in patch], key)


def _arranged(items: list[Any], live: list[Any], named: list[Any], key: str) -> list[Any]:
    """The items ordered by key: by position, and by the named order. Some keys may have no item."""
    by_key: dict[Any, list[Any]] = {}
    for item, value in zip(items, _plain([item.get(key) for item in items]), strict=True):
        by_key.setdefault(value, []).append(item)
    order = arranged(list(dict.fromkeys(_plain(live))), list(dict.fromkeys(_plain(named))))
    return [item for value in order for item in by_key.get(value, ())]


def _delete_from_sets(merged: dict[str, Any], patch: dict[str, Any]) -> None:
    for directive, gone in patch.items():
        if directive.startswith(_DELETE_PREFIX):
            name = directive.removeprefix(_DELETE_PREFIX)
            if isinstance(merged.get(name), list) and isinstance(gone, list):
                merged[name] = [value for value in merged[name] if value not in gone]


def _order_lists(merged: dict[str, Any], patch: dict[str, Any], shape: Shape) -> None:
    for directive, order in patch.items():
        if directive.startswith(_ORDER_PREFIX) and isinstance(order, list):
            name = directive.removeprefix(_ORDER_PREFIX)
            if isinstance(merged.get(name), list):
                merged[name] = _ordered(merged[name], order, shape.field(name))


def _ordered(items: list[Any], order: list[Any], shape: Shape) -> list[Any]:
    if shape.keys and all(isinstance(item, dict) for item in (*items, *order)):
        key = shape.keys[0]
        return _arranged(items, [item.get(key) for item in items], [item.get(key) for item in order], key)
    if shape.is_set:
        return arranged(items, [value for value in order if value in items])
    return items


def _plain(values: list[Any]) -> list[Any]:
    """Scalars by which items can be compared; rejects lists and objects."""
    if any(isinstance(value, dict | list) for value in values):
        raise MalformedPatch("expected a scalar, got a list or an object")
    return values


def _retained(merged: dict[str, Any], retained: Any) -> dict[str, Any]:
    if not isinstance(retained, list):
        return merged
    return {name: value for name, value in merged.items() if name in retained}


def _cleaned(value: Any) -> Any:
    """A replacement value without directives and without removed parts."""
    if isinstance(value, dict):
        fields = {name: field for name, field in value.items() if not name.startswith("$") and field is not None}
        return {name: _cleaned(field) for name, field in fields.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value
