"""How a page is recorded: what the trace holds, whether a sampler runs, and what is watched in the page."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ...errors import ConfigError, did_you_mean
from ...scenario import digest

#: What the older script recorded.
ORIGINAL = (
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-devtools.timeline.frame",
    "blink.user_timing",
)
#: With layout shifts, which cost nothing.
LIGHT = (*ORIGINAL, "loading")
_DEEP = (
    *LIGHT,
    "disabled-by-default-devtools.timeline.stack",
    "disabled-by-default-devtools.timeline.invalidationTracking",
)
_FILM = (*LIGHT, "disabled-by-default-devtools.screenshot")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recorder:
    """Say how a page is recorded; it is part of what tells two arms apart.

    Parameters
    ----------
    preset : str
        Name of the set-up.
    categories : sequence of str
        Of the trace; empty: no trace.
    sampling_us : int, optional
        Wanted time between two samples of the CPU profiler, us; None: no sampler.
    probe : bool
        Whether timers, animation frames, observers and listeners of the page are counted by call site.
    """

    preset: str
    categories: Sequence[str]
    sampling_us: int | None
    probe: bool

    def identity(self) -> dict[str, Any]:
        """Return it as plain data.

        Returns
        -------
        dict
        """
        return dataclasses.asdict(self) | {"categories": list(self.categories)}

    @property
    def categories_hash(self) -> str:
        """Digest of the categories, whatever their order."""
        return digest(sorted(self.categories))

    @property
    def films(self) -> bool:
        """Whether pictures of the page are among what is recorded."""
        return any("screenshot" in name for name in self.categories)


PRESETS: dict[str, Recorder] = {
    "off": Recorder(preset="off", categories=(), sampling_us=None, probe=False),
    "light": Recorder(preset="light", categories=LIGHT, sampling_us=None, probe=False),
    "cpu": Recorder(preset="cpu", categories=LIGHT, sampling_us=1000, probe=True),
    "original": Recorder(preset="original", categories=ORIGINAL, sampling_us=200, probe=True),
    "deep": Recorder(preset="deep", categories=_DEEP, sampling_us=1000, probe=True),
    "film": Recorder(preset="film", categories=_FILM, sampling_us=None, probe=False),
}


def find_preset(name: object) -> Recorder:
    """Return a set-up by its name.

    Parameters
    ----------
    name : str
        One of :data:`PRESETS`.

    Returns
    -------
    Recorder

    Raises
    ------
    ConfigError
        There is none of that name.

    Examples
    --------
    >>> find_preset("original").sampling_us
    200
    """
    if isinstance(name, str) and name in PRESETS:
        return PRESETS[name]
    known = ", ".join(map(repr, PRESETS))
    raise ConfigError(f"WebChat(preset={name!r}): write one of {known}{did_you_mean(name, PRESETS)}")
