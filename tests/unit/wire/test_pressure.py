"""What the kernel does not tell is unknown (case 72)."""

import errno
from pathlib import Path

import pytest

from agentlab.wire.pressure import Pressure, read_pressure

_CPU = (
    "some avg10=2.62 avg60=0.99 avg300=1.23 total=15640727\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
)
_MEMORY = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=1\n"


def proc(folder: Path, **files: str) -> Path:
    (folder / "pressure").mkdir()
    for name, text in files.items():
        (folder / name.replace("_", "/")).write_text(text)
    return folder


def test_normal_files(tmp_path: Path) -> None:
    root = proc(
        tmp_path,
        pressure_cpu=_CPU,
        pressure_memory=_MEMORY,
        pressure_io=_CPU,
        meminfo="MemTotal:       24000000 kB\nMemAvailable:    1000 kB\nHugePages_Total:       0\n",
        loadavg="0.41 0.20 0.11 1/200 4242\n",
    )
    seen = read_pressure(root)
    assert seen == Pressure(
        cpu_some_avg10=2.62,
        memory_some_avg10=0.0,
        memory_full_avg10=0.5,
        io_some_avg10=2.62,
        io_full_avg10=0.0,
        memory_available_bytes=1_024_000,
        load1=0.41,
    )
    assert seen.known


def test_absent_files(tmp_path: Path) -> None:
    assert read_pressure(tmp_path / "nothing") == Pressure()
    assert not Pressure().known


@pytest.mark.parametrize(
    "text", ["", "\n", "some\n", "some avg10=\n", "some avg10=nan\n", "some avg10=-1\n", "?avg10=1"]
)
def test_empty_or_foreign_files(tmp_path: Path, text: str) -> None:
    root = proc(
        tmp_path, pressure_cpu=text, pressure_memory=text, pressure_io=text, meminfo=text, loadavg=text
    )
    assert read_pressure(root) == Pressure()


def test_a_read_that_is_not_supported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = proc(tmp_path, pressure_cpu=_CPU, pressure_memory=_MEMORY, pressure_io=_CPU, loadavg="1.00 1 1")
    read_text = Path.read_text

    def fail(file: Path, *args: str) -> str:
        if file.parent.name == "pressure":
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return read_text(file, *args)

    monkeypatch.setattr(Path, "read_text", fail)
    assert read_pressure(root) == Pressure(load1=1.0)


def test_one_resource_alone_does_not_make_quiet_known(tmp_path: Path) -> None:
    seen = read_pressure(proc(tmp_path, pressure_cpu=_CPU))
    assert seen.cpu_some_avg10 == 2.62
    assert not seen.known
