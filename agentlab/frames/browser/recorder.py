"""How a page was recorded, in words that tell two set-ups apart."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from ..values import as_bool, as_count, as_text


def recorder_text(recorder: Mapping[str, Any]) -> str | None:
    """Return a recorder's set-up in one line: equal for equal set-ups.

    Parameters
    ----------
    recorder : mapping
        ``identity.settings.recorder`` of ``run.json``.

    Returns
    -------
    str or None
        None without one.

    Examples
    --------
    >>> recorder_text({"preset": "cpu", "categories": ["a", "b"], "sampling_us": 1000, "probe": True})
    'cpu: trace 1eb7, samples 1000 us, probe'
    >>> recorder_text({"preset": "off", "categories": []})
    'off: no trace'
    """
    if not recorder:
        return None
    categories, sampling = recorder.get("categories"), as_count(recorder.get("sampling_us"))
    parts: list[str] = []
    if isinstance(categories, list):
        names = ",".join(sorted(map(str, categories)))
        parts.append(f"trace {sha256(names.encode()).hexdigest()[:4]}" if names else "no trace")
    if sampling is not None:
        parts.append(f"samples {sampling} us")
    if as_bool(recorder.get("probe")):
        parts.append("probe")
    preset = as_text(recorder.get("preset")) or "own"
    return f"{preset}: {', '.join(parts)}" if parts else preset
