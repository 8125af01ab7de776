"""Secrets never survive; ordinary text does."""

import base64
import json
import re
import time
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentlab as al
from agentlab.errors import ConfigError
from agentlab.redact import MASK, Redactor, redact, redact_data

_SECRETS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
_TEXT = st.text(max_size=400)


@given(_SECRETS, _TEXT, _TEXT, st.integers(1, 500))
def test_a_registered_secret_never_survives(secret: str, before: str, after: str, limit: int) -> None:
    redactor = Redactor(secrets=[secret], limit=limit)
    out = redactor.redact(before + secret + after)
    assert secret not in out
    assert len(out) <= max(limit, len(MASK))
    data = redactor.redact_data({before + secret: [secret + after], "x": {"y": secret}})
    assert not any(secret in text for text in strings(data))


def strings(data: object) -> list[str]:
    if isinstance(data, dict):
        return [text for item in data.items() for part in item for text in strings(part)]
    if isinstance(data, list):
        return [text for part in data for text in strings(part)]
    return [data] if isinstance(data, str) else []


_LONG = st.text(st.characters(exclude_categories=["Cs"]), min_size=6, max_size=40)


@given(_LONG, st.binary(max_size=20), st.binary(max_size=20))
def test_nor_does_any_encoded_form(secret: str, before: bytes, after: bytes) -> None:
    redactor = Redactor(secrets=[secret], limit=10_000)
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + secret.encode() + after).decode()
        assert not any(secret.encode() in raw for raw in decoded(redactor.redact(text)))
    for spelled in (
        urllib.parse.quote(secret, safe=""),
        urllib.parse.quote(secret),
        re.sub("%..", lambda m: m[0].lower(), urllib.parse.quote_plus(secret)),
        "".join(f"%{byte:02x}" for byte in secret.encode()),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
    ):
        assert spelled not in redactor.redact(f"x {spelled} y") or spelled in f"x {MASK} y"


def decoded(text: str) -> list[bytes]:
    """Decode every run of Base64 characters, from each of the four places where a group can begin."""
    runs = re.findall(r"[A-Za-z0-9+/]+", text.translate(str.maketrans("-_", "+/")))
    parts = [run[start:] for run in runs for start in range(4)]
    return [base64.b64decode(part + "A" * (-len(part) % 4)) for part in parts]


def test_base64_of_user_and_password_is_found_at_every_alignment() -> None:
    redactor = Redactor(secrets=["hunter22"])
    for user in ("u", "us", "use", "opencode"):
        token = base64.b64encode(f"{user}:hunter22".encode()).decode()
        assert "aHVudGVyMjI"[:8] not in redactor.redact(f"x={token}")
        assert MASK in redactor.redact(f"x={token}")
        assert MASK in redactor.redact(f"x={urllib.parse.quote(token, safe='')}")


def test_a_secret_cut_off_at_the_end_is_known_from_eight_characters() -> None:
    redactor = Redactor(secrets=["correct horse battery"])
    assert redactor.redact("said correct horse b") == f"said {MASK}"
    assert redactor.redact("said correct") == "said correct"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Authorization: Bearer abcdef123456", f"Authorization: {MASK}"),
        ("got bearer abc.def-123 in", f"got bearer {MASK} in"),
        ("Basic b3BlbmNvZGU6cHc=", f"Basic {MASK}"),
        ("http://user:pass@host:1/x", f"http://{MASK}@host:1/x"),
        ("/event?auth_token=b3Blb&directory=d", f"/event?auth_token={MASK}&directory=d"),
        ("?key=abc&x=1#f", f"?key={MASK}&x=1#f"),
        ("Set-Cookie: a=b; c=d\r\nServer: x", f"Set-Cookie: {MASK}\r\nServer: x"),
        ("{'x-api-key': 'abc', 'n': 1}", f"{{'x-api-key': '{MASK}', 'n': 1}}"),
        ('{"apiKey":"abc","max_tokens":5}', f'{{"apiKey":"{MASK}","max_tokens":5}}'),
        (r'"{\"apiKey\":\"abc\"}"', rf'"{{\"apiKey\":\"{MASK}\"}}"'),
        ("bad key sk-ant-api03-abcdefgh!", f"bad key {MASK}!"),
        ("ghp_0123456789abcdefABCD", MASK),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig", MASK),
        ("/home/bob/work and C:\\Users\\Bob\\x", "~/work and ~\\x"),
    ],
)
def test_what_looks_like_a_secret_goes(text: str, want: str) -> None:
    assert redact(text) == want
    assert redact(want) == want


