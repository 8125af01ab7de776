"""The watchdog's last look round."""

from __future__ import annotations

import signal

from agentlab.wire import watchdog


class Alone(watchdog._Watchdog):
    """Without a socket, and without children of its own to wait for."""

    def __init__(self) -> None:
        pass

    def reap(self) -> None:
        pass


def swept(monkeypatch, looks: list[list[int]]) -> tuple[list[list[int]], list[str]]:
    """Return who was killed and who is told to survive, when ``/proc`` shows one look after another."""
    killed: list[list[int]] = []

    def send(pids: list[int], sig: int) -> None:
        assert sig == signal.SIGKILL
        killed.append(pids)

    monkeypatch.setattr(watchdog, "descendants", lambda _: looks.pop(0) if len(looks) > 1 else looks[0])
    monkeypatch.setattr(watchdog, "_send_signal", send)
    monkeypatch.setattr(watchdog, "_KILL_S", 0.2)
    return killed, Alone().sweep(0.0)


def test_one_empty_look_is_not_believed(monkeypatch):
    """A daemon whose parent ends while ``/proc`` is read stands below nobody, for one look."""
    killed, survivors = swept(monkeypatch, [[], [2**22 + 7], [], []])
    assert [2**22 + 7] in killed
    assert survivors == []


def test_what_does_not_die_is_named(monkeypatch):
    killed, survivors = swept(monkeypatch, [[2**22 + 7]])
    assert len(killed) > 1
    assert survivors == [f"{2**22 + 7} ?"]
