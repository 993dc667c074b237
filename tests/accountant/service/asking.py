"""Applications, asked without a network."""

import asyncio
from typing import Any

import httpx
from starlette.types import ASGIApp


class Http:
    """An application, asked in this thread."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._runner = asyncio.Runner()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(self.app), base_url="http://here"
            ) as client:
                return await client.request(method, path, **options)

        return self._runner.run(ask())

    def together(self, times: int, method: str, path: str, **options: Any) -> list[httpx.Response]:
        """Ask the same so many times at one time."""

        async def ask() -> list[httpx.Response]:
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(self.app), base_url="http://here"
            ) as client:
                return await asyncio.gather(*(client.request(method, path, **options) for _ in range(times)))

        return self._runner.run(ask())

    def close(self) -> None:
        self._runner.close()


def refused(answer: Any, status: int, kind: str) -> str:
    """Return the words of a refusal, which has this status and kind and nothing private."""
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["kind"] == kind
    assert "8314" not in answer.text
    return str(answer.json()["error"]["message"])
