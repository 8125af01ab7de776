"""Settings: what works is accepted, everything else is refused with a sentence that says what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentlab.errors import ConfigError
from agentlab.gateway import Fault, Gateway, Pin, Price, PromptCache, ScriptedModel, Step
from agentlab.gateway.admission import Asked
from agentlab.gateway.canonical import Canonical
from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.dialects.base import CacheUse

MODEL = ScriptedModel(
    [
        Step(
            text=["a", "b"],
            reasoning="r",
            tools=[("read", {"filePath": "x"}), {"name": "bad", "arguments": "{"}],
            usage={"prompt_tokens": 5},
            ttft_s=0.5,
            tokens_per_s=10,
            fault=Fault("status", code=429, retry_after_s=1, times=None),
            when={"turn": 1, "has_tools": True},
        ),
        Step(usage=None, finish="length"),
    ],
    match="rule",
    cache=PromptCache(scope="arm", lifetime_s=60),
    side=None,
)

PIN = Pin(system="s", tools=[{"name": "read", "description": "", "parameters": {}}], sampling={"top_p": 1})


async def later(asked: Asked) -> bool:
    return asked.run_s > 0


def every_64(prompt: Canonical) -> range:
    return range(64, prompt.n_tokens + 1, 64)


@pytest.mark.parametrize(
    "gateway",
    [
        Gateway(MODEL, max_requests=5, max_seconds=2.5, max_total_requests=9),
        Gateway(MODEL, price=Price(1, 2, "0.1"), budget_usd=0.1, bound="hard", max_output_tokens=5),
        Gateway(MODEL, price={"m": Price(1, 2), "n": Price(3, 4, above_tokens=5, above=Price(6, 8))}),
        Gateway(MODEL, mode="pinned", pin=PIN, tools=["read"], admit="json:dumps"),
        Gateway("https://api.example.com/v1", key_env="MY_KEY"),
        Gateway("http://127.0.0.1:8000/v1", key_env="MY_KEY"),
    ],
)
def test_settings_survive_as_plain_data(gateway: Gateway) -> None:
    data = json.loads(json.dumps(gateway.to_dict(), allow_nan=False))
    again = Gateway.from_dict(data)
    assert again == gateway
    assert again.to_dict() == gateway.to_dict()
    assert again.env_names == gateway.env_names


def test_shipped_scripts_load_and_state_no_tokens() -> None:
    folder = Path(sys.modules["agentlab.gateway.script"].__file__ or "").with_name("scripts")
    names = sorted(path.stem for path in folder.glob("*.json"))
    assert "cache-probe" in names
    for name in names:
        script = ScriptedModel.load(name)
        assert ScriptedModel.from_dict(script.to_dict()) == script
        assert all(step.usage == "computed" for step in script.steps)
        assert "token" not in (folder / f"{name}.json").read_text().replace("tokens_per_s", "")


def test_a_script_of_ones_own_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(MODEL.to_dict()))
    assert ScriptedModel.load(file) == MODEL
    for text in ("{", "[]", "{}", '{"steps": [{"txt": "a"}]}', '{"steps": [], "more": 1}', '{"steps": [1]}'):
        file.write_text(text)
        with pytest.raises(ConfigError, match=r"mine\.json"):
            ScriptedModel.load(file)
    with pytest.raises(ConfigError, match=r"mine\.json"):
        file.unlink()
        ScriptedModel.load(file)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ScriptedModel.load("nope"), "'cache-probe'"),
        (lambda: ScriptedModel([]), "at least one"),
        (lambda: ScriptedModel(["hi"]), "Step"),  # type: ignore[list-item]
        (lambda: ScriptedModel([Step()], match="best"), "'order' or 'rule'"),  # type: ignore[arg-type]
        (lambda: ScriptedModel([Step(when={"turn": 1})]), "match='rule'"),
        (lambda: ScriptedModel([Step()], cache={}), "PromptCache"),  # type: ignore[arg-type]
        (lambda: ScriptedModel([Step()], side=5), "text or None"),  # type: ignore[arg-type]
        (lambda: Step(when={"turns": 1}), "there is has_tools"),
        (lambda: Step(when={"turn": True}), "int"),
        (lambda: Step(when={"has_tools": 1}), "bool"),
        (lambda: Step(text=5), "string"),  # type: ignore[arg-type]
        (lambda: Step(text=["a", 1]), "string"),  # type: ignore[list-item]
        (lambda: Step(tools=["read"]), "name"),
        (lambda: Step(tools=[{"name": "read", "input": {}}]), "arguments"),
        (lambda: Step(tools=[("read", {"a": {1}})]), "plain JSON"),
        (lambda: Step(usage={"prompt_tokens_details": {"cached_tokens": 5}}), "no script states"),
        (lambda: Step(usage="none"), "computed"),  # type: ignore[arg-type]
        (lambda: Step(ttft_s=-1), "from 0"),
        (lambda: Step(ttft_s=float("nan")), "from 0"),
        (lambda: Step(tokens_per_s=0), "from 0.001"),
        (lambda: Step(finish=""), "length"),
        (lambda: Step(fault="explode"), "hang"),
        (lambda: Step(fault={"kind": "cut", "when": 1}), "fault"),
        (lambda: Step(fault=3), "Fault"),  # type: ignore[arg-type]
        (lambda: Fault("status", code=200), "400 to 599"),
        (lambda: Fault("cut", after=-1), "from 0"),
        (lambda: Fault("cut", times=0), "from 1"),
        (lambda: PromptCache(rule="mistral"), "'anthropic' or the importable"),
        (lambda: PromptCache(rule=lambda p: []), "by name"),  # type: ignore[arg-type]
        (lambda: PromptCache(scope="session"), "'run', 'arm' or 'study'"),  # type: ignore[arg-type]
        (lambda: PromptCache(lifetime_s=0), "above 0"),
        (lambda: PromptCache.from_dict({"size": 1}), "size"),
        (lambda: Gateway(MODEL, price=1), "Price\\(input"),  # type: ignore[arg-type]
        (lambda: Gateway(MODEL, price={}), "Price\\(input"),
        (lambda: Gateway(MODEL, price={"m": 1}), "Price\\(input"),  # type: ignore[dict-item]
        (lambda: Gateway("https://api.example.com", budget_usd=1), "without a price"),
        (lambda: Gateway(MODEL, budget_usd=0), "above 0"),
        (lambda: Gateway(MODEL, budget_usd="lots"), "from 0"),
        (lambda: Gateway(MODEL, mode="strict"), "'pass' or 'pinned'"),  # type: ignore[arg-type]
        (lambda: Gateway(MODEL, mode="pinned"), "give both or neither"),
        (lambda: Gateway(MODEL, pin=Pin(system="s")), "give both or neither"),
        (lambda: Gateway(MODEL, bound="loose"), "'calibrated' or 'hard'"),  # type: ignore[arg-type]
        (lambda: Gateway(MODEL, tools="read"), "names of the tools"),
        (lambda: Gateway(MODEL, tools=[]), "once"),
        (lambda: Gateway(MODEL, tools=["a", "a"]), "once"),
        (lambda: Gateway(MODEL, mode="pinned", pin=PIN, tools=["bash"]), "leave tools= out"),
        (lambda: Gateway(MODEL, admit="decide"), "module:function"),
        (lambda: Gateway(MODEL, admit=lambda _: True), "by name"),
        (lambda: Gateway(MODEL, max_output_tokens=0), "from 1"),
        (lambda: Gateway(MODEL, max_total_requests=0), "from 1"),
        (lambda: Pin(system=5), "a text"),  # type: ignore[arg-type]
        (lambda: Pin(system="", tools=[{"name": "x"}]), "parameters"),
        (lambda: Pin(system="", sampling={"top_k": 1}), "top_k"),
        (lambda: Pin(system="", sampling={"max_output_tokens": 0}), "from 1"),
        (lambda: Pin(system="", sampling={"temperature": -1}), "from 0"),
        (lambda: Gateway(MODEL, max_requests=0), "from 1"),
        (lambda: Gateway(MODEL, max_seconds=0), "above 0"),
        (lambda: Gateway(MODEL, key_env="KEY"), "needs no key"),
        (lambda: Gateway(object()), "Tape"),  # type: ignore[arg-type]
        (lambda: Gateway("api.example.com/v1"), "https://"),
        (lambda: Gateway("https://me:pw@example.com"), "without login"),
        (lambda: Gateway("https://api.example.com:99999/v1"), "https://"),
        (lambda: Gateway("https://api..example.com/v1"), "https://"),
        (lambda: Gateway("https://api.exam ple.com/v1"), "https://"),
        (lambda: Gateway("http://[::1/v1"), "https://"),
        (lambda: Gateway(MODEL, admit=later), "async"),
        (lambda: Gateway("http://example.com/v1", key_env="KEY"), "https only"),
    ],
)
def test_what_is_wrong_is_said(make: Any, says: str) -> None:  # noqa: ANN401
    with pytest.raises(ConfigError, match=says):
        make()


def test_a_key_given_in_place_of_its_name_is_not_shown() -> None:
    with pytest.raises(ConfigError) as error:
        Gateway("https://api.example.com/v1", key_env="sk-very-secret")
    assert "secret" not in str(error.value)


def test_a_rule_may_be_a_function_and_travels_by_its_name() -> None:
    cache = PromptCache(rule=every_64)  # type: ignore[arg-type]
    assert cache.rule == f"{__name__}:every_64"
    assert PromptCache.from_dict(cache.to_dict()) == cache
    body = {"messages": [{"role": "user", "content": "x" * 1000}]}
    request = DIALECTS["chat"].parse(json.dumps(body).encode())
    store = cache.open()
    store.store("run", request)
    assert store.serve("run", request) == CacheUse(read=request.canonical.n_tokens // 64 * 64)
    for absent in ("no_such_module_here:f", "json:absent", "json:__name__"):
        with pytest.raises(ConfigError, match=absent):
            PromptCache(rule=absent).open()


def test_settings_are_cheap_to_import() -> None:
    code = (
        "import sys, agentlab as al; al.Gateway, al.ScriptedModel, al.Step, al.PromptCache; "
        "heavy = {'aiohttp', 'numpy', 'pandas', 'httpx', 'asyncio', 'msgspec'}; "
        "print(heavy & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"


def test_a_gateway_of_a_long_script_shows_itself_in_a_few_lines():
    shown = repr(Gateway(ScriptedModel.load("cache-probe")))
    assert "ScriptedModel of 6 steps" in shown and len(shown) < 500
