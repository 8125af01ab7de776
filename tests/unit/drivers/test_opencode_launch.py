"""What is looked at before a server of one's own is started."""

import pytest

from agentlab.agents.plugins import find_plugin
from agentlab.drivers.opencode.launch import check_builds
from agentlab.errors import ConfigError


def test_a_plugin_that_changes_during_a_study_ends_it(tmp_path):
    (tmp_path / "p.js").write_text("one")
    for _ in range(2):
        check_builds([find_plugin(tmp_path / "p.js")], tmp_path / "first.json")
    (tmp_path / "p.js").write_text("two")
    with pytest.raises(ConfigError, match=r"p\.js changed while the study runs"):
        check_builds([find_plugin(tmp_path / "p.js")], tmp_path / "first.json")
