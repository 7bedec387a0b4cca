"""The partitioning of devices: the ConfigMap of the device plugins, or built-in defaults.

Only this part of the ConfigMap is read here; the rest is for device plugins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stromboli.core.config.configuration_errors import ConfigurationError, Findings
from stromboli.core.config.yaml_lines import read_tree
from stromboli.core.plugins.deviceshare.ascend import ChipModel, ChipTemplate
from stromboli.core.plugins.deviceshare.instances import Geometries, Geometry, Template

#: The file of the ConfigMap.
FILE = "device-config.yaml"


@dataclass(frozen=True, slots=True)
class DeviceCatalog:
    geometries: Geometries
    #: By the common part of the names of a chip.
    chips: Mapping[str, ChipModel]


def read_catalog(data: Mapping[str, str]) -> DeviceCatalog:
    """Parse a ConfigMap; missing sections have the built-in defaults.

    Raises ValueError that describes the problem.
    """
    text = data.get(FILE)
    if text is None:
        raise ValueError(f"data has no {FILE}")
    try:
        findings = Findings(FILE)
        tree = read_tree(text, findings).plain()
        findings.raise_if_any()
    except ConfigurationError as error:
        raise ValueError(str(error)) from None
    if not isinstance(tree, dict):
        raise ValueError(f"{FILE}: expected a mapping")
    maker = _mapping(tree.get("nvidia") or {}, "nvidia")
    geometries, chips = maker.get("knownMigGeometries"), tree.get("vnpus")
    chips = chips.get("configs") if isinstance(chips, dict) else chips
    return DeviceCatalog(
        STANDARD.geometries if geometries is None else tuple(_models(geometries, "nvidia.knownMigGeometries")),
        STANDARD.chips if chips is None else {chip.word: chip for chip in _chips(chips, "vnpus")},
    )


def _models(entries: object, where: str) -> list[tuple[tuple[str, ...], tuple[Geometry, ...]]]:
    found = []
    for place, entry in enumerate(_list(entries, where)):
        here = f"{where}[{place}]"
        fields = _mapping(entry, here)
        models = tuple(str(model) for model in _list(fields.get("models"), f"{here}.models"))
        sets = _list(fields.get("allowedGeometries"), f"{here}.allowedGeometries")
        found.append((models, tuple(_geometry(each, f"{here}.allowedGeometries[{n}]") for n, each in enumerate(sets))))
    return found


def _geometry(entry: object, where: str) -> Geometry:
    fields = _mapping(entry, where)
    templates = _list(fields.get("geometries"), f"{where}.geometries")
    return Geometry(
        _text(fields, "group", where),
        tuple(_template(each, f"{where}.geometries[{number}]") for number, each in enumerate(templates)),
    )


def _template(entry: object, where: str) -> Template:
    fields = _mapping(entry, where)
    return Template(
        _text(fields, "name", where), _number(fields, "memory", where), _number(fields, "count", where, most=_MANY)
    )


def _chips(entries: object, where: str) -> list[ChipModel]:
    found = []
    for place, entry in enumerate(_list(entries, where)):
        here = f"{where}[{place}]"
        fields = _mapping(entry, here)
        capacity = _number(fields, "memoryCapacity", here)
        templates = _list(fields.get("templates") or [], f"{here}.templates")
        found.append(
            ChipModel(
                _text(fields, "commonWord", here),
                _number(fields, "memoryAllocatable", here, capacity),
                capacity,
                _number(fields, "aiCore", here),
                _number(fields, "aiCPU", here, 0),
                tuple(_part(each, f"{here}.templates[{number}]") for number, each in enumerate(templates)),
            )
        )
    return found


def _part(entry: object, where: str) -> ChipTemplate:
    fields = _mapping(entry, where)
    return ChipTemplate(
        _text(fields, "name", where),
        _number(fields, "memory", where),
        _number(fields, "aiCore", where),
        _number(fields, "aiCPU", where, 0),
    )


#: More instances than any GPU can be cut into.
_MANY = 1024


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{FILE}: {where} must be a mapping")
    return value


def _list(value: object, where: str) -> Sequence[object]:
    if not isinstance(value, list):
        raise ValueError(f"{FILE}: {where} must be a list")
    return value


def _text(fields: Mapping[str, Any], key: str, where: str) -> str:
    if not isinstance(fields.get(key), str) or not fields[key]:
        raise ValueError(f"{FILE}: {where}.{key} must be a text")
    return str(fields[key])


def _number(
    fields: Mapping[str, Any], key: str, where: str, otherwise: int | None = None, most: int | None = None
) -> int:
    value = fields.get(key, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0 or (most is not None and value > most):
        limit = f" up to {most}" if most is not None else ""
        raise ValueError(f"{FILE}: {where}.{key} must be a whole number{limit}")
    return value


def _cut(name: str, *templates: tuple[str, int, int]) -> Geometry:
    return Geometry(name, tuple(Template(*template) for template in templates))


def _a100(
    small: str, one: int, middle: str, two: int, half: str, three: int, whole: str, all_of_it: int
) -> tuple[Geometry, ...]:
    return (
        _cut("group1", (small, one, 7)),
        _cut("group2", (middle, two, 3), (small, one, 1)),
        _cut("group3", (half, three, 2)),
        _cut("group4", (whole, all_of_it, 1)),
    )


def _chip(
    word: str, memory: int, capacity: int, cores: int, helpers: int, *parts: tuple[str, int, int, int]
) -> ChipModel:
    return ChipModel(word, memory, capacity, cores, helpers, tuple(ChipTemplate(*part) for part in parts))


STANDARD = DeviceCatalog(
    (
        (
            ("A30",),
            (
                _cut("group1", ("1g.6gb", 6144, 4)),
                _cut("group2", ("2g.12gb", 12288, 2)),
                _cut("group3", ("4g.24gb", 24576, 1)),
            ),
        ),
        (
            ("A100-SXM4-40GB", "A100-40GB-PCIe", "A100-PCIE-40GB"),
            _a100("1g.5gb", 5120, "2g.10gb", 10240, "3g.20gb", 20480, "7g.40gb", 40960),
        ),
        (
            ("A100-SXM4-80GB", "A100-80GB-PCIe", "A100-PCIE-80GB"),
            _a100("1g.10gb", 10240, "2g.20gb", 20480, "3g.40gb", 40960, "7g.79gb", 80896),
        ),
    ),
    {
        chip.word: chip
        for chip in (
            _chip(
                "Ascend910A", 32768, 32768, 30, 0,
                ("vir02", 2184, 2, 0), ("vir04", 4369, 4, 0), ("vir08", 8738, 8, 0), ("vir16", 17476, 16, 0),
            ),
            _chip(
                "Ascend910B2", 65536, 65536, 24, 6,
                ("vir03_1c_8g", 8192, 3, 1), ("vir06_1c_16g", 16384, 6, 1), ("vir12_3c_32g", 32768, 12, 3),
            ),
            _chip("Ascend910B3", 65536, 65536, 20, 7, ("vir05_1c_16g", 16384, 5, 1), ("vir10_3c_32g", 32768, 10, 3)),
            _chip("Ascend910B4-1", 65536, 65536, 20, 7, ("vir05_1c_8g", 8192, 5, 1), ("vir10_3c_16g", 16384, 10, 3)),
            _chip("Ascend910B4", 32768, 32768, 20, 7, ("vir05_1c_8g", 8192, 5, 1), ("vir10_3c_16g", 16384, 10, 3)),
            _chip("Ascend910C", 65536, 65536, 24, 7),
            _chip(
                "Ascend310P", 21527, 24576, 8, 7,
                ("vir01", 3072, 1, 1), ("vir02", 6144, 2, 2), ("vir04", 12288, 4, 4),
            ),
        )
    },
)  # fmt: skip
