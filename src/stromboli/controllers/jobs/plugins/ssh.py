"""Passwordless SSH between the pods of a Job: a key pair and a configuration in a Secret, mounted in all containers."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from stromboli.controllers.jobs.plugins.arguments import PluginFlag, PluginWithFlags
from stromboli.controllers.jobs.plugins.containers import add_volume
from stromboli.controllers.jobs.plugins.hosts import TaskHosts, hosts_by_task
from stromboli.controllers.jobs.plugins.plugin import PluginObject
from stromboli.workloads.document import WorkloadDocument
from stromboli.workloads.families.volcano.tasks import VolcanoTask

_PRIVATE, _PUBLIC, _AUTHORISED, _CONFIG = "id_rsa", "id_rsa.pub", "authorized_keys", "config"
_FOLDER = ".ssh"
_KEY_BITS = 2048
#: Clients reject private keys that others may read.
_MODE = 0o600


class SshPlugin(PluginWithFlags):
    name = "ssh"
    flags = (
        PluginFlag("ssh-key-file-path", "/root/.ssh", "the folder of the keys in the containers, by user"),
        PluginFlag("ssh-private-key", "", "a private key in PEM, instead of a generated one", is_secret=True),
        PluginFlag("ssh-public-key", "", "its public key; derived from the private one by default"),
    )

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__(arguments)
        path = self.values["ssh-key-file-path"]
        if not path.startswith("/") or ":" in path:
            raise self.invalid("ssh-key-file-path", path, "is not an absolute path", "write one such as /home/me/.ssh")
        if self.values["ssh-private-key"] and not self.values["ssh-public-key"]:
            self.values["ssh-public-key"] = self._public_key(self.values["ssh-private-key"])

    def _public_key(self, private: str) -> str:
        from cryptography.hazmat.primitives import serialization

        load = serialization.load_ssh_private_key if "OPENSSH" in private else serialization.load_pem_private_key
        try:
            return _authorised(load(private.encode(), None))
        except (ValueError, TypeError, AttributeError):
            raise self.invalid(
                "ssh-private-key", "", "is not a private key without a passphrase", "write it in PEM, or leave it out"
            ) from None

    def edit_pod(self, pod: dict[str, Any], job: WorkloadDocument, task: VolcanoTask, index: int) -> None:
        secret = _secret_name(job)
        items = [{"key": key, "path": f"{_FOLDER}/{key}"} for key in (_PRIVATE, _PUBLIC, _AUTHORISED, _CONFIG)]
        source = {"secretName": secret, "items": items, "defaultMode": _MODE}
        volume = {"name": secret.replace(".", "-"), "secret": source}
        add_volume(pod, volume, self.values["ssh-key-file-path"], subPath=_FOLDER)

    def objects(self, job: WorkloadDocument) -> Sequence[PluginObject]:
        return (PluginObject("v1", "Secret", _secret_name(job), lambda: self._secret(job)),)

    def _secret(self, job: WorkloadDocument) -> dict[str, Any]:
        private, public = self.values["ssh-private-key"], self.values["ssh-public-key"]
        if not private:
            private, public = _generated()
        files = {_PRIVATE: private, _PUBLIC: public, _AUTHORISED: public, _CONFIG: client_configuration(job)}
        data = {name: base64.b64encode(text.encode()).decode() for name, text in files.items()}
        return {"type": "Opaque", "data": data}


def _secret_name(job: WorkloadDocument) -> str:
    return f"{job.name}-ssh"


def _generated() -> tuple[str, str]:
    """Return a new private and public key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode(), _authorised(key)


def _authorised(key: Any) -> str:
    """Return the public key as a line of `authorized_keys`."""
    from cryptography.hazmat.primitives import serialization

    encoding, form = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    line: bytes = key.public_key().public_bytes(encoding, form)
    return f"{line.decode()}\n"


def client_configuration(job: WorkloadDocument) -> str:
    """Return the configuration of the client: short host names of pods stand for hosts of the Service.

    One pattern per task, so that it also matches pods that are added later. The first match counts: the name of a task
    may begin with that of another.
    """
    tasks: Mapping[str, TaskHosts] = hosts_by_task(job)
    lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    for task in sorted(tasks.values(), key=lambda each: (-len(each.name), each.name)):
        pattern = task.host_name or f"{job.name}-{task.name}-* !*.*"
        lines += [f"Host {pattern}", f"  HostName %h.{task.subdomain}"]
    return "\n".join([*lines, ""])
