"""What pods of the same template have in common, across jobs: containers, images, requests and node selector.

The names of pods and jobs differ from one submission to the next, so equal runs are found by this hash.
"""

from __future__ import annotations

import hashlib

import msgspec

from stromboli import kube

_LENGTH = 16


def template_of(pod: kube.Pod) -> str:
    """Return a hash that pods share if they run the same containers with the same requests."""
    spec = pod.spec
    content = (
        [(each.name, each.image, each.resources) for each in spec.containers or ()],
        [(each.name, each.image, each.resources) for each in spec.init_containers or ()],
        spec.node_selector,
    )
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:_LENGTH]
