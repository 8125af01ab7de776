"""What a tool call gave: the text an agent sees, and what is known of the whole."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

_FAILURE_END = 500


class ToolFailure(Exception):
    """A tool cannot do what it was asked; the text is what the agent reads."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Observation:
    """Hold the outcome of one call.

    Parameters
    ----------
    ok : bool
        False: the call failed, and ``content`` says why.
    content : str
        What the agent sees, cut when the whole is too long.
    name : str or None
        Of the whole in the archive, for ``query``; None: a failure, which is not archived.
    n_chars, n_bytes : int
        Length of the whole, in characters and in UTF-8 bytes.
    hash : str
        First 16 hexadecimal digits of its SHA-256.
    cut : bool
        Whether ``content`` is less than the whole.
    """

    ok: bool
    content: str
    name: str | None = None
    n_chars: int
    n_bytes: int
    hash: str
    cut: bool = False

    @classmethod
    def failure(cls, text: str) -> Observation:
        """Return what a failed call gives; a long text (it may repeat what was asked) is cut.

        Parameters
        ----------
        text : str
            Why it failed.

        Returns
        -------
        Observation

        Examples
        --------
        >>> Observation.failure("there is no such file").ok
        False
        """
        if len(text) > 2 * _FAILURE_END:  # what is wrong stands at either end
            text = f"{text[:_FAILURE_END]} ... {text[-_FAILURE_END:]}"
        data = text.encode()
        return cls(ok=False, content=text, n_chars=len(text), n_bytes=len(data), hash=_hash(data))

    @classmethod
    def whole(cls, text: str, *, name: str, max_chars: int) -> Observation:
        """Return what a call gives, cut to a length.

        Parameters
        ----------
        text : str
            All of it.
        name : str
            In the archive.
        max_chars : int
            Longest text shown.

        Returns
        -------
        Observation

        Examples
        --------
        >>> Observation.whole("abcdef", name="o1", max_chars=4).cut
        True
        """
        data = text.encode()
        shown, cut = text, len(text) > max_chars
        if cut:
            end = text.rfind("\n", 0, max_chars) + 1
            if end <= max_chars // 2:  # whole lines, unless a long one would leave nearly nothing
                end = max_chars
            shown = (
                f"{text[:end]}\n[cut: {end} of {len(text)} characters shown. The rest: "
                f"query(observation={name!r}, start={end + 1}), or with pattern=]"
            )
        return cls(
            ok=True, content=shown, name=name, n_chars=len(text), n_bytes=len(data), hash=_hash(data), cut=cut
        )

    def fields(self) -> dict[str, Any]:
        """Return what evidence says of it: nothing of its text.

        Returns
        -------
        dict
        """
        return {
            "ok": self.ok,
            "observation": self.name,
            "n_chars": self.n_chars,
            "n_bytes": self.n_bytes,
            "hash": self.hash,
            "cut": self.cut,
        }


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
