import json
import struct
import zlib

import pytest

from agentlab.plots.provenance import MARK, decode, encode, metadata

PROVENANCE = {"agentlab": "0.1.0", "arms": ["a (b) \\ c", "ünï $x$ \n"], "date": None}


def pdf(keywords: bytes) -> bytes:
    return b"%PDF-1.4\n1 0 obj\n<< /Title (t) /Keywords " + keywords + b" /Creator (x) >>\nendobj\ntrailer\n"


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    data = b"\x89PNG\r\n\x1a\n"
    for kind, body in chunks:
        data += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return data


def test_one_line_of_ascii() -> None:
    line = encode(PROVENANCE)
    assert line.isascii() and "\n" not in line
    assert json.loads(line.removeprefix(MARK)) == PROVENANCE


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode({"x": float("nan")})


def test_pdf_literal_string_with_escapes() -> None:
    raw = encode(PROVENANCE).encode().replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
    assert decode(pdf(b"(" + raw + b")")) == PROVENANCE


def test_pdf_literal_string_with_balanced_parentheses_octals_and_line_breaks() -> None:
    raw = encode(PROVENANCE).encode().replace(b"\\", b"\\134").replace(b"agentlab-", b"agent\\\nlab-", 1)
    assert decode(pdf(b"(" + raw + b")")) == PROVENANCE


def test_pdf_hexadecimal_and_utf16_strings() -> None:
    line = encode(PROVENANCE)
    assert decode(pdf(b"<" + line.encode().hex().encode() + b">")) == PROVENANCE
    assert decode(pdf(b"<FEFF" + line.encode("utf-16-be").hex().upper().encode() + b">")) == PROVENANCE


def test_the_last_keywords_of_a_pdf_count() -> None:
    old = pdf(b"(" + encode({"agentlab": "old"}).encode() + b")")
    new = pdf(b"(" + encode({"agentlab": "new"}).encode() + b")")
    assert decode(old + new) == {"agentlab": "new"}


@pytest.mark.parametrize(
    "keywords", [b"(", b"(cut off", b"<zz>", b"<", b"5", b"(other)", b"(" + MARK.encode() + b"{)"]
)
def test_pdf_without_readable_provenance(keywords: bytes) -> None:
    assert decode(pdf(keywords)) is None


def test_png_text_chunks() -> None:
    line = encode(PROVENANCE).encode()
    assert decode(png((b"IHDR", b"0" * 13), (b"tEXt", b"agentlab\0" + line), (b"IEND", b""))) == PROVENANCE
    assert decode(png((b"zTXt", b"agentlab\0\0" + zlib.compress(line)))) == PROVENANCE
    assert decode(png((b"iTXt", b"agentlab\0\0\0\0\0" + line))) == PROVENANCE


def test_png_with_packed_international_text() -> None:
    line = encode(PROVENANCE).encode()
    assert decode(png((b"iTXt", b"agentlab\0\1\0\0\0" + zlib.compress(line)))) == PROVENANCE


@pytest.mark.parametrize(
    "data",
    [
        png(),
        png((b"tEXt", b"other\0x")),
        png((b"zTXt", b"agentlab\0\0broken")),
        png((b"iTXt", b"agentlab\0")),
        png((b"tEXt", b"agentlab\0" + MARK.encode() + b"[1]")),
        png((b"tEXt", b"agentlab\0x"))[:-9],
        b"",
        b"no figure",
        b"<svg",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    ],
)
def test_files_without_provenance(data: bytes) -> None:
    assert decode(data) is None


def test_metadata_holds_no_time_of_day() -> None:
    assert metadata("pdf", PROVENANCE, "t")["CreationDate"] is None
    assert metadata("svg", PROVENANCE, "t")["Date"] is None
    dated = {**PROVENANCE, "date": "2026-01-02T03:04:05+00:00"}
    assert metadata("pdf", dated, "t")["CreationDate"].isoformat() == dated["date"]
    assert metadata("svg", dated, "t")["Date"] == dated["date"]
