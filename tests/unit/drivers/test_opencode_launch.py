"""What is looked at before a server of one's own is started."""

import types

import pytest

from agentlab import OpenCode
from agentlab.agents.plugins import find_plugin
from agentlab.drivers.opencode.launch import _config, check_builds
from agentlab.errors import ConfigError


def test_a_plugin_that_changes_during_a_study_ends_it(tmp_path):
    (tmp_path / "p.js").write_text("one")
    for _ in range(2):
        check_builds([find_plugin(tmp_path / "p.js")], tmp_path / "first.json")
    (tmp_path / "p.js").write_text("two")
    with pytest.raises(ConfigError, match=r"p\.js changed while the study runs"):
        check_builds([find_plugin(tmp_path / "p.js")], tmp_path / "first.json")


@pytest.mark.parametrize(
    "options", [{"baseURL": "http://elsewhere/v1"}, {"baseURL": None}, None, {"apiKey": "own"}]
)
def test_no_configuration_leads_around_the_gateway(options):
    gateway = types.SimpleNamespace(base_url=lambda dialect: "http://127.0.0.1:9/v1", token="t")
    driver = OpenCode("lab/m", config={"provider": {"lab": {"options": options}, "other": {}}})
    arm = types.SimpleNamespace(gateway=gateway)
    if options == {"apiKey": "own"}:  # the gateway refuses it by itself
        assert _config(driver, arm, [])["provider"]["lab"]["options"]["baseURL"] == gateway.base_url("chat")
        return
    with pytest.raises(ConfigError, match=r"'lab' has an address of its own, which leads around the gateway"):
        _config(driver, arm, [])
    _config(driver, types.SimpleNamespace(gateway=None), [])
