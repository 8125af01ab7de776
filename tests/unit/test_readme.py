"""What the README says of its figure is what the figure's data say."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import agentlab
from agentlab.cli.commands import make_parser

ROOT = Path(__file__).parents[2]


def test_numbers_are_those_of_the_figure() -> None:
    with (ROOT / "docs" / "images" / "cache.csv").open() as file:
        rows = list(csv.DictReader(file))
    (row,) = (r for r in rows if r["metric"] == "CACHE_HIT_RATE" and r["kind"] == "difference")
    points = [f"{-100 * float(row[name]):.1f}" for name in ("estimate", "upper", "lower")]
    said = re.search(
        r"costs (\S+) points of the cached share \(interval (\S+) to (\S+), (\d+) blocks\)",
        (ROOT / "README.md").read_text(),
    )
    assert said is not None
    assert list(said.groups()) == [*points, row["n_blocks"]]
    others = [r for r in rows if r["metric"] != "CACHE_HIT_RATE" and r["kind"] == "difference"]
    assert others and all(float(r["lower"]) < 0 < float(r["upper"]) for r in others)  # "do not differ"


def _table() -> list[list[str]]:
    """Rows of the table of what each front does: wish, Python, terminal."""
    text = (ROOT / "README.md").read_text().split("| you want to |")[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines()[2:]]


def test_every_name_of_the_fronts_exists() -> None:
    rows = _table()
    assert len(rows) >= 5
    names = [m for _, python, _ in rows for m in re.findall(r"\b([A-Za-z_]\w+)(?=\(|`)", python)]
    assert {"record", "attach", "explore", "export", "report", "AgentCLI"} <= set(names)
    assert [name for name in names if not hasattr(agentlab, name)] == []


def test_every_command_exists() -> None:
    text = (ROOT / "README.md").read_text()
    commands = set(re.findall(r"agentlab (\w+)", "".join(re.findall(r"```\n(.*?)```", text, re.S))))
    commands |= {m for _, _, shell in _table() for m in re.findall(r"`(?:agentlab )?(\w+)", shell)}
    assert {"record", "report"} <= commands
    known = make_parser().format_help()
    assert [name for name in commands if f"    {name} " not in known] == []


def test_pictures_are_there_and_it_is_one_page() -> None:
    text = (ROOT / "README.md").read_text()
    pictures = re.findall(r"docs/images/[\w.]+png", text)
    assert len(pictures) >= 3
    assert [name for name in pictures if not (ROOT / name).is_file()] == []
    assert len(text.splitlines()) <= 130  # a page or two on a screen, nobody reads more
