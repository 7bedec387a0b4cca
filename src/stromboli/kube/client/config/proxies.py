"""Whether there is a proxy between us and the server: the kubeconfig says so, or else the environment."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from stromboli.kube.client.config.kubeconfig_entries import KubeconfigEntry


def proxy_for(server: str, cluster: KubeconfigEntry) -> str:
    """The proxy's URL, or nothing. Raises ConnectionProblem for one that cannot be spoken to."""
    if configured := cluster.text("proxy-url"):
        if not configured.startswith(("http://", "https://")):
            raise cluster.problem("proxy-url", f"{configured!r} cannot be used", "name an http or https proxy")
        return configured
    return proxy_from_environment(server)


def proxy_from_environment(server: str) -> str:
    """As kubectl: never for this very machine, whatever the environment says."""
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
