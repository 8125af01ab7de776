from __future__ import annotations

import pytest

import agentlab
from agentlab.agents import machine_check
from agentlab.agents.machine_check import Check, Report


def _check(name):
    return next(check for check in machine_check.check_machine().checks if check.name == name)


def test_missing_agent_names_the_command(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    report = agentlab.doctor()
    assert not report.ok
    assert "agentlab install opencode" in repr(report)
    assert "agentlab install opencode" in report._repr_html_()


def test_missing_npm_and_browser_are_limits_and_not_failures(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert _check("node, npm").state == "limited"
    assert "node and npm" in _check("node, npm").found
    assert _check("browser").fix == "apt-get install chromium"


def test_old_ipykernel_cannot_cancel(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: "6.29.5")
    assert "Cancel" in _check("ipykernel").effect


def test_missing_pressure_is_unknown_and_not_quiet(monkeypatch):
    class NoProc(type(machine_check.Path())):
        def read_bytes(self):
            raise OSError("no /proc/pressure")

    monkeypatch.setattr(machine_check, "Path", NoProc)
    check = machine_check._pressure()
    assert check.state == "limited"
    assert "NA" in check.effect
    assert "pressure_unknown" in check.effect


def test_full_disk_is_said(monkeypatch):
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr(machine_check.shutil, "disk_usage", lambda path: usage)
    assert _check("disk").state == "limited"


def test_each_doubt_says_what_follows_and_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    doubts = [check for check in machine_check.check_machine().checks if check.state != "ok"]
    assert len(doubts) >= 3
    assert all(check.effect and check.fix for check in doubts)


def test_report_shows_untrusted_text_safely():
    report = Report(checks=(Check(name="x", state="limited", found="<script>", effect="a & b", fix="<run>"),))
    page = report._repr_html_()
    assert "<script>" not in page
    assert "&lt;run&gt;" in page
    assert "<style" not in page  # an untrusted notebook drops it


@pytest.mark.parametrize("name, version", [("codex", None), ("opencode", "latest"), ("opencode", "../x")])
def test_install_refuses_what_it_does_not_know(name, version):
    with pytest.raises(agentlab.ConfigError):
        agentlab.install(name, version=version)
