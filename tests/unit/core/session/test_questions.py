"""What a session asks, where the answers of several plugins depend on each other."""

from __future__ import annotations

from stromboli.core.config.plugin import Plugin
from stromboli.core.model.jobs.job import Job
from tests.testing.random_clusters import objects
from tests.testing.random_clusters.engine import program_of, session_of, with_plugin


class Attentive(Plugin):
    """Wants to be asked after every task."""

    name = "attentive"

    def job_ready(self, job: Job) -> bool:
        return True


class Patient(Plugin):
    """Has nothing against two at a time."""

    name = "patient"

    def tasks_until_ready(self, job: Job) -> int:
        return 2


def tasks_until_ready(*plugins: type[Plugin]) -> int:
    text = with_plugin(plugins[0].name) + "".join(f"  - name: {plugin.name}\n" for plugin in plugins[1:])
    session = session_of(objects.gang("gang", 5, objects.template({"cpu": "1"})), program_of(text, plugins))
    return session.tasks_until_ready(session.jobs["team/gang"])


def test_gang_is_placed_in_one_step_without_job_ready_only_plugins() -> None:
    assert tasks_until_ready(Patient) == 5


def test_plugin_with_job_ready_alone_is_asked_after_every_task() -> None:
    assert tasks_until_ready(Attentive) == 1
    assert tasks_until_ready(Attentive, Patient) == 1
