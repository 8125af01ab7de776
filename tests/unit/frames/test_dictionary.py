import runpy
from pathlib import Path

from agentlab.frames.tables import TABLES
from agentlab.issues import CODES

ROOT = Path(__file__).resolve().parents[3]


def test_the_dictionary_is_up_to_date_and_holds_every_column_and_code():
    text = runpy.run_path(str(ROOT / "scripts" / "make_dictionary.py"))["text"]()
    assert (ROOT / "docs" / "tables.md").read_text() == text, "run python scripts/make_dictionary.py"
    names = {column.name for table in TABLES.values() for column in table.columns}
    assert all(f"`{name}`" in text for name in {*names, *CODES})


def test_every_na_reason_is_explained():
    """Codes that builders write into `reason` columns are those of the dictionary."""
    import re

    from agentlab.frames.reasons import REASONS

    frames = ROOT / "agentlab" / "frames"
    names = ("turns", "requests", "chunks", "tools", "join", "pairing", "memory", "exec")
    files = [*(frames / f"{name}.py" for name in names), *(frames / "browser").glob("*.py")]
    sources = "".join(file.read_text() for file in files)
    for code in REASONS:
        if code != "null_in_report":
            assert re.search(rf'"{code}"', sources), f"{code} is used nowhere"
