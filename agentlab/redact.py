"""Keep secrets and private paths out of everything that is written, shown or raised.

What is known to be secret (registered) is removed wherever it stands, also percent-encoded, JSON-escaped or
inside Base64; what looks like a secret (bearer tokens, API keys, passwords in URLs) is removed by its shape.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, cast

from .errors import ConfigError

MASK = "<redacted>"
_MIN_BASE64 = 6  # bytes; the Base64 of fewer would match ordinary words
_MIN_HEAD = 8  # characters; a secret cut off at the end of an excerpt is known from so many

_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 4
_SHORT.maxstring, _SHORT.maxother = 80, 2000

_NAME = (
    r"(?<![A-Za-z0-9])([A-Za-z0-9_.-]{0,40}"
    r"(?:key|token|secret|password|passwd|pwd|passphrase|auth|authorization|cookie|credentials?|signature|sig))"
)
_NOT_YET = f"(?!{MASK})"
# Every repetition before a required part is bounded: a hostile text costs linear time.
_SHAPES = tuple(
    (re.compile(pattern, re.I), replacement)
    for pattern, replacement in (
        # user and password in a URL
        (r"\b([a-z][a-z0-9+.-]{0,20}://)[^/\s@'\"<>]{1,500}@", rf"\1{MASK}@"),
        # headers, as text, JSON or repr
        (r"\b(bearer|basic)(\s+|%20|\+)[\w.~+/%=-]{6,}", rf"\1\2{MASK}"),
        (
            rf"\b((?:set-)?cookie|(?:proxy-)?authorization)(['\"]?\s*+:\s*+['\"]?+){_NOT_YET}[^\r\n'\"]+",
            rf"\1\2{MASK}",
        ),
        (rf"\b((?:x-)?api[_-]?key)(\s*+:\s*+){_NOT_YET}[^\s,;'\"]+", rf"\1\2{MASK}"),
        # "apiKey": "value", also inside an escaped string; key=value in queries and on command lines
        (rf"{_NAME}(\\?['\"]?\s*:\s*\\?['\"]){_NOT_YET}[^'\"\\\r\n]+", rf"\1\2{MASK}"),
        (rf"{_NAME}(=|%3D)(['\"]?){_NOT_YET}[^\s&;,#'\"<>)}}\]]+", rf"\1\2\3{MASK}"),
    )
) + tuple(
    # keys that providers hand out, and JSON web tokens
    (re.compile(pattern), MASK)
    for pattern in (
        r"\b(?:sk|pk|rk|xai|gsk|key)-[\w-]{8,}",
        r"\b(?:gh[oprsu]_|github_pat_|glpat-|hf_|npm_|gsk_|xox[abeoprs]-)[\w-]{10,}",
        r"\bAIza[\w-]{30,}",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}",
        r"\beyJ[\w-]{8,4000}\.[\w-]{4,}(?:\.[\w-]*)?",
    )
)
_HOMES = re.compile(r"(?<![\w.~-])(/home/|/Users/|[A-Za-z]:\\+Users\\+|%2Fhome%2F)[^/\\\s:;,'\"%&?#)]+", re.I)
_SECRET_KEY = re.compile(
    r"(?:apikey|accesskey|secretkey|privatekey|token|secret|password|passwd|passphrase|authorization|cookie"
    r"|credentials?|signature|^auth)$"
)


class Redactor:
    """Remove secrets and private paths from text and plain data.

    Parameters
    ----------
    secrets : iterable of str
        Values that must never appear: API keys, tokens, passwords. Empty ones are ignored. Each is found
        verbatim, percent-encoded, JSON-escaped, as a cut-off beginning of 8 characters or more at the end of
        the text and, from 6 bytes on, inside any Base64 text.
    paths : mapping of path to str
        Folders and what to write instead, e.g. ``{"/tmp/study-x": "<study>"}``. The home folder becomes ``~``
        by itself.
    limit : int, default 300
        Longest text that is returned by :meth:`redact`, in characters.

    Examples
    --------
    >>> Redactor(secrets=["open sesame"]).redact("GET /?q=open%20sesame&api_key=abc")
    'GET /?q=<redacted>&api_key=<redacted>'
    """

    def __init__(
        self,
        secrets: Iterable[str] = (),
        paths: Mapping[str, str] | None = None,
        *,
        limit: int = 300,
    ) -> None:
        self._secrets = sorted({s for s in secrets if s}, key=len, reverse=True)
        if limit < 1:
            raise ConfigError(f"Redactor(limit={limit!r}): give a number of characters above 0")
        self._limit = limit
        self._mask = _mask(self._secrets)
        forms = [form for secret in self._secrets for form in _forms(secret)]
        self._hidden = re.compile("|".join(forms)) if forms else None
        self._paths = _path_rules(paths or {})

    def redact(self, text: object) -> str:
        """Return a text without secrets and private paths, shortened to the limit.

        Parameters
        ----------
        text : object
            Anything; ``str()`` of it is redacted. Bytes are read as UTF-8.

        Returns
        -------
        str
            At most ``limit`` characters; an ellipsis stands where the middle was cut out.
        """
        return self._safe(text, self._limit)

    def redact_data(self, data: object) -> Any:  # noqa: ANN401
        """Return plain data without secrets: values by their key's name, all texts and keys by their content.

        Parameters
        ----------
        data : plain data
            Mappings, sequences, strings, numbers, paths; other objects become redacted text.

        Returns
        -------
        plain data
            Dicts, lists, strings (not shortened), numbers, booleans and None.
        """
        if data is None or isinstance(data, bool | int | float):
            return data
        if isinstance(data, Mapping):
            items = cast("Mapping[object, object]", data).items()
            return {self._safe(k, None): self._value(str(k), v) for k, v in items}
        if isinstance(data, list | tuple | set | frozenset):
            return self._list(list(cast("Iterable[object]", data)))
        return self._safe(data, None)

    def _value(self, key: str, value: object) -> Any:  # noqa: ANN401
        secret = _SECRET_KEY.search(re.sub(r"[^a-z0-9]", "", key.lower()))
        if not secret or value is None or isinstance(value, bool) or value == "":
            return self.redact_data(value)
        return self._mask

    def _list(self, items: list[object]) -> list[Any]:
        """Also hide the argument after an option such as ``--api-key``."""
        options = ["", *(str(i) if isinstance(i, str) and i.startswith("-") else "" for i in items)]
        return [self._value(option, item) for option, item in zip(options, items, strict=False)]

    def _safe(self, text: object, limit: int | None) -> str:
        raw = text.decode("utf-8", "replace") if isinstance(text, bytes | bytearray) else str(text)
        out = self._hide(raw)
        if limit is not None:  # what is far from both ends will not be shown
            out = _shorten(out, 50 * limit)
        for pattern, replacement in (*_SHAPES, *self._paths):
            out = pattern.sub(replacement, out)
        out = _shorten(out, limit)
        # What was put in may have made a secret out of its neighbours; then nothing of the text is shown.
        return out if self._hide(out) == out else self._mask

    def _hide(self, text: str) -> str:
        if self._hidden is None:
            return text
        text = self._hidden.sub(lambda _: self._mask, text)
        for secret in self._secrets:
            for size in range(len(secret) - 1, _MIN_HEAD - 1, -1):
                if text.endswith(secret[:size]):
                    return text[:-size] + self._mask
        return text


def redact(text: object) -> str:
    """Remove what looks like a secret, and the home folder; at most 300 characters.

    Parameters
    ----------
    text : object
        Anything; see :meth:`Redactor.redact`.

    Returns
    -------
    str

    Examples
    --------
    >>> redact("Authorization: Bearer abcdef123456")
    'Authorization: <redacted>'
    """
    return Redactor().redact(text)


def redact_data(data: object) -> Any:  # noqa: ANN401
    """Remove what looks like a secret from plain data; see :meth:`Redactor.redact_data`.

    Parameters
    ----------
    data : plain data
        Mappings, sequences, strings, numbers.

    Returns
    -------
    plain data

    Examples
    --------
    >>> redact_data({"apiKey": "abc", "max_tokens": 5})
    {'apiKey': '<redacted>', 'max_tokens': 5}
    """
    return Redactor().redact_data(data)


def shown(settings: Any) -> str:  # noqa: ANN401
    """Show a dataclass by what was given: without defaults and secrets, long texts and lists cut.

    What a notebook shows is shared, and a cell must not end with a key or a megabyte.

    Parameters
    ----------
    settings : dataclass instance
        Made with ``repr=False``; this is its ``__repr__``.

    Returns
    -------
    str

    Examples
    --------
    >>> from agentlab import Scenario
    >>> Scenario("hello", turns=["Say hello."] * 100)
    Scenario(name='hello', turns=['Say hello.', 'Say hello.', 'Say hello.', 'Say hello.', ...] of 100)
    """
    return f"{type(settings).__name__}({', '.join(f'{name}={text}' for name, text in _given(settings))})"


def _given(settings: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        made = field.default_factory
        default = field.default if made is dataclasses.MISSING else made()
        if not field.repr or (type(value) is type(default) and value == default):
            continue
        length = ""
        if isinstance(value, str):
            value = redact(value)
        elif isinstance(value, Mapping | list | tuple):
            n = len(cast("Mapping[Any, Any] | list[Any] | tuple[Any, ...]", value))
            length = f" of {n:,}" if n > _SHORT.maxlist else ""
            value = redact_data(value)
        yield field.name, _SHORT.repr(value) + length


def _mask(secrets: list[str]) -> str:
    """Return a mask in which no secret is found; ``""`` in the worst case."""
    return next(mask for mask in (MASK, "***", "###", "") if not any(s in mask for s in secrets))


def _forms(secret: str) -> list[str]:
    """Return patterns for a secret: character by character in any spelling, and inside Base64."""
    return ["".join(map(_spellings, secret)), *_base64_forms(secret.encode("utf-8", "surrogatepass"))]


def _spellings(char: str) -> str:
    raw = char.encode("utf-8", "surrogatepass")
    percent = "".join(f"%{_either(f'{byte:02x}')}" for byte in raw)
    escaped = {json.dumps(char)[1:-1], json.dumps(char, ensure_ascii=False)[1:-1]} - {char}
    escaped |= {f"\\u{ord(char):04x}"} if ord(char) < 0x10000 else set()
    escaped |= {"\\/"} if char == "/" else set()
    others = [*map(_escape_pattern, sorted(escaped)), percent, *(["\\+"] if char == " " else [])]
    return f"(?:{'|'.join([re.escape(char), *others])})"


def _escape_pattern(text: str) -> str:
    return re.sub(r"(?<=\\\\u)[0-9a-f]{4}", lambda m: _either(m[0]), re.escape(text))


def _either(digits: str) -> str:
    """Return a pattern for hexadecimal digits in either case."""
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits)


def _base64_forms(raw: bytes) -> list[str]:
    """Return what any Base64 text that holds these bytes has in common, for each of the three alignments."""
    if len(raw) < _MIN_BASE64:
        return []
    spellings = {"+": r"(?:\+|-|%2[Bb])", "/": r"(?:/|_|\\/|%2[Ff])"}
    forms: list[str] = []
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + raw).decode()
        shared_head, shared_tail = (0, 2, 3)[shift], (0, 3, 2)[(shift + len(raw)) % 3]
        core = text[shared_head : len(text) - shared_tail]
        forms.append("".join(spellings.get(char, char) for char in core))
    return forms


def _path_rules(paths: Mapping[str, str]) -> list[tuple[re.Pattern[str], str]]:
    known = dict(paths)
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  (pathlib's raises where there is none)
    if home.is_absolute():
        for folder in (home, home.resolve()):
            known.setdefault(str(folder), "~")
    rules: list[tuple[re.Pattern[str], str]] = []
    for folder in sorted(known, key=len, reverse=True):
        plain = str(PurePath(folder))
        if len(plain) > 1:  # "/" is everybody's
            spelled = "".join(map(_spellings, plain))
            pattern = re.compile(rf"(?<![\w.~-]){spelled}(?![\w-]|\.\w)")
            rules.append((pattern, known[folder].replace("\\", r"\\")))
    return [*rules, (_HOMES, "~")]


def _shorten(text: str, limit: int | None) -> str:
    if limit is None or len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]}…{text[len(text) - (limit - head - 1) :]}"
