"""What the README says of its figure is what the figure's data say."""

from __future__ import annotations

import csv
import re
from pathlib import Path

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
