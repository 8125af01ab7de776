"""Settings of OpenCode: what is refused before anything starts, and what tells two arms apart."""

import json

import pytest

from agentlab import OpenCode
from agentlab.engine.codec import decode, encode
from agentlab.errors import AgentlabWarning, ConfigError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"permissions": "x"}, "none of allow, ask, deny"),
        ({"permissions": {"bash": {"*": "maybe"}}}, "'maybe' is none of"),
        ({"server": "study"}, "write 'arm' or 'run'"),
        ({"url": "localhost:1"}, "write http://HOST:PORT"),
        ({"url": "http://h:port"}, "write http://HOST:PORT"),
        ({"url": "http://me:secret@h:1"}, "without login, query or fragment"),
        ({"url": "http://h:1/?auth_token=secret"}, "without login, query or fragment"),
        ({"url": "http://h:1", "snapshot": True}, "snapshot=.*has no effect on a server that runs already"),
        ({"url": "http://h:1", "server": "run"}, "server=.*has no effect"),
        ({"url": "http://h:1", "retries": -1}, "give numbers from 0"),
        ({"url": "http://h:1", "auth": "secret"}, r"give \(user, password\)"),
        ({"url": "http://h:1", "auth": ("me", 7)}, r"give \(user, password\)"),
        ({"url": "http://h:1", "auth": ("me:", "secret")}, "the user must hold no colon"),
        ({"url": "http://h:1", "auth": ("me", "secret\n")}, "neither a control character"),
        ({"url": "http://h:1", "headers": ["secret"]}, r"number 1 is no \(name, value\)"),
        ({"url": "http://h:1", "headers": [("A", "b"), ("a secret", "x")]}, "the name of number 2 cannot"),
        ({"url": "http://h:1", "headers": [("A", "secret\r\nB: c")]}, "the value of A is not plain"),
        ({"url": "http://h:1", "auth": ("m", "p"), "headers": [("authorization", "x")]}, "give one of them"),
        ({"auth": ("me", "secret")}, "auth=.*only for a server that runs already"),
        ({"headers": [("A", "secret")]}, "headers=.*only for a server that runs already"),
        ({"build": "b1"}, "build=.*only for a server that runs already"),
        ({"workspace": "/no/such/folder"}, "there is no such folder"),
        ({"workspace": "git+/tmp"}, "which commit"),
        ({"workspace": "git+https://host/repository@main"}, "no such local repository.*Clone a remote one"),
        ({"config": {"plugin": ["x"]}}, "use plugins="),
        ({"config": {"permission": "allow"}}, "use permissions="),
        ({"plugins": "oh-my-opencode-slim"}, "give a list of plugins"),
        ({"plugins": ["some-plugin"]}, "is not known by name"),
        ({"plugins": [("some-plugin", "secret")]}, r"no name or path, and no \(name, settings\)"),
        ({"plugins": None}, "give a list of plugins"),
        ({"plugins": [3]}, "no name or path"),
        ({"agent": " "}, "name an agent"),
        ({"agent": None}, "agent=.*give a text"),
        ({"agent": "a\0"}, "NUL"),
        ({"snapshot": "no"}, "snapshot=.*true or false, not a text"),
        ({"title": 3}, "title=.*a text, or None"),
        ({"version": None}, "version=.*give a text"),
        ({"config": None}, "config=.*give a mapping"),
        ({"config": {"a": {"secret"}}}, "not plain JSON data"),
        ({"config": {"a": float("nan")}}, "not plain JSON data"),
        ({"workspace": ""}, "write a folder"),
        ({"workspace": "https://me:secret@host/repository"}, "write a folder.*Clone a remote repository"),
        ({"url": 3}, "url=.*give a text such as"),
        ({"url": "http://h:1\n"}, "write http://HOST:PORT"),
        ({"url": "http://h:1", "retries": "2"}, "retries=.*whole number"),
        ({"url": "http://h:1", "retries": 1.5}, "retries=.*whole number"),
        ({"url": "http://h:1", "retries": True}, "retries=.*whole number"),
        ({"url": "http://h:1", "retry_delay_s": None}, "retry_delay_s=.*seconds from 0"),
        ({"url": "http://h:1", "headers": None}, r"give a list of \(name, value\)"),
        ({"url": "http://h:1", "headers": "secret"}, r"give a list of \(name, value\)"),
        ({"url": "http://h:1", "headers": [("A", None)]}, r"number 1 is no \(name, value\)"),
        ({"url": "http://h:1", "headers": [(b"A", b"secret")]}, r"number 1 is no \(name, value\)"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message) as caught:
        OpenCode("lab/m", **settings)
    assert "secret" not in str(caught.value)


def test_a_misspelt_place_is_said():
    with pytest.warns(AgentlabWarning, match=r"\{trun\} is sent as it stands; only \{turn\} is replaced"):
        OpenCode("lab/m", system="Turn {trun}")
    OpenCode("lab/m", system='{turn} {"json": {}}')


def test_another_content_under_the_same_name_is_another_arm(tmp_path):
    def settings():
        driver = OpenCode("lab/m", workspace=tmp_path, plugins=[tmp_path / "index.js"])
        return driver.identify().settings

    (tmp_path / "index.js").write_text("one")
    first = settings()
    assert settings() == first
    (tmp_path / "index.js").write_text("two")
    second = settings()
    assert second["plugins"] != first["plugins"] and second["workspace"] != first["workspace"]
    assert second["plugins"][0]["name"] == "index.js" and str(tmp_path) not in str(second)
    urls = [OpenCode("lab/m", url=f"http://h:{port}").identify().settings["attached"] for port in (1, 2)]
    assert urls[0] != urls[1] and "http" not in str(urls)


def test_what_is_given_to_a_running_server_is_trimmed_and_held_in_memory():
    headers = [("X-A", " planted-1 "), ("X-A", "planted-2")]
    driver = OpenCode("lab/m", url="http://h:1/", auth=["me", "pw-secret"], headers=headers, build="b1")
    assert driver.url == "http://h:1" and driver.auth == ("me", "pw-secret")
    assert driver.headers == (("X-A", "planted-1"), ("X-A", "planted-2"))
    identity = driver.identify()
    told = f"{driver!r} {identity!r}"
    assert not any(secret in told for secret in ("pw-secret", "planted", "X-A"))
    # What it runs with is unknown, not ours.
    assert identity.version is None and identity.settings["build"] == "b1"
    unknown = ("plugins", "config", "permissions", "snapshot", "workspace", "server")
    assert all(identity.settings[name] is None for name in unknown)


def test_a_driver_crosses_to_the_measuring_process_whole(tmp_path):
    (tmp_path / "p.js").write_text("1")
    drivers = [
        OpenCode("lab/m", url="http://h:1", auth=("me", "pw"), headers=[("X-A", "1"), ("X-A", "2")]),
        OpenCode("lab/m", plugins=[(tmp_path / "p.js", {"a": 1}), tmp_path / "p.js"], workspace=tmp_path),
    ]
    for driver in drivers:
        again = decode(json.loads(json.dumps(encode(driver))))
        assert again.identify() == driver.identify()
        assert (again.auth, again.headers) == (driver.auth, driver.headers)
