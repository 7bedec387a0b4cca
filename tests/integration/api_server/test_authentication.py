"""Authentication, and documents about the server."""

from __future__ import annotations

import stat
from pathlib import Path

import aiohttp
import pytest

from stromboli.kube.client.api_errors import Unreachable
from stromboli.kube.client.client import Client
from stromboli.kube.client.config.kubeconfig import load_kubeconfig
from stromboli.kube.objects.catalogue import NAMESPACES
from stromboli.local.api_server.server import ApiServer
from tests.integration.api_server.http_api import PODS, HttpApi


async def test_anonymous_request_reads_health_only(api: HttpApi) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as stranger:
        for path, status in (
            ("/version", 200),
            ("/healthz", 200),
            ("/livez", 200),
            ("/readyz", 200),
            (PODS, 403),
            ("/api", 403),
        ):
            async with stranger.get(api.url + path) as response:
                assert response.status == status, path
                if status == 403:
                    assert 'User "system:anonymous" cannot ' in (await response.json())["message"]
        async with stranger.get(api.url + PODS, headers={"Authorization": "Bearer wrong"}) as response:
            assert (await response.json())["reason"] == "Unauthorized"


@pytest.mark.only("embedded", because="the kubeconfig is that of the local server")
async def test_kubeconfig_authenticates(tmp_path: Path) -> None:
    async with ApiServer() as server:
        path = tmp_path / "config"
        server.write_kubeconfig(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        async with Client(load_kubeconfig(str(path))) as client:
            listing = await client.list(NAMESPACES)
    names = {namespace.metadata.name for namespace in listing.items}
    assert {"default", "kube-system", "kube-public"} <= names


@pytest.mark.only("embedded", because="the real one cannot be stopped and started here")
async def test_restart_keeps_objects() -> None:
    async with ApiServer() as server, Client(server.connection) as client:
        url = server.url
        await client.create(NAMESPACES, {"metadata": {"name": "team"}})
        await server.stop()
        with pytest.raises(Unreachable):
            await client.get(NAMESPACES, "team")
        await server.start()
        assert server.url == url
        assert (await client.get(NAMESPACES, "team")).metadata.name == "team"


async def test_access_reviews_are_allowed(api: HttpApi) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "delete", "resource": "nodes"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert (await api.post(path, review)).body["status"] == {"allowed": True}
    who = await api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert "system:masters" in who.body["status"]["userInfo"]["groups"]
    assert (await api.get(path)).status == 405


async def test_discovery_follows_crds(api: HttpApi, volcano: HttpApi) -> None:
    groups = (await api.get("/apis")).body["groups"]
    assert "scheduling.volcano.sh" in {group["name"] for group in groups}
    resources = (await api.get("/apis/scheduling.volcano.sh/v1beta1")).body["resources"]
    assert {"podgroups", "queues", "queues/status"} <= {resource["name"] for resource in resources}
    assert (await api.get("/apis/unknown.dev/v1")).status == 404
    assert (await api.get("/nowhere")).status == 404
