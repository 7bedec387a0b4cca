"""Which API server to talk to, and as whom: what a kubeconfig, a pod or a test decides before the first request."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from stromboli.kube.client.config.credentials import Anonymous, Credentials


class ConnectionProblem(ValueError):
    """It is not known how to reach the server: the message names the place to look at and says what to do."""


@dataclass(frozen=True, slots=True)
class Connection:
    """An address, how it proves who it is, and how we do."""

    server: str
    #: Who is trusted to be the server; None speaks plain HTTP, which only local proxies offer.
    ssl: ssl.SSLContext | None
    credentials: Credentials = field(default_factory=Anonymous)
    #: An HTTP proxy, as a URL; empty for none.
    proxy: str = ""
    #: The namespace of objects that do not say theirs.
    namespace: str = "default"
    #: The name in the server's certificate, where it differs from the address.
    server_name: str = ""
    #: The path of a socket to use instead of the network, for a server on the same machine; empty for none.
    socket: str = ""
