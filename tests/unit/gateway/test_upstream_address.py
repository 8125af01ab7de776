"""Where a call goes below a provider's base URL."""

from __future__ import annotations

import pytest

from agentlab.gateway.upstream import _join  # pyright: ignore[reportPrivateUsage]

HOST = "https://api.example.com"
GEMINI = "/v1beta/models/m:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    ("url", "target", "wanted"),
    [
        (f"{HOST}/v1", "/chat/completions", f"{HOST}/v1/chat/completions"),
        (f"{HOST}/v1", "/v1/messages?beta=true", f"{HOST}/v1/messages?beta=true"),
        (HOST, "/v1/messages", f"{HOST}/v1/messages"),
        (f"{HOST}/v1", GEMINI, f"{HOST}{GEMINI}"),
        (f"{HOST}/v1beta", GEMINI, f"{HOST}{GEMINI}"),
        (HOST, GEMINI, f"{HOST}{GEMINI}"),
        (f"{HOST}/api/v4", "/v1/messages", f"{HOST}/api/v4/v1/messages"),
        (f"{HOST}/v1", "/responses", f"{HOST}/v1/responses"),
    ],
)
def test_one_address_with_a_version_is_right_for_all_wires(url: str, target: str, wanted: str) -> None:
    assert _join(url, target) == wanted
