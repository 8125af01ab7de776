"""How late a stamp is while the notebook computes: in a measuring kernel, a process, a notebook's thread.

Three processes at once: a model that stamps each event directly before it writes it, a notebook kernel inside
long ``json.loads`` calls, and the reader. Both stamps are CLOCK_MONOTONIC.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from agentlab.wire.pressure import read_pressure

from . import Row, _sse_server, median, print_conditions, print_rows, verdict

GOAL_P99_MS = 1.0
GOAL_RATIO = 20.0
QUIET_PCT = 5.0  # the absolute goal is judged only on repeats with a CPU PSI avg10 below it at both ends
_ROOT = str(Path(__file__).resolve().parent.parent)
_PREPARE = f"""
import sys; sys.path.insert(0, {_ROOT!r})
from benchmarks import _stamp_reader as reader
reader.settle()
"""
_TEXT = 'import json, pathlib; text = json.dumps([{{"a": i, "b": str(i)}} for i in range({n})])'
_COMPUTE = "while not pathlib.Path({stop!r}).exists(): json.loads(text)"
_COMPUTE_BESIDE = "thread = reader.in_thread({url!r}, {out!r})\nwhile thread.is_alive(): json.loads(text)"


class Kernel:
    """A real ipykernel, used through jupyter_client."""

    def __init__(self, folder: Path) -> None:
        from jupyter_client.manager import KernelManager

        folder.mkdir()
        self._manager = KernelManager(
            kernel_name="python3", transport="ipc", connection_file=str(folder / "kernel.json")
        )
        self._manager.start_kernel(extra_arguments=[f"--IPythonKernelApp.ipython_dir={folder / 'ipython'}"])
        self._client: Any = self._manager.client()
        self._client.start_channels(stdin=False, hb=False)
        self._client.wait_for_ready(timeout=60)
        self.run(_PREPARE)

    def begin(self, code: str) -> str:
        """Start a cell."""
        return self._client.execute(code, store_history=False, allow_stdin=False)

    def finish(self, request: str) -> None:
        """Wait for a cell's end."""
        while True:
            reply = self._client.get_shell_msg(timeout=600)
            if reply["parent_header"].get("msg_id") == request:
                break
        content = reply["content"]
        if content["status"] != "ok":
            raise RuntimeError(f"the cell failed: {content['ename']}: {content['evalue']}")

    def run(self, code: str) -> None:
        """Run a cell to its end."""
        self.finish(self.begin(code))

    def close(self) -> None:
        """End the kernel."""
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


@contextlib.contextmanager
def _kernel(folder: Path) -> Generator[Kernel]:
    kernel = Kernel(folder)
    try:
        yield kernel
    finally:
        kernel.close()


@contextlib.contextmanager
def _computing(notebook: Kernel, stop: Path) -> Generator[None]:
    """Keep the notebook inside json.loads."""
    request = notebook.begin(_COMPUTE.format(stop=str(stop)))
    try:
        yield
    finally:
        stop.touch()
        notebook.finish(request)
        stop.unlink()


def rows(*, n_events: int = 5000, rate: float = 200, repeats: int = 5, n_items: int = 300_000) -> list[Row]:
    """Measure the contenders in turn, `repeats` times; return medians over repeats, ms.

    ``ratio`` is the 99th percentile against the measuring kernel's. ``quiet_p99_ms`` is the median over the
    repeats on a quiet machine, None when there was none.
    """
    with (
        tempfile.TemporaryDirectory() as name,
        _sse_server.serving() as base,
        _kernel(Path(name) / "notebook") as notebook,
        _kernel(Path(name) / "measuring") as measuring,
    ):
        url, out, stop = f"{base}?n={n_events}&rate={rate}", str(Path(name) / "out"), Path(name) / "stop"
        notebook.run(_TEXT.format(n=n_items))

        def kernel() -> None:
            with _computing(notebook, stop):
                measuring.run(f"await reader.read({url!r}, {out!r})")

        def process() -> None:
            command = [sys.executable, "-m", "benchmarks._stamp_reader", url, out]
            with _computing(notebook, stop):
                subprocess.run(command, check=True, cwd=_ROOT)

        def thread() -> None:
            notebook.run(_COMPUTE_BESIDE.format(url=url, out=out))

        contenders = {"measuring kernel": kernel, "process": process, "thread of the notebook": thread}
        return _alternate(contenders, Path(out), n_events, repeats)


def _alternate(
    contenders: dict[str, Callable[[], None]], out: Path, n_events: int, repeats: int
) -> list[Row]:
    found: dict[str, list[Row]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, measure in contenders.items():
            ends = [read_pressure().cpu_some_avg10]
            measure()
            ends.append(read_pressure().cpu_some_avg10)
            delays = sorted(json.loads(out.read_text()))
            out.unlink()
            if len(delays) != n_events or delays[0] <= 0:
                raise RuntimeError(f"{name}: {len(delays)} of {n_events} events, shortest {delays[0]} ns")
            quiet = all(psi is not None and psi < QUIET_PCT for psi in ends)
            found[name].append({"quiet": quiet, **_quantiles(delays)})
    ours = median([sample["p99_ms"] for sample in found["measuring kernel"]])
    return [_summary(name, n_events, samples, ours) for name, samples in found.items()]


def _quantiles(delays: list[int]) -> Row:
    """Return nearest-rank quantiles of sorted delays, ms."""
    last = len(delays)
    ranks = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "max_ms": 1.0}
    return {
        name: delays[max(0, -(-int(share * last * 100) // 100) - 1)] / 1e6 for name, share in ranks.items()
    }


def _summary(name: str, n_events: int, samples: list[Row], ours: float) -> Row:
    quiet = [s["p99_ms"] for s in samples if s["quiet"]]
    return {
        "reader": name,
        "events": n_events,
        "repeats": len(samples),
        **{key: median([s[key] for s in samples]) for key in ("p50_ms", "p95_ms", "p99_ms", "max_ms")},
        "ratio": median([s["p99_ms"] for s in samples]) / ours,
        "n_quiet": len(quiet),
        "quiet_p99_ms": median(quiet) if quiet else None,
    }


def main(argv: list[str]) -> int:
    """Print rows and verdict."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks stamps", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repeat of 400 events: for trying it")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(argv)
    print_conditions("aiohttp", "ipykernel", "jupyter_client")
    found = rows(n_events=400, repeats=1) if options.quick else rows(repeats=options.repeats)
    print_rows(found)
    kernel, _, thread = found
    what = [f"a thread of the notebook is at least {GOAL_RATIO:g} times later than the measuring kernel"]
    held = thread["ratio"] >= GOAL_RATIO
    if kernel["n_quiet"]:
        what.append(f"p99 <= {GOAL_P99_MS:g} ms in {kernel['n_quiet']} repeats on a quiet machine")
        held = held and kernel["quiet_p99_ms"] <= GOAL_P99_MS
    else:
        print(f"NOT JUDGED: p99 <= {GOAL_P99_MS:g} ms; CPU PSI avg10 was never below {QUIET_PCT:g} %")
    return verdict("; ".join(what), held)
