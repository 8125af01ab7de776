"""A world of our own in a real page, and a profile that is reduced as it is written."""

import gzip
import json

import pytest

from agentlab.wire.cdp import CommandFailed, end_profile, start_profile
from tests.live.test_cdp import paging


async def test_a_world_of_our_own_shares_the_document_and_nothing_else(tmp_path):
    (tmp_path / "a.html").write_text("<p>x</p><script>var mine = 1; requestAnimationFrame = null;</script>")
    async with paging() as page:
        await page.navigate((tmp_path / "a.html").as_uri())
        world = await page.own_world()
        assert await page.evaluate("[typeof mine, typeof requestAnimationFrame]", world=world) == [
            "undefined",
            "function",
        ]
        await page.evaluate("globalThis.ours = 2; document.querySelector('p').textContent = 'y'", world=world)
        assert await page.evaluate("[typeof ours, document.querySelector('p').textContent]") == [
            "undefined",
            "y",
        ]
        await start_profile(page, interval_us=500)
        await page.evaluate("{const t = performance.now() + 50; while (performance.now() < t);}", world=world)
        file = tmp_path / "p.cpuprofile.gz"
        assert await end_profile(page, file, reduce=lambda profile: {"n": len(profile["samples"])}) > 0
        assert json.loads(gzip.decompress(file.read_bytes())).keys() == {"n"}
        await page.navigate("about:blank")
        with pytest.raises(CommandFailed):
            await page.evaluate("1", world=world)
