"""Connection settings: the server's address, TLS, credentials and proxy."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from stromboli.kube.client.config.credentials import Anonymous, Credentials


class ConnectionProblem(ValueError):
    """No usable connection settings: the message names their source and a remedy."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach one API server and authenticate to it."""

    server: str
    #: TLS settings to verify the server; None for plain HTTP, which only local proxies offer.
    ssl: ssl.SSLContext | None
    credentials: Credentials = field(default_factory=Anonymous)
    #: An HTTP proxy, as a URL; empty for none.
    proxy: str = ""
    #: The namespace of objects without one.
    namespace: str = "default"
    #: The name in the server's certificate, if it differs from the address.
    server_name: str = ""
    #: The path of a Unix socket to use instead of the network, for a server on the same machine; empty for none.
    socket: str = ""
