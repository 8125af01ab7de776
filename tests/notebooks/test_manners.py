"""How agentlab behaves in a real kernel: completion, the line magic, nested loops, what a cell shows."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

_HEAVY = ("numpy", "pandas", "matplotlib", "pyarrow", "scipy", "aiohttp", "httpx", "ipywidgets")


class Kernel:
    """A kernel and its client; a cell's outputs by kind."""

    def __init__(self) -> None:
        self.manager, self.client = start_new_kernel(kernel_name="python3", transport_encryption="auto")

    def run(self, code: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        def note(message: dict[str, Any]) -> None:
            if message["msg_type"] in ("stream", "display_data", "execute_result", "error"):
                found.append({"type": message["msg_type"], **message["content"]})

        # As an executor asks: nobody can answer input(), so there is no live front end.
        self.client.execute_interactive(code, timeout=60, output_hook=note, allow_stdin=False)
        return found

    def value(self, expression: str) -> object:
        (shown,) = self.run(expression)
        return ast.literal_eval(shown["data"]["text/plain"])

    def complete(self, text: str) -> list[str]:
        self.client.complete(text, len(text))
        matches = self.client.get_shell_msg(timeout=30)["content"]["matches"]
        return [match.rpartition(".")[2] for match in matches]

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel():
    made = Kernel()
    made.run("import sys\nimport agentlab as al")
    yield made
    made.close()


# In this order: completion first, while nothing has been used.


@pytest.mark.parametrize("jedi", [True, False])
def test_completion_offers_public_names_and_loads_nothing_heavy(kernel, jedi):
    import agentlab as al

    kernel.run(f"%config Completer.use_jedi = {jedi}")
    assert set(kernel.complete("al.")) == {name for name in al.__all__ if not name.startswith("_")}
    assert "plot_estimates" in kernel.complete("al.plot_")
    assert "reference=" in kernel.complete("al.compare(x, ref")
    assert "TTFT" in kernel.complete("al.metrics.")
    assert kernel.value(f"[name for name in {_HEAVY} if name in sys.modules]") == []


def test_the_extension_loads_twice_and_brings_no_pandas(kernel):
    for _ in range(2):
        shown = kernel.run("%reload_ext agentlab")
        assert [out for out in shown if out["type"] == "error"] == []
    assert kernel.value(f"[name for name in {_HEAVY} if name in sys.modules]") == []
    assert kernel.complete("%agentlab x cache_h") == ["CACHE_HIT_RATE"]


def test_the_magic_is_a_value_with_a_card(kernel):
    kernel.run("cache = al.example('cache')")
    (study,) = kernel.run("%agentlab {cache}")
    assert study["type"] == "execute_result"
    assert study["data"]["text/plain"].startswith("cache: 20 of 20 runs used")
    assert "<table" in study["data"]["text/html"]
    assert kernel.run("estimates = %agentlab $cache ttft --reference stable") == []
    (card,) = kernel.run("estimates")
    assert "volatile − stable" in card["data"]["text/plain"]
    assert kernel.value("estimates.agentlab.table") == "estimates"
    assert kernel.value("type(al).__name__") == "module"  # the magic's name hides nothing


def test_a_line_that_is_wrong_is_one_line(kernel):
    (said,) = kernel.run("%agentlab {cache} TFTT")
    assert "did you mean TTFT" in (said.get("text") or said["evalue"])


def test_what_is_shown_has_a_text_twin_and_needs_no_live_kernel(kernel):
    kernel.run("from agentlab.testing.drivers import Toy\nfrom agentlab.widgets.cards import running_card")
    kernel.run("recs = al.load(cache)")
    made = (
        "recs", "al.compare(recs, 'TTFT')", "recs[0]", "al.doctor()", "al.Scenario('s', turns=['x'])",
        "al.metrics.TTFT", "al.Gateway(al.ScriptedModel.load('cache-probe'))", "recs.runs.agentlab",
        "al.OpenCode(model='lab/scripted')",
    )  # fmt: skip
    for code in made:
        (shown,) = kernel.run(code)
        assert shown["type"] == "execute_result", (code, shown)
        data = shown["data"]
        assert data["text/plain"].strip()
        assert set(data) <= {"text/plain", "text/html", "image/png"}, code
        assert all(len(content) < 200_000 for content in data.values())
        for dropped in ("<style", "<script", "<svg"):
            assert dropped not in data.get("text/html", "")


def test_a_panel_asked_for_without_a_front_end_is_text(kernel, tmp_path):
    kernel.run("hello = al.Scenario('hello', turns=['Say hello.'])")
    options = f"runs=1, to={str(tmp_path / 'study')!r}, host='inline', quiet=None, progress='widget'"
    (shown,) = [
        o for o in kernel.run(f"r = await al.record(hello, Toy(), {options})") if o["type"] != "stream"
    ]
    assert shown["type"] == "display_data"
    assert set(shown["data"]) == {"text/plain"}  # what takes its place later is text and HTML
    assert kernel.value("'ipywidgets' in sys.modules") is False


def test_a_nested_loop_is_refused_until_it_is_allowed(kernel):
    kernel.run("import asyncio\nasync def three():\n    await asyncio.sleep(0.01)\n    return 3")
    (refused,) = [out for out in kernel.run("asyncio.run(three())") if out["type"] == "error"]
    assert refused["ename"] == "RuntimeError"
    kernel.run("from agentlab.notebook import allow_nested_loop\nallow_nested_loop()\nallow_nested_loop()")
    assert kernel.value("asyncio.run(three())") == 3
    assert kernel.value("await three()") == 3  # and what did work still does
    assert kernel.value("asyncio.run(asyncio.wait_for(three(), 1))") == 3
    assert "nest_asyncio" in kernel.value("[name for name in sys.modules if 'nest_asyncio' in name]")
