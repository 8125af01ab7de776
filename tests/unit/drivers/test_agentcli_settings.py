"""Settings, verdicts and small parts of the driver of command-line agents."""

from __future__ import annotations

import os
import struct
from types import SimpleNamespace

import pytest

from agentlab import AgentCLI, ConfigError
from agentlab.agents.base import Outcome
from agentlab.drivers.agentcli.process import Watch
from agentlab.drivers.agentcli.verdict import Verdict, doubts, judge
from agentlab.drivers.base import shown_flags
from agentlab.wire import netns, proctree

GOOD = Outcome(True, "stop", "Done.")
BAD = Outcome(False, "error", "", "500 no")
OK = {"status": 200, "terminal_seen": True}
REFUSED = {"status": 400, "refused": True}
DEAD = {**REFUSED, "reason": "upstream_unreachable: connection refused"}


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"agent": "aider"}, "known are pi, opencode"),
        ({"agent": "codx"}, "known are .*Did you mean 'codex'"),
        ({"version": ""}, r"version=...\): give a text"),
        ({"model": "scripted"}, "write 'provider/model'"),
        ({"flags": "--bare"}, "give a list of arguments"),
        ({"flags": [""]}, "give a list of arguments"),
        ({"dialect": "gemini"}, "Codex speaks responses"),
        ({"context_tokens": 0}, r"context_tokens=0\): give a number of tokens"),
        ({"max_output_tokens": True}, "give a number of tokens"),
        ({"network": "none"}, "write 'open' or 'loopback'"),
        ({"workspace": "/no/such/folder"}, "there is no such folder"),
        ({"agent": "cline", "system": "x"}, "Cline takes no further system text"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        AgentCLI(**{"agent": "codex", **settings})


def test_arguments_are_stored_without_secrets():
    given = [
        "--bare",
        "-c",
        "api_key=hunter2",
        "--api-key",
        "hunter3",
        "--x=sk-abcdefgh12345",
        "/home/me/file",
    ]
    shown = shown_flags(given)
    assert shown[:-1] == ["--bare", "-c", "api_key=<redacted>", "--api-key", "<redacted>", "--x=<redacted>"]
    assert "me" not in shown[-1]


def test_settings_are_frozen_plain_data():
    from agentlab.engine.codec import decode, encode

    driver = AgentCLI("claude-code", flags=["--bare"], model="x/claude-sonnet-4-5")
    assert driver.agent == "claude_code"
    assert decode(encode(driver)) == driver


@pytest.mark.parametrize(
    "about, expected",
    [
        ({}, Verdict("answered", None)),
        ({"exit_code": 1}, Verdict("answered", None)),
        ({"ending": "budget"}, Verdict("budget", "budget")),
        ({"ending": "balance"}, Verdict("balance", "balance")),
        ({"ending": "limit", "cut": "timeout"}, Verdict("limit", "limit")),
        ({"ending": "error"}, Verdict("error", "ledger")),
        ({"ending": "upstream", "requests": [OK, DEAD]}, Verdict("error", "upstream_unreachable")),
        ({"cut": "timeout"}, Verdict("timeout", "timeout")),
        ({"cut": "stall"}, Verdict("timeout", "stall")),
        ({"cut": "cancelled"}, Verdict("stopped", "cancelled")),
        ({"outcome": BAD}, Verdict("error", "error")),
        ({"outcome": Outcome()}, Verdict("error", "no_answer")),
        ({"outcome": BAD, "requests": []}, Verdict("error", "no_request")),
        ({"outcome": BAD, "exit_code": -9}, Verdict("error", "signal_9")),
        ({"outcome": BAD, "requests": [{"status": 500, "fault": "status"}]}, Verdict("error", "http_500")),
        ({"outcome": BAD, "requests": [OK, {"status": 200, "fault": "reset"}]}, Verdict("error", "reset")),
        ({"outcome": BAD, "requests": [{"status": 200}]}, Verdict("error", "cut")),
        ({"outcome": BAD, "requests": [{**REFUSED, "reason": "tools"}]}, Verdict("error", "tools")),
        (
            {"outcome": BAD, "requests": [{**REFUSED, "reason": "invalid_body: x"}]},
            Verdict("error", "invalid_body"),
        ),
        ({"outcome": BAD, "requests": [{"status": 400, "reason": "no_usage"}]}, Verdict("error", "http_400")),
    ],
)
def test_the_verdict(about, expected):
    given = {"outcome": GOOD, "ending": None, "cut": None, "exit_code": 0, "requests": [OK], **about}
    assert judge(given.pop("outcome"), **given) == expected


WHOLE = {"status": 200, "terminal_seen": True}
FAILED = {"status": 500, "fault": "status"}


@pytest.mark.parametrize(
    ("requests", "retried", "expected"),
    [
        ([], False, ["turn_unproven: it answered without a request to the gateway"]),
        ([WHOLE, WHOLE], False, []),
        ([WHOLE, {**WHOLE, "retry_of": 1}], False, []),  # twice the same prompt: two answers, no retry
        ([FAILED, {**WHOLE, "retry_of": 1}], False, ["retry: 1 requests were sent again"]),
        (
            [FAILED, {**FAILED, "retry_of": 1}, {**WHOLE, "retry_of": 2}],
            False,
            ["retry: 2 requests were sent again"],
        ),
        ([WHOLE], True, ["retry: the agent said so"]),
        ([FAILED, WHOLE], False, ["gateway_fault: http_500; the agent went on"]),
        ([{"status": 200}, WHOLE], False, ["gateway_fault: cut; the agent went on"]),
        ([{"status": 200, "fault": "client_gone"}, WHOLE], False, []),
        ([{"status": 400, "refused": True}, WHOLE], False, []),
        ([WHOLE, {"status": 200}], False, ["turn_unproven: the last model request ended without its end"]),
    ],
)
def test_an_answer_in_spite_of_a_failed_request_is_doubted(requests, retried, expected):
    rows = [{"request": number, **row} for number, row in enumerate(requests, 1)]
    assert [f"{code}: {detail}" for code, detail in doubts(rows, retried=retried)] == expected


@pytest.mark.parametrize(
    "verdict, ended",
    [
        (Verdict("answered", None), "complete"),
        (Verdict("timeout", "stall"), "stall"),
        (Verdict("stopped", "cancelled"), "cancelled"),
        (Verdict("budget", "budget"), "error"),
    ],
)
def test_a_verdict_ends_its_turn(verdict, ended):
    assert verdict.ended == ended


def test_cpu_time_lies_between_two_samples():
    watch = Watch(SimpleNamespace(pid=1), outward=False)
    watch._began = 0
    watch.samples = [(0, 0.0), (100_000_000, 0.1), (300_000_000, 0.5), (9_300_000_000, 0.9)]
    assert watch.cpu_at(200_000_000) == (pytest.approx(0.3), pytest.approx(200.0))
    assert watch.cpu_at(400_000_000) is None, "between samples that are 9 s apart"
    assert watch.cpu_at(9_900_000_000) is None
    assert watch.cpu_at(-1) is None


def test_a_process_tree_holds_itself():
    pids = proctree.tree(os.getpid())
    assert pids[0] == os.getpid()
    assert (proctree.cpu_s(pids) or 0) > 0
    assert proctree.tree(2**22 + 1) == []
    assert proctree.cpu_s([2**22 + 1]) is None
    nobody = proctree.Connections()
    assert nobody.look([2**22 + 1]) == set()
    assert not nobody.readable
    assert proctree.Connections().look([os.getpid()]) == set()


def test_connections_of_others_and_of_loopback_are_no_connections():
    row = "0: {local} {remote} 01 0:0 00:0 00 0 0 {inode} 1"
    v4 = row.format(local="0100007F:1F90", remote="08080808:01BB", inode=7)
    assert proctree._remote("tcp", v4, {"7"}) == proctree.Remote("tcp", "8.8.8.8", 443)
    assert proctree._remote("tcp", v4, {"8"}) is None
    local = row.format(local="0100007F:1F90", remote="0100007F:01BB", inode=7)
    assert proctree._remote("tcp", local, {"7"}) is None
    mapped = "0000000000000000FFFF000008080404:0035"
    v6 = row.format(local=mapped, remote=mapped, inode=7)
    assert proctree._remote("udp", v6, {"7"}) == proctree.Remote("udp", "4.4.8.8", 53)


def test_a_query_is_read_and_answered():
    name = b"\x03api\x07Example\x03com\x00"
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01" + name + struct.pack("!HH", 28, 1) + b"opt"
    found = netns.asked(query)
    assert found is not None
    asked, kind, reply = found
    assert (asked, kind) == ("api.example.com", "AAAA")
    assert reply[:2] == b"\x12\x34"
    assert reply[3] & 15 == 3, "no such name"
    assert reply[12:] == name + struct.pack("!HH", 28, 1)


@pytest.mark.parametrize("query", [b"", b"\x12\x34", b"\0" * 12 + b"\xc0\x0c", b"\0" * 12 + b"\x09abc"])
def test_a_broken_query_is_passed_over(query):
    assert netns.asked(query) is None
