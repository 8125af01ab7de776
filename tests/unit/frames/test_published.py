"""The published figures: all there, typed, and told apart by source, version and method."""

import pytest

import agentlab as al
from agentlab.errors import ConfigError
from agentlab.frames.published import PUBLISHED, reference


def test_every_figure_is_there_with_its_types() -> None:
    frame = reference("terminal")
    assert [str(frame[c.name].dtype) for c in PUBLISHED] == [c.dtype for c in PUBLISHED]
    assert list(frame.columns) == [c.name for c in PUBLISHED]
    counts = frame.groupby("source", sort=False).size().to_dict()
    assert counts == {
        "jcode README": 63,
        "synaps BENCHMARKS": 17,
        "freecode BENCHMARKS": 24,
        "Steak Pi overhead bench": 4,
        "KonghaYao harness-perf-benchmark": 21,
        "Cersei docs": 6,
        "a forum comment": 4,
    }
    assert set(frame["unit"]) == {"MB", "ms", "s"}
    figures = frame[["source", "source_version", "tool", "version", "sessions", "measure", "note"]]
    assert not figures.duplicated().any()
    assert frame["tool"].notna().all() and frame["measure"].notna().all()
    assert (frame["value"].notna() | (frame["low"].notna() & frame["high"].notna())).all()


def test_some_figures_by_hand() -> None:
    frame = reference("terminal")
    codex = frame[(frame["tool"] == "codex") & (frame["measure"] == "pss_per_added")]
    assert codex["value"].tolist() == [21.6, 119.6, 44.2]
    ten = frame[(frame["tool"] == "opencode") & (frame["measure"] == "pss") & (frame["sessions"] == 10)]
    assert sorted(ten["value"]) == [3135.1, 3237.2, 7942.7]
    claude = frame[(frame["tool"] == "claude_code") & (frame["measure"] == "first_frame")].iloc[0]
    assert (claude["value"], claude["low"], claude["high"], claude["n"]) == (3436.9, 2033, 8927, 10)


def test_per_added_agrees_with_one_and_ten_sessions() -> None:
    frame = reference("terminal")
    keys = ["source", "tool", "version", "note"]
    pss = frame[(frame["measure"] == "pss") & frame["source_version"].isna()]
    wide = pss.pivot_table(index=keys, columns="sessions", values="value", dropna=False).dropna()
    added = frame[frame["measure"] == "pss_per_added"].set_index(keys)["value"]
    for key, row in wide.iterrows():
        if key in added.index:
            assert (row[10] - row[1]) / 9 == pytest.approx(float(added[key]), abs=0.06)


def test_another_name_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'terminal'"):
        al.reference("terminals")
