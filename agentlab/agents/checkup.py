"""What the doctor says: checks, and the report that shows them."""

from __future__ import annotations

import dataclasses
import html
import textwrap
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

State = Literal["ok", "limited", "missing"]
# Inline styles only: an untrusted notebook drops everything else. Grey text would vanish on dark themes.
_COLOUR = {"ok": "#2e8b57", "limited": "#c77700", "missing": "#d32f2f"}
_WIDTH = 110
_CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check:
    """Say one thing about the machine.

    Parameters
    ----------
    name : str
        What was looked at.
    state : {"ok", "limited", "missing"}
        ``limited``: agentlab works and marks what suffers; ``missing``: something cannot be done at all.
    found : str
        What is there; without paths of this user.
    effect : str
        What is empty, marked or impossible because of it; empty when ok.
    fix : str
        Command or advice that mends it; empty when ok.
    """

    name: str
    state: State
    found: str
    effect: str = ""
    fix: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """Hold all checks; shows itself as a table.

    Parameters
    ----------
    checks : tuple of Check
        In order of need.

    Examples
    --------
    >>> report = Report(checks=(Check(name="disk", state="ok", found="20 GiB free"),))
    >>> report.ok, report.frame["state"].tolist()
    (True, ['ok'])
    """

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is missing."""
        return all(check.state != "missing" for check in self.checks)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per check: name, state, found, effect, fix."""
        import pandas as pd

        names = [field.name for field in dataclasses.fields(Check)]
        return pd.DataFrame(
            [dataclasses.asdict(check) for check in self.checks], columns=names, dtype="string"
        )

    @property
    def summary(self) -> str:
        """One line: what is missing or limited, by name."""
        parts = [
            f"{state}: {', '.join(names)}"
            for state in ("missing", "limited")
            if (names := [check.name for check in self.checks if check.state == state])
        ]
        return "; ".join(parts) or f"all {len(self.checks)} checks are ok"

    def __repr__(self) -> str:
        width = max(len(check.name) for check in self.checks)
        indent = " " * (width + 11)
        lines: list[str] = []
        for check in self.checks:
            head = f"{check.name:<{width}}  {check.state:<7}  "
            lines += textwrap.wrap(check.found, _WIDTH, initial_indent=head, subsequent_indent=indent)
            lines += textwrap.wrap(check.effect, _WIDTH, initial_indent=indent, subsequent_indent=indent)
            lines += [f"{indent}-> {check.fix}"] if check.fix else []  # one line: it is copied
        return "\n".join([*lines, self.summary])

    def _repr_html_(self) -> str:
        rows = "".join(_row(check) for check in self.checks)
        heads = "".join(f'<th style="{_CELL}">{name}</th>' for name in ("", "state", "found", "what follows"))
        return (
            f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
            f"<p>{html.escape(self.summary)}</p>"
        )


def _row(check: Check) -> str:
    note = html.escape(check.effect)
    if check.fix:
        note += f"<br><code>{html.escape(check.fix)}</code>"
    return (
        f'<tr><td style="{_CELL};white-space:nowrap">{html.escape(check.name)}</td>'
        f'<td style="{_CELL};color:{_COLOUR[check.state]}">{check.state}</td>'
        f'<td style="{_CELL}">{html.escape(check.found)}</td><td style="{_CELL}">{note}</td></tr>'
    )
