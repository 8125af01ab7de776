"""The wires that agents speak; each is accepted as it is, none is translated."""

from __future__ import annotations

from .base import Dialect
from .chat import Chat

#: Name -> dialect.
DIALECTS: dict[str, Dialect] = {"chat": Chat()}
