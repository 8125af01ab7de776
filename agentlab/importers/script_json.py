"""JSON text as the original cache script wrote it: two-space JSON of a JavaScript engine."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

_QUOTE = json.JSONEncoder(ensure_ascii=False).encode


def dumps(data: Any) -> str:  # noqa: ANN401
    """Write JSON data with an indent of two spaces, as ``JSON.stringify(data, null, 2)`` does.

    Parameters
    ----------
    data : JSON data
        Mappings, sequences, text, numbers, truth values, None.

    Returns
    -------
    str
        Without a final newline; keys in their order.

    Raises
    ------
    ValueError
        A number is not finite.

    Examples
    --------
    >>> print(dumps({"share": 1.0, "rows": [], "ms": [0.00001]}))
    {
      "share": 1,
      "rows": [],
      "ms": [
        0.00001
      ]
    }
    """
    return "".join(_pieces(data, "\n"))


def _pieces(data: Any, line: str) -> Any:  # noqa: ANN401
    inner = line + "  "
    if isinstance(data, Mapping):
        yield "{"
        for number, (key, value) in enumerate(data.items()):
            yield f"{',' if number else ''}{inner}{_QUOTE(str(key))}: "
            yield from _pieces(value, inner)
        yield line + "}" if data else "}"
    elif isinstance(data, Sequence) and not isinstance(data, str):
        yield "["
        for number, value in enumerate(data):
            yield f"{',' if number else ''}{inner}"
            yield from _pieces(value, inner)
        yield line + "]" if data else "]"
    elif isinstance(data, float):
        yield _number(data)
    else:
        yield _QUOTE(data)


def _number(value: float) -> str:
    """Write a double: the shortest digits that give it back, plain between 1e-6 and 1e21."""
    if not math.isfinite(value):
        raise ValueError(f"{value} is no JSON number")
    if value == 0:
        return "0"
    if 1e-6 <= abs(value) < 1e21:
        plain = format(Decimal(repr(value)), "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    return re.sub(r"e([+-])0*", r"e\1", repr(value).replace(".0e", "e"))
