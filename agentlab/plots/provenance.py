"""Provenance inside the files of a figure: how it is written into PDF, SVG and PNG, and read back.

It is one line of ASCII JSON behind a marker, held where each format has room for text: the ``Keywords`` of a
PDF's Info dictionary, the Dublin Core ``description`` of an SVG, a text chunk named ``agentlab`` in a PNG.
"""

from __future__ import annotations

import contextlib
import json
import re
import struct
import zlib
from typing import Any, cast

MARK = "agentlab-provenance:"


def encode(provenance: dict[str, Any]) -> str:
    """Write provenance as one line of ASCII.

    Parameters
    ----------
    provenance : dict
        Plain JSON data.

    Returns
    -------
    str
    """
    return MARK + json.dumps(provenance, sort_keys=True, separators=(",", ":"), allow_nan=False)


def metadata(fmt: str, provenance: dict[str, Any], title: str) -> dict[str, Any]:
    """Return what matplotlib writes into a file of one format; nothing in it depends on the time of day.

    Parameters
    ----------
    fmt : {"pdf", "svg", "png"}
        Format.
    provenance : dict
        Plain JSON data.
    title : str
        Title for readers of the file.

    Returns
    -------
    dict
    """
    line, date = encode(provenance), provenance.get("date")
    if fmt == "pdf":
        from datetime import UTC, datetime

        made = None if date is None else datetime.fromisoformat(date).astimezone(UTC)
        return {"Title": title, "Creator": "agentlab", "Keywords": line, "CreationDate": made}
    if fmt == "svg":
        return {"Title": title, "Creator": "agentlab", "Description": line, "Date": date}
    return {"Title": title, "Software": "agentlab", "agentlab": line}


def decode(data: bytes) -> dict[str, Any] | None:
    """Find provenance in a file's bytes.

    Parameters
    ----------
    data : bytes
        A whole PDF, SVG or PNG.

    Returns
    -------
    dict or None
        None if there is none.
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        texts = _png_texts(data)
    elif data.lstrip().startswith(b"%PDF-"):
        texts = _pdf_keywords(data)
    else:
        texts = _svg_descriptions(data)
    for text in texts:
        if text.startswith(MARK):
            try:
                found = json.loads(text.removeprefix(MARK))
            except ValueError:
                continue
            if isinstance(found, dict):
                return cast("dict[str, Any]", found)
    return None


def _png_texts(data: bytes) -> list[str]:
    """Read the text chunks named agentlab, also when another program has packed them."""
    texts: list[str] = []
    at = 8
    while at + 12 <= len(data):
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        keyword, _, rest = data[at + 8 : at + 8 + length].partition(b"\0")
        at += 12 + length
        if keyword != b"agentlab" or kind not in (b"tEXt", b"zTXt", b"iTXt"):
            continue
        packed = kind == b"zTXt" or (kind == b"iTXt" and rest[:1] == b"\1")
        if kind == b"zTXt":
            rest = rest[1:]
        elif kind == b"iTXt":  # packed?, method, language \0, translated keyword \0, text
            rest = rest[2:].split(b"\0", 2)[-1]
        with contextlib.suppress(zlib.error):
            texts.append((zlib.decompress(rest) if packed else rest).decode("utf-8", "replace"))
    return texts


def _svg_descriptions(data: bytes) -> list[str]:
    from xml.etree import ElementTree

    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError):
        return []
    return [el.text or "" for el in root.iter("{http://purl.org/dc/elements/1.1/}description")]


_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|(\r\n|[\r\n])|(.))", re.DOTALL)
_NAMED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def _pdf_keywords(data: bytes) -> list[str]:
    """Read /Keywords strings, literal or hexadecimal; the last one in the file is the newest."""
    texts: list[str] = []
    for match in re.finditer(rb"/Keywords\s*", data):
        raw = _pdf_string(data, match.end())
        if raw is not None:
            texts.append(
                raw.decode("utf-16") if raw.startswith((b"\xfe\xff", b"\xff\xfe")) else raw.decode("latin-1")
            )
    return texts[::-1]


def _pdf_string(data: bytes, at: int) -> bytes | None:
    if data[at : at + 1] == b"<" and data[at : at + 2] != b"<<":
        digits = re.sub(rb"\s", b"", data[at + 1 : data.find(b">", at)])
        try:
            return bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode("ascii"))
        except ValueError:
            return None
    if data[at : at + 1] != b"(":
        return None
    depth, end = 0, at
    while end < len(data):
        byte = data[end : end + 1]
        if byte == b"\\":
            end += 1
        elif byte == b"(":
            depth += 1
        elif byte == b")":
            depth -= 1
            if depth == 0:
                return _ESCAPE.sub(_unescape, data[at + 1 : end])
        end += 1
    return None


def _unescape(match: re.Match[bytes]) -> bytes:
    octal, newline, other = match.groups()
    if octal is not None:
        return bytes([int(octal, 8) & 255])
    return b"" if newline is not None else _NAMED.get(other, other)
