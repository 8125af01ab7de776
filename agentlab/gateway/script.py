"""Settings of a scripted model: its steps, how they are matched, and its prompt cache."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..errors import ConfigError
from .checks import given
from .promptcache import PromptCache
from .step import Step


@dataclasses.dataclass(frozen=True)
class ScriptedModel:
    """Describe a model that answers by a script; its token counts are computed, never stated.

    Parameters
    ----------
    steps : sequence of Step
        The script.
    match : {"order", "rule"}
        ``"order"``: the k-th request of a session gets step k (a repeat of the same prompt its own step
        again); past the end the text says so and the request's reason is ``script_ended``. ``"rule"``: the
        first step whose ``when`` holds; else the reason is ``script_no_match``.
    cache : PromptCache
        Where cached tokens come from.
    side : str or None
        Text of the reply to side requests, which take no step: those without tools (titles, summaries), and
        summaries that keep them; None: they are matched like any other. A rule that asks for
        ``has_tools: false`` comes first.

    Examples
    --------
    >>> ScriptedModel([Step(text="Hi.")]).match
    'order'
    """

    steps: Sequence[Step]
    match: Literal["order", "rule"] = dataclasses.field(default="order", kw_only=True)
    cache: PromptCache = dataclasses.field(default=PromptCache(), kw_only=True)
    side: str | None = dataclasses.field(default="Side request.", kw_only=True)

    def __post_init__(self) -> None:
        steps = tuple(self.steps)
        if not steps or not all(isinstance(step, Step) for step in [*map(given, steps)]):
            raise ConfigError("ScriptedModel(steps=...): give at least one Step, e.g. [Step(text='Hello.')]")
        object.__setattr__(self, "steps", steps)
        if self.match not in ("order", "rule"):
            raise ConfigError(f"ScriptedModel(match={self.match!r}): write 'order' or 'rule'")
        if self.match == "order" and any(step.when for step in steps):
            raise ConfigError("ScriptedModel: Step(when=...) needs match='rule'")
        if not isinstance(given(self.cache), PromptCache):
            raise ConfigError(f"ScriptedModel(cache={self.cache!r}): give a PromptCache")
        if not isinstance(given(self.side), (str, type(None))):
            raise ConfigError(f"ScriptedModel(side={self.side!r}): give a text or None")

    def __repr__(self) -> str:
        steps = "1 step" if len(self.steps) == 1 else f"{len(self.steps)} steps"
        return f"<ScriptedModel of {steps}, match={self.match!r}, {self.cache!r}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the script as plain JSON data.

        Returns
        -------
        dict
        """
        return {
            "steps": [step.to_dict() for step in self.steps],
            "match": self.match,
            "cache": self.cache.to_dict(),
            "side": self.side,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ScriptedModel:
        """Rebuild a script from :meth:`to_dict`.

        Parameters
        ----------
        data : mapping
            Plain data; all keys but ``steps`` may be absent.

        Returns
        -------
        ScriptedModel

        Raises
        ------
        ConfigError
            A key is unknown or a value wrong.
        """
        data = dict(data)
        unknown = sorted(set(data) - {"steps", "match", "cache", "side", "about"})
        if unknown or "steps" not in data:
            raise ConfigError(
                f"a script has no {', '.join(map(repr, unknown))}" if unknown else "a script needs 'steps'"
            )
        data.pop("about", None)
        steps = [Step.from_dict(step) for step in data.pop("steps")]
        cache = PromptCache.from_dict(data.pop("cache", {}))
        return cls(steps, cache=cache, **data)

    @classmethod
    def load(cls, name: str | Path) -> ScriptedModel:
        """Load a shipped script, or a JSON file in the form of :meth:`to_dict`.

        Parameters
        ----------
        name : str or Path
            ``"cache-probe"``, or a path that ends in ``.json``.

        Returns
        -------
        ScriptedModel

        Raises
        ------
        ConfigError
            No such script, or it is not valid.

        Examples
        --------
        >>> len(ScriptedModel.load("cache-probe").steps) > 2
        True
        """
        shipped = Path(__file__).with_name("scripts")
        path = Path(name)
        if path.suffix != ".json":
            path = shipped / f"{name}.json"
            if not path.is_file():
                names = ", ".join(sorted(repr(p.stem) for p in shipped.glob("*.json")))
                raise ConfigError(
                    f"ScriptedModel.load({str(name)!r}): there is {names}; or give a path to a .json file"
                )
        try:
            return cls.from_dict(json.loads(path.read_bytes()))
        except FileNotFoundError:
            raise ConfigError(f"ScriptedModel.load({str(name)!r}): there is no such file") from None
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error
        except (OSError, ValueError, TypeError) as error:
            raise ConfigError(f"{path}: not a script: {error}") from error
