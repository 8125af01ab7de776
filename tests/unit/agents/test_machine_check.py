from __future__ import annotations

import os
import sys
import time

import pytest

import agentlab
from agentlab.agents import catalogue, machine_check, software_check
from agentlab.agents.checkup import Check, Report


def _check(name):
    return next(check for check in machine_check.check_machine().checks if check.name == name)


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without programs, agents, kernel interfaces and optional packages."""
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path / "none" / "yet"))
    monkeypatch.setenv("PATH", "/nowhere")
    for name in ("_PROC", "_CGROUP"):
        monkeypatch.setattr(machine_check, name, tmp_path / "absent")
    monkeypatch.setattr(software_check, "_version", lambda name: None)


def test_missing_agent_names_the_command(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTLAB_CACHE", str(tmp_path))
    report = agentlab.doctor()
    assert not report.ok
    assert "-> agentlab install opencode" in repr(report)
    assert "agentlab install opencode" in report._repr_html_()
    assert report.summary.startswith("missing: opencode")


def test_every_agent_of_the_catalogue_is_named(bare):
    said = _check("other agents")
    assert said.state == "limited" and said.fix.startswith("agentlab install ")
    assert {name for name in catalogue.AGENTS if name != "opencode"} <= set(
        said.effect.replace(",", "").split()
    )


def test_nobody_is_scolded_for_terminals_that_nobody_asked_for(bare):
    said = _check("terminal agents")
    assert (said.state, said.effect, said.fix) == ("ok", "", "")
    assert said.found.startswith("none installed; optional: copilot, ")
    assert "pi" not in said.found.split(", ")


@pytest.mark.parametrize(
    ("name", "words", "cure"),
    [
        ("ipykernel", "Cancel", "pip install 'ipykernel>=7.4'"),
        ("jupyterlab", "another Jupyter", "pip install 'jupyterlab>=4.4'"),
        ("papermill", "report(...)", "pip install 'papermill>=2.6' 'nbconvert>=7.16'"),
        ("opencode", "agentlab.OpenCode", "agentlab install opencode"),
        ("node, npm", "cannot be installed", "Node.js >= 20"),
        ("git", "workspace", "git"),
        ("browser", "PDF", "chromium"),
        ("genai-prices", "Price.of", "pip install genai-prices"),
        ("processes (/proc)", "detach", "mount -t proc"),
        ("pressure (PSI)", "pressure_unknown", "psi=1"),
        ("control group", "cpu_limit", "unified_cgroup_hierarchy"),
        ("own network", "network", "root"),
        ("memory", "memory_available_bytes", "/proc/meminfo"),
    ],
)
def test_what_is_lacking_says_what_follows_and_what_mends_it(bare, name, words, cure):
    said = _check(name)
    assert said.state != "ok"
    assert words in said.effect and cure in said.fix


def test_nothing_is_asked_of_an_agent_and_it_is_quick(bare):
    began = time.process_time()
    machine_check.check_machine()
    assert time.process_time() - began < 1


def test_a_user_who_is_not_root_gets_sudo(monkeypatch):
    monkeypatch.setattr(software_check.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert software_check.package_command("chromium") == "sudo apt-get install chromium"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert software_check.package_command("chromium") == "apt-get install chromium"
    monkeypatch.setattr(software_check.shutil, "which", lambda name: None)
    assert "package manager" in software_check.package_command("chromium")


@pytest.mark.parametrize(("node", "npm", "old"), [("v18.19.0", "9.2.0", "node"), ("v20.1.0", "8.1.2", "npm")])
def test_old_node_and_old_npm_are_told(monkeypatch, node, npm, old):
    monkeypatch.setattr(software_check, "_node_version", lambda: node)
    monkeypatch.setattr(software_check, "_npm_version", lambda: npm)
    monkeypatch.setattr(software_check.shutil, "which", lambda name: f"/usr/bin/{name}")
    said = software_check.check_node()
    assert said.state == "limited"
    assert said.effect.startswith(f"{old} too old")
    assert ">= 20" in said.fix


def test_version_of_npm_is_read_from_its_package(monkeypatch, tmp_path):
    program = tmp_path / "npm" / "bin" / "npm-cli.js"
    program.parent.mkdir(parents=True)
    program.write_text("")
    (tmp_path / "npm" / "package.json").write_text('{"name": "npm", "version": "10.2.3"}')
    monkeypatch.setattr(software_check.shutil, "which", lambda name: str(program))
    assert software_check._npm_version() == "10.2.3"


def test_old_ipykernel_cannot_cancel(monkeypatch):
    monkeypatch.setattr(software_check, "_version", lambda name: "6.29.5")
    assert "Cancel" in _check("ipykernel").effect


@pytest.mark.parametrize("manager", [None, (3, 1)])
def test_widgets_without_their_manager_are_told(monkeypatch, manager):
    monkeypatch.setattr(software_check, "_manager", lambda: manager)
    said = software_check.check_jupyterlab()
    assert said.state == "limited"
    assert "no Cancel button" in said.effect
    assert "jupyterlab_widgets" in said.fix


def test_full_disk_is_said(monkeypatch):
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr(machine_check.shutil, "disk_usage", lambda path: usage)
    assert _check("disk").state == "limited"


def test_newer_python_is_untested(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    assert machine_check._python().state == "limited"


def test_root_without_the_right_cannot_make_a_network(monkeypatch, tmp_path):
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "status").write_text("Name:\tx\nCapEff:\t00000000a80425fb\n")
    monkeypatch.setattr(machine_check, "_PROC", tmp_path)
    monkeypatch.setattr(machine_check.shutil, "which", lambda name: name)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "CAP_SYS_ADMIN" in machine_check._network().found
    (tmp_path / "self" / "status").write_text("CapEff:\t000001ffffffffff\n")
    assert machine_check._network().state == "ok"


def test_a_check_that_fails_is_a_row_and_no_error(monkeypatch):
    def broken():
        raise RuntimeError("unheard of")

    monkeypatch.setattr(machine_check, "_cores", broken)
    said = _check("cores")
    assert (said.state, said.found) == ("limited", "could not be looked at (RuntimeError)")


def test_a_folder_that_is_gone_is_a_row_and_no_error(monkeypatch, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert _check("disk").state == "limited"


def test_report_is_a_frame_too(bare):
    report = agentlab.doctor()
    frame = report.frame
    assert list(frame.columns) == ["name", "state", "found", "effect", "fix"]
    assert len(frame) == len(report.checks)
    doubts = frame[frame["state"] != "ok"]
    assert (doubts["effect"] != "").all() and (doubts["fix"] != "").all()


def test_text_and_page_say_the_same(bare):
    report = agentlab.doctor()
    text = " ".join(repr(report).split())
    for check in report.checks:
        assert " ".join(check.effect.split()) in text
        assert check.fix in repr(report)  # on one line
    assert report._repr_html_().count("<tr>") == len(report.checks) + 1


def test_report_shows_untrusted_text_safely():
    report = Report(checks=(Check(name="x", state="limited", found="<script>", effect="a & b", fix="<run>"),))
    page = report._repr_html_()
    assert "<script>" not in page
    assert "&lt;run&gt;" in page
    assert "<style" not in page  # an untrusted notebook drops it


@pytest.mark.parametrize("name, version", [("codex9", None), ("opencode", "latest"), ("opencode", "../x")])
def test_install_refuses_what_it_does_not_know(name, version):
    with pytest.raises(agentlab.ConfigError):
        agentlab.install(name, version=version)
