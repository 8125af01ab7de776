import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pandas as pd
import pytest
from matplotlib.figure import Figure

import agentlab
from agentlab.errors import ConfigError, ImportFormatError, RecordingError
from agentlab.plots.canvas import new_figure
from agentlab.plots.estimates import plot_estimates
from agentlab.plots.export import Saved, figure_info, save
from agentlab.testing.estimates import estimates_frame

ESTIMATES = estimates_frame(metrics=("TTFT", "CACHE_HIT_RATE"))
PLAIN = Figure(figsize=(1, 1)).add_subplot()


@pytest.fixture(autouse=True)
def _no_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    return save(plot_estimates(ESTIMATES), tmp_path_factory.mktemp("figures") / "cache", data=ESTIMATES)


def digests(files: Saved) -> list[str]:
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]


def test_five_files_and_nothing_else(saved: Saved) -> None:
    names = ["cache.csv", "cache.parquet", "cache.pdf", "cache.png", "cache.svg"]
    assert sorted(path.name for path in saved) == names
    assert sorted(path.name for path in saved.pdf.parent.iterdir()) == names
    assert len(saved) == 5


def test_equal_bytes_when_saved_twice_and_when_drawn_twice(saved: Saved, tmp_path: Path) -> None:
    """Case 99."""
    ax = plot_estimates(ESTIMATES)
    first = digests(save(ax, tmp_path / "cache", data=ESTIMATES))
    assert digests(save(ax, tmp_path / "cache", data=ESTIMATES)) == first
    assert first == digests(saved)


