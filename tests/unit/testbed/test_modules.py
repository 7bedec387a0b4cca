"""The binaries of the control plane fit together."""

import re

from testbed.assets import MODULES


def test_controllers_have_the_version_of_the_api_server() -> None:
    pins = [(MODULES / name / "go.mod").read_text() for name in ("kubernetes", "controller-manager")]
    versions = {match[1] for text in pins if (match := re.search(r"k8s.io/kubernetes (v\S+)", text))}
    assert len(versions) == 1
