"""Packed bodies, of requests and replies."""

from __future__ import annotations

import zlib
from collections.abc import Callable

#: Values of content-encoding that are read.
PACKED = ("gzip", "x-gzip", "deflate")


def unpacker(encoding: str, begin: bytes) -> Callable[..., bytes]:
    """Return what unpacks a body, part by part.

    Parameters
    ----------
    encoding : str
        One of :data:`PACKED`.
    begin : bytes
        First part of the body.

    Returns
    -------
    callable
        Takes a part and, optionally, how many bytes it may become; raises ``zlib.error``.
    """
    bare = encoding == "deflate" and begin[:1] and begin[0] & 15 != 8  # as some write it: without zlib's head
    return zlib.decompressobj(wbits=-15 if bare else 47).decompress  # 47: gzip or zlib, as it says