def test_equal_bytes_in_another_process_after_the_figure_was_shown(saved: Saved, tmp_path: Path) -> None:
    code = (
        "import sys; from agentlab.testing.estimates import estimates_frame\n"
        "from agentlab.plots.estimates import plot_estimates; from agentlab.plots.export import save\n"
        "data = estimates_frame(metrics=('TTFT', 'CACHE_HIT_RATE')); ax = plot_estimates(data)\n"
        "ax.figure.canvas.draw(); ax.figure.canvas.draw(); save(ax, sys.argv[1], data=data)\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "cache")], check=True, env=env)
    again = [tmp_path / path.name for path in saved]
    assert [hashlib.sha256(path.read_bytes()).hexdigest() for path in again] == digests(saved)


def test_pdf_holds_truetype_and_no_type_3_fonts(saved: Saved) -> None:
    """Case 99: publishers refuse Type 3."""
    data = saved.pdf.read_bytes()
    kinds = set(re.findall(rb"/Subtype\s*/(\w+)", data))
    assert b"Type3" not in kinds and b"CIDFontType2" in kinds
    assert data.count(b"/FontFile2") >= 1
    assert b"/CreationDate" not in data


def test_svg_is_xml_without_text_that_needs_fonts(saved: Saved) -> None:
    root = ElementTree.fromstring(saved.svg.read_bytes())
    assert not list(root.iter("{http://www.w3.org/2000/svg}text"))
    used = re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", saved.svg.read_text())
    ids = {element.get("id") for element in root.iter()}
    assert {one or two for one, two in used} <= ids


def test_provenance_is_the_same_in_all_three(saved: Saved) -> None:
    info = figure_info(saved.pdf)
    assert figure_info(saved.svg) == figure_info(saved.png) == figure_info(str(saved.pdf)) == info
    assert info["agentlab"] == agentlab.__version__
    assert info["matplotlib"] == matplotlib.__version__
    assert info["date"] is None
    assert info["metrics"] == ["TTFT", "CACHE_HIT_RATE"]
    assert info["arms"] == ["stable", "volatile"]
    assert info["studies"] == [{"name": "synthetic", "scenario_digest": "0" * 16}]
    assert info["seeds"] == [0] and info["levels"] == [0.95]
    assert [drawing["function"] for drawing in info["drawn_by"]] == ["plot_estimates"]
    assert saved.csv is not None
    assert info["data"] == {
        "rows": 6,
        "columns": 23,
        "csv_sha256": hashlib.sha256(saved.csv.read_bytes()).hexdigest(),
    }


def test_data_reads_back_with_its_dtypes(saved: Saved) -> None:
    frame = pd.read_parquet(saved.parquet)  # pyright: ignore[reportArgumentType]
    pd.testing.assert_frame_equal(frame, ESTIMATES)
    assert list(pd.read_csv(saved.csv)["estimate"]) == list(ESTIMATES["estimate"])  # pyright: ignore[reportArgumentType]


def test_the_date_comes_from_the_environment_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767323045")
    files = save(PLAIN, tmp_path / "dated")
    assert figure_info(files.png)["date"] == "2026-01-02T03:04:05+00:00"
    assert b"/CreationDate (D:20260102030405Z)" in files.pdf.read_bytes()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(ConfigError, match="SOURCE_DATE_EPOCH='yesterday'"):
        save(PLAIN, tmp_path / "dated")


def test_without_data_three_files(tmp_path: Path) -> None:
    files = save(PLAIN, str(tmp_path / "a" / "b" / "plain.v2"))
    assert [path.name for path in files] == ["plain.v2.pdf", "plain.v2.svg", "plain.v2.png"]
    assert files.csv is None and figure_info(files.svg)["data"] is None


def test_a_figure_of_ones_own_is_saved_too(tmp_path: Path) -> None:
    figure = Figure()
    inner = figure.subfigures(1, 2)[1].add_subplot()
    inner.plot([1, 2])
    files = save(inner, tmp_path / "own")
    assert figure_info(files.pdf)["agentlab"] == agentlab.__version__
    assert figure_info(files.pdf).get("drawn_by", []) == []
    assert digests(save(figure, tmp_path / "own")) == digests(files)


def test_two_drawings_on_one_figure_are_both_remembered(tmp_path: Path) -> None:
    left, right = new_figure(8, 3).subplots(1, 2)
    plot_estimates(estimates_frame(metrics=("TTFT",)), ax=left, kinds="level")
    plot_estimates(estimates_frame(metrics=("COST",)), ax=right, kinds="difference")
    info = figure_info(save(left, tmp_path / "two").png)
    assert info["metrics"] == ["TTFT", "COST"]
    assert [drawing["kinds"] for drawing in info["drawn_by"]] == [["level"], ["difference"]]


@pytest.mark.parametrize(
    ("stem", "message"),
    [
        ("", "ends in a file's name"),
        ("  ", "ends in a file's name"),
        ("figures/", "ends in a file's name"),
        (".", "ends in a file's name"),
        ("a/..", "ends in a file's name"),
        ("a\0b", "ends in a file's name"),
        ("figures/cache.pdf", "without '.pdf'"),
        ("cache.PNG", "without '.PNG'"),
        ("cache.parquet", "without '.parquet'"),
    ],
)
def test_bad_stems_are_named(stem: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        save(PLAIN, stem)


def test_a_folder_is_no_stem(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="that is a folder; add a name"):
        save(PLAIN, tmp_path)


@pytest.mark.parametrize("stem", [3, None, b"bytes"])
def test_a_stem_is_text_or_a_path(stem) -> None:
    with pytest.raises(ConfigError, match="give a path"):
        save(PLAIN, stem)


@pytest.mark.parametrize("ax", [None, "ax", ESTIMATES])
def test_what_is_no_figure_is_refused(ax, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give the Axes"):
        save(ax, tmp_path / "x")


def test_data_that_is_no_frame_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give the DataFrame"):
        save(PLAIN, tmp_path / "x", data=[1, 2])  # pyright: ignore[reportArgumentType]
    mixed = pd.DataFrame({"status": ["ok", 402, None]}, dtype=object)
    with pytest.raises(ConfigError, match="cannot be written to Parquet"):
        save(PLAIN, tmp_path / "x", data=mixed)
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="cannot be written"):
        save(PLAIN, tmp_path / "file" / "cache")


def test_a_full_disk_leaves_the_old_files_and_no_rubbish(saved: Saved, tmp_path: Path, monkeypatch) -> None:
    files = save(PLAIN, tmp_path / "cache")
    before = digests(files)
    written = []
    real = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        written.append(self)
        if len(written) == 2:
            real(self, data[:100])
            raise OSError(28, "No space left on device", str(self))
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RecordingError, match="No space left"):
        save(PLAIN.figure, tmp_path / "cache")
    monkeypatch.undo()
    assert digests(files) == before
    assert len(list(tmp_path.iterdir())) == 3


def test_figure_info_of_other_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        figure_info(tmp_path / "none.pdf")
    (tmp_path / "text.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    with pytest.raises(ImportFormatError, match="no provenance of agentlab"):
        figure_info(tmp_path / "text.svg")
    figure = Figure()
    figure.savefig(tmp_path / "plain.png")
    with pytest.raises(ImportFormatError, match="no provenance of agentlab"):
        figure_info(tmp_path / "plain.png")


def test_what_was_saved_shows_its_paths(saved: Saved) -> None:
    bundle = saved._repr_mimebundle_()
    assert str(saved.pdf) in bundle["text/plain"] and "kB" in bundle["text/plain"]
    assert bundle["text/html"].count("<li>") == 5
