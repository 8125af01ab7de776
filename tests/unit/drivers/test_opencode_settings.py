"""Settings of OpenCode: what is refused before anything starts, and what tells two arms apart."""

import pytest

from agentlab import OpenCode
from agentlab.errors import AgentlabWarning, ConfigError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"permissions": "x"}, "none of allow, ask, deny"),
        ({"permissions": {"bash": {"*": "maybe"}}}, "'maybe' is none of"),
        ({"server": "study"}, "write 'arm' or 'run'"),
        ({"url": "localhost:1"}, "write http://HOST:PORT"),
        ({"workspace": "/no/such/folder"}, "there is no such folder"),
        ({"agent": " "}, "name an agent"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        OpenCode("lab/m", **settings)


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
