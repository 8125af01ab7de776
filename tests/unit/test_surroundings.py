from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from agentlab.surroundings import front_end


def shell(monkeypatch: pytest.MonkeyPatch, parent: object) -> None:
    kernel = SimpleNamespace(get_parent=lambda channel: parent)
    fake = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=kernel))
    monkeypatch.setitem(sys.modules, "IPython", fake)


@pytest.mark.parametrize(
    ("parent", "where"),
    [
        ({"content": {"allow_stdin": True}}, "live"),
        ({"content": {"allow_stdin": False}}, "headless"),
        ({"content": {}}, "headless"),
        ({}, "headless"),  # no request yet, e.g. in a start-up file
        (None, "headless"),
    ],
)
def test_who_asked(monkeypatch: pytest.MonkeyPatch, parent: object, where: str) -> None:
    shell(monkeypatch, parent)
    assert front_end() == where


def test_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert front_end() == "terminal"


@pytest.mark.parametrize("found", [None, SimpleNamespace()])
def test_ipython_in_a_terminal_has_no_kernel(monkeypatch: pytest.MonkeyPatch, found: object) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: found))
    assert front_end() == "terminal"
