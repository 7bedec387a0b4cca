"""A member of a bind request as the order that steps and bindings understand."""

from __future__ import annotations

from stromboli.binding.orders import BindOrder
from stromboli.binding.plugins.plugin import Bind
from stromboli.core.model.volumes.volumes import VolumeChoice, VolumeOrder


def order_of(bind: Bind) -> BindOrder:
    metadata, member = bind.pod.metadata, bind.member
    return BindOrder(
        member.pod_uid, metadata.namespace, metadata.name, member.selected_node,
        dict(bind.annotations), volumes_of(bind), dict(bind.labels),
    )  # fmt: skip


def volumes_of(bind: Bind) -> VolumeOrder | None:
    member = bind.member
    if not member.volumes:
        return None
    choices = tuple(VolumeChoice(each.claim, each.volume) for each in member.volumes)
    return VolumeOrder(choices, float(member.volume_seconds))
