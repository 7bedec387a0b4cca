"""The HTTP proxy between the client and the server: from the kubeconfig, else from the environment."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from stromboli.kube.client.config.kubeconfig_entries import KubeconfigEntry


def proxy_for(server: str, cluster: KubeconfigEntry) -> str:
    """Return the proxy's URL, or an empty string. Raises ConnectionProblem for an unsupported proxy."""
    if configured := cluster.text("proxy-url"):
        if not configured.startswith(("http://", "https://")):
            raise cluster.problem("proxy-url", f"{configured!r} is not supported", "name an http or https proxy")
        return configured
    return proxy_from_environment(server)


def proxy_from_environment(server: str) -> str:
    """The proxy of the environment, as kubectl: never for the local host."""
    address = urlsplit(server)
    host = address.hostname or ""
    proxies = getproxies()
    if _is_local(host) or proxy_bypass(host):
        return ""
    proxy = proxies.get(address.scheme, "")
    return proxy if proxy.startswith(("http://", "https://")) else ""


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