@pytest.mark.parametrize(
    "text",
    [
        "Unexpected token < in JSON at position 3",
        "prompt_tokens=12 completion_tokens=5",
        "key-value store, tokens: 12",
        "GET /session/ses_0123/message?limit=10 HTTP 500",
        "model lab/scripted not found",
        "mail someone@example.org",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


def test_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/srv/people/ann")
    redactor = Redactor(paths={"/tmp/study-1": "<study>", "/tmp/study-1/home": "<home>"})
    cases = {
        "/srv/people/ann/x": "~/x",
        "/srv/people/anna": "/srv/people/anna",
        "file:///srv/people/ann": "file://~",
        "d=%2Fsrv%2Fpeople%2Fann%2Fx": "d=~%2Fx",
        r'"\/tmp\/study-1\/a"': r'"<study>\/a"',
        "/tmp/study-1/home/a /tmp/study-10 /tmp/study-1.": "<home>/a /tmp/study-10 <study>.",
    }
    assert {text: redactor.redact(text) for text in cases} == cases
    monkeypatch.setenv("HOME", "/")
    assert redact("/usr/lib") == "/usr/lib"


def test_data_is_redacted_by_the_names_of_its_keys() -> None:
    data = {
        "headers": {"Authorization": "x", "X-Api-Key": "y", "n": 1},
        "cookie": None,
        "has_token": True,
        "password": 1234,
        "max_tokens": 5,
        "auth": ["user", "pw"],
        "argv": ["run", "--api-key", "abc", "--token=abc", "--port", 1],
        "where": ("/home/bob/x", b"bytes", 1.5),
    }
    assert redact_data(data) == {
        "headers": {"Authorization": MASK, "X-Api-Key": MASK, "n": 1},
        "cookie": None,
        "has_token": True,
        "password": MASK,
        "max_tokens": 5,
        "auth": MASK,
        "argv": ["run", "--api-key", MASK, f"--token={MASK}", "--port", 1],
        "where": ["~/x", "bytes", 1.5],
    }
    assert redact_data("x" * 1000) == "x" * 1000


def test_long_text_keeps_both_ends() -> None:
    out = redact("a" * 500 + "z" * 500)
    assert len(out) == 300
    assert (out[0], out[200], out[-1]) == ("a", "…", "z")
    with pytest.raises(ConfigError, match="limit=0"):
        Redactor(limit=0)


@pytest.mark.parametrize(
    "piece", ["a-", "key ", "a.b", "://", "eyJaaaaaaaaaa-", "key:", " ", "bearer ", "a@", "/home/"]
)
def test_a_hostile_text_costs_linear_time(piece: str) -> None:
    began = time.process_time()
    redact_data(piece * (200_000 // len(piece)))
    assert time.process_time() - began < 2


class TestShown:
    def test_settings_are_shown_by_what_was_given(self):
        assert repr(al.Scenario("a", turns=["hi"])) == "Scenario(name='a', turns=['hi'])"
        assert repr(al.Step(text="hi", usage=None)) == "Step(text='hi', usage=None)"

    @pytest.mark.parametrize(
        "huge",
        [
            al.Scenario("a", turns=["x" * 10**6] * 3),
            al.Scenario("a", turns=["short"] * 10**4),
            al.OpenCode("lab/m", config={"a": {"b": ["x" * 10**6] * 9}}, system="y" * 10**6),
            al.Step(text=["x" * 10**5] * 99, tools=[("read", {"path": "x" * 10**5})] * 99),
            al.Gateway(al.ScriptedModel([al.Step(text="x" * 10**6)])),
            al.Pin(system="x" * 10**6),
        ],
        ids=lambda one: type(one).__name__,
    )
    def test_however_much_that_is(self, huge):
        assert len(repr(huge)) < 1000

    def test_how_many_there_are_is_said(self):
        assert repr(al.Scenario("a", turns=["hi"] * 1234)).endswith(", ...] of 1,234)")
