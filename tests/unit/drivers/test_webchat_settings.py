"""Settings of WebChat: what is refused, what tells two arms apart, and how they reach a run."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

import agentlab as al
from agentlab.drivers.webchat import PAGES, PRESETS, CommandApi, HttpApi
from agentlab.engine.codec import decode, encode
from agentlab.engine.study import Study
from agentlab.testing.drivers import Toy

HTTP = HttpApi(create="POST /chats", send="POST /chats/{session}", status="GET /chats/{session}")
MINE = al.ChatPage(name="mine", address="{url}/c/{session}", composer="textarea", answer=".a", api=HTTP)


def chamber(**settings: Any) -> al.WebChat:  # noqa: ANN401
    return al.WebChat("lab/m", page="openchamber", url="http://localhost:3000", **settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"page": "openchambr"}, "Did you mean 'openchamber'"),
        ({"page": "http://x:1"}, "goes into url="),
        ({"page": MINE}, "give the address of the app"),
        ({"preset": "lite"}, "Did you mean 'light'"),
        ({"viewport": (1600,)}, "width and height"),
        ({"viewport": "1600x1000"}, "width and height"),
        ({"viewport": (True, 1000)}, "width and height"),
        ({"sampling_us": 10}, "sampling_us=10"),
        ({"sampling_us": 1.5}, "sampling_us=1.5"),
        ({"trace_buffer_kb": 0}, "trace_buffer_kb=0"),
        ({"categories": "devtools.timeline"}, "categories"),
        ({"typing": 1}, "typing=1"),
        ({"probe": "yes"}, "probe='yes'"),
        ({"service_worker": "off"}, "service_worker='off'"),
        ({"browser": 3}, "browser=3"),
        ({"url": "localhost:3000"}, "http://HOST:PORT"),
        ({"url": "http://me:pw@localhost:3000"}, "without login"),
        ({"directory": "/a"}, "directory=...): only for a page that names its api"),
        ({"session": "s"}, "only for a page that names its api"),
        ({"gateway": "http://x/v1"}, "gateway="),
    ],
)
def test_a_wrong_setting_is_refused_by_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(al.ConfigError) as refused:
        al.WebChat("lab/m", **settings)
    assert said in str(refused.value) and "pw" not in str(refused.value)


def test_a_driver_has_its_own_settings() -> None:
    opencode = al.OpenCode("lab/m", agent="plan")
    assert al.WebChat(opencode).chat is opencode
    for given in ({"agent": "build"}, {"url": "http://localhost:1"}, {"session": "s"}):
        with pytest.raises(al.ConfigError, match="give that to the driver"):
            al.WebChat(opencode, **given)  # type: ignore[arg-type]
    with pytest.raises(al.ConfigError, match="give it a model"):
        al.WebChat(opencode, page=MINE)
    with pytest.raises(al.ConfigError, match="provider/model"):
        al.WebChat(None)
    with pytest.raises(al.ConfigError, match="who sends the prompts"):
        al.WebChat("lab/m", page=dataclasses.replace(MINE, api=None))


def test_the_recorder_tells_two_arms_apart() -> None:
    arms = al.WebChat("lab/m").recorded(*PRESETS)
    told = {name: json.dumps(arm.identify().settings["recorder"]) for name, arm in arms.items()}
    assert len(set(told.values())) == len(PRESETS) == 6
    assert {name: json.loads(text)["preset"] for name, text in told.items()} == {n: n for n in PRESETS}
    light, own = al.WebChat("lab/m"), al.WebChat("lab/m", sampling_us=500, probe=True)
    assert own.recorder.sampling_us == 500 and own.recorder.probe and own.recorder.preset == "light"
    assert light.recorder.categories_hash == own.recorder.categories_hash
    assert al.WebChat("lab/m", preset="cpu", sampling_us=0).recorder.sampling_us is None
    assert al.WebChat("lab/m", categories=["x"]).recorder.categories == ("x",)
    assert PRESETS["film"].films and not PRESETS["deep"].films
    assert al.WebChat("lab/m", typing=True).identify() != light.identify()


def test_identity_tells_no_address_and_no_folder() -> None:
    private = chamber(directory="/home/me/secret", session="ses_1").identify()
    text = json.dumps(dataclasses.asdict(private))
    assert not any(word in text for word in ("localhost", "/home", "secret", "ses_1"))
    assert (private.driver, private.version, private.model) == ("webchat", None, "lab/m")
    ours = al.WebChat(al.OpenCode("lab/m", system="be brief")).identify()
    assert ours.settings["chat"]["driver"] == "opencode" and "be brief" not in json.dumps(ours.settings)
    assert ours.version == al.OpenCode("lab/m").identify().version


@pytest.mark.parametrize(
    "driver",
    [
        al.WebChat("lab/m", preset="deep", typing=True, viewport=[800, 600]),
        al.WebChat(al.OpenCode("lab/m", gateway=al.Gateway(al.ScriptedModel([al.Step(text="x")])))),
        chamber(directory="/a", agent="plan", keep_session=True),
        al.WebChat("lab/m", page=MINE, url="http://localhost:3000"),
    ],
)
def test_settings_reach_the_measuring_process(driver: al.WebChat) -> None:
    again = decode(json.loads(json.dumps(encode(driver))))
    assert again == driver and again.identify() == driver.identify()


def test_a_gateway_of_the_inner_driver_is_that_of_the_arm() -> None:
    gateway = al.Gateway(al.ScriptedModel([al.Step(text="x")]))
    assert al.WebChat(al.OpenCode("lab/m", gateway=gateway)).gateway is gateway
    outer = al.WebChat("lab/m", gateway=gateway)
    assert outer.chat is not None and outer.chat.gateway is gateway  # type: ignore[attr-defined]
    with pytest.raises(al.ConfigError, match="asks its own provider"):
        chamber(gateway=gateway)


@pytest.mark.parametrize(
    "part",
    [
        {"address": "{url}/x"},
        {"address": "{url}/{sesion}"},
        {"composer": ""},
        {"answer": None},
        {"name": " "},
    ],
)
def test_a_page_lacks_nothing(part: dict[str, Any]) -> None:
    with pytest.raises(al.ConfigError, match="ChatPage"):
        dataclasses.replace(MINE, **part)


def test_an_address_is_filled_and_quoted() -> None:
    page = PAGES["opencode"]
    assert (
        page.address_of(url="http://h:1/", session="a/b", directory="/ü") == "http://h:1/L8O8/session/a%2Fb"
    )
    with pytest.raises(al.ConfigError, match="give directory="):
        page.address_of(url="http://h:1", session="s")
    assert PAGES["openchamber"].address_of(url="http://h", session="s") == "http://h/?session=s"


def test_an_api_is_checked() -> None:
    words: dict[str, Any] = {"create": ["a"], "send": ["b", "{prompt}"], "status": ["c"]}
    assert CommandApi(**words).create == ("a",)
    lists = ({"busy": "busy"}, {"state_keys": "status"}, {"env": "HOME"}, {"busy": 1}, {"send": ["b"]})
    for wrong in ({"create": "a b"}, {"send": []}, {"status": ["{sesion}"]}, {"read": [3]}, *lists):
        with pytest.raises(al.ConfigError, match=f"CommandApi.{next(iter(wrong))}"):
            CommandApi(**words | wrong)
    for field, value in (("busy", "busy"), ("state_keys", "status"), ("body", "{promt}"), ("body", {})):
        with pytest.raises(al.ConfigError, match=f"HttpApi.{field}="):
            dataclasses.replace(HTTP, **{field: value})
    with pytest.raises(al.ConfigError, match="else none is sent"):
        dataclasses.replace(HTTP, body='{"text": "hello"}')
    for call in ("chats", "POST chats", "post /chats", "GET /{id}"):
        with pytest.raises(al.ConfigError, match="HttpApi"):
            dataclasses.replace(HTTP, status=call)


async def test_a_scenario_without_turns_is_refused() -> None:
    class Arm:
        scenario = al.Scenario("empty")

    with pytest.raises(al.ConfigError, match="nothing streams unasked"):
        al.WebChat("lab/m").open(Arm())  # type: ignore[arg-type]


def test_a_study_of_it_can_be_described(tmp_path: Any) -> None:  # noqa: ANN401
    scenario = al.Scenario("s", turns=["x"])
    arms: dict[str, Any] = {**al.WebChat("lab/m").recorded("light", "off"), "toy": Toy()}
    study = Study(folder=tmp_path, scenario=scenario, arms=arms, runs=1, order="interleaved", seed=1)
    told = study.describe()["arms"]
    assert told["light"]["digest"] != told["off"]["digest"]
    assert Study.from_job(json.loads(json.dumps(study.to_job()))).describe()["arms"] == told
