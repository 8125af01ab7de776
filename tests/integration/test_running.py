"""The handle of a study in a live notebook (by protocol), in an executed one, and in scripts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest

import agentlab as al
from agentlab.testing.drivers import Toy

from ..waiting import wait_until
from .conftest import Notebook

CELL = """
import agentlab as al
from pathlib import Path
from agentlab.testing.drivers import Toy
arms = {"quick": Toy(words=2), "slow": Toy(words=2, hold=Path("hold").resolve())}
toy = al.Scenario("toy", turns=["hi"])
running = al.record(toy, arms, runs=1, order="sequential", to="study", quiet=None)
"""
WIDGET = "application/vnd.jupyter.widget-view+json"


def in_second_run(study: Path) -> Callable[[], bool]:
    return lambda: any(study.glob("runs/0001-*/events.jsonl"))


class TestLiveNotebook:
    """A raw client that can answer input(), as every front end says of itself."""

    @pytest.fixture
    def under_way(self, notebook: Notebook) -> Notebook:
        (notebook.folder / "hold").touch()
        notebook.run(CELL, live=True)
        wait_until(in_second_run(notebook.folder / "study"), 20, "the second run has begun")
        return notebook

    def test_a_click_while_awaiting_cancels(self, under_way: Notebook) -> None:
        (kernel,) = (p for p in under_way.process.children() if "ipykernel_launcher" in " ".join(p.cmdline()))
        waiting = under_way.start("recs = await running", live=True)
        opened = under_way.outputs(
            lambda m: (
                m["msg_type"] == "comm_open" and m["content"]["data"]["state"].get("description") == "Cancel"
            )
        )
        time.sleep(0.3)
        began = time.monotonic()
        data = {"method": "custom", "content": {"event": "click"}}
        message = under_way.client.session.msg(
            "comm_msg", {"comm_id": opened["content"]["comm_id"], "data": data}
        )
        under_way.client.shell_channel.send(message)
        assert under_way.reply(waiting)["status"] == "ok"
        assert time.monotonic() - began < 2
        assert under_way.value("[r.info.status for r in recs]") == "['complete', 'cancelled']"
        assert not kernel.is_running()
        self.check_outputs(under_way)

    def check_outputs(self, notebook: Notebook) -> None:
        """The panel is shown once, changes in place, and leaves a card without widgets; its twin goes."""
        messages = notebook.drain()
        shown, twin = (m for m in messages if m["msg_type"] == "display_data")
        assert WIDGET in shown["content"]["data"] and WIDGET not in twin["content"]["data"]
        *_, last, gone = (m for m in messages if m["msg_type"] == "update_display_data")
        assert gone["content"]["data"] == {}
        assert gone["content"]["transient"] == twin["content"]["transient"]
        assert set(last["content"]["data"]) == {"text/plain", "text/html"}
        assert last["content"]["transient"] == shown["content"]["transient"]
        assert last["parent_header"]["msg_id"] == shown["parent_header"]["msg_id"]
        assert "cancelled" in last["content"]["data"]["text/plain"]
        opened = [m["content"]["comm_id"] for m in messages if m["msg_type"] == "comm_open"]
        closed = [m["content"]["comm_id"] for m in messages if m["msg_type"] == "comm_close"]
        assert sorted(opened) == sorted(closed)
        assert len(opened) < 45

    def test_a_blocking_wait_says_how_to_cancel(self, under_way: Notebook) -> None:
        waiting = under_way.start("running.result()", live=True)

        def says(message: dict[str, Any]) -> bool:
            state = (
                message["content"].get("data", {}).get("state", {})
                if message["msg_type"] == "comm_msg"
                else {}
            )
            return "interrupt the kernel" in str(state.get("value"))

        under_way.outputs(says)
        under_way.interrupt()
        assert under_way.reply(waiting)["ename"] == "InterruptedByUser"
        assert "interrupted" in under_way.drain()[-2]["content"].get("evalue", "interrupted")

    def test_a_card_of_the_handle_itself(self, under_way: Notebook) -> None:
        request = under_way.start("running", live=True)
        card = under_way.outputs(lambda m: m["msg_type"] == "execute_result")
        assert under_way.reply(request)["status"] == "ok"
        assert {"text/plain", "text/html"} <= set(card["content"]["data"])
        assert "1 of 2 runs" in card["content"]["data"]["text/plain"]
        under_way.run("running.cancel(); await running", live=True)

    def test_the_same_cell_after_a_restart_resumes(self, under_way: Notebook) -> None:
        under_way.end("restart")
        under_way.client.wait_for_ready(timeout=30)
        (under_way.folder / "hold").unlink()
        under_way.run(CELL + "recs = await running", live=True)
        assert under_way.value("[r.info.status for r in recs]") == "['complete', 'cancelled', 'complete']"
        assert under_way.value("[i.code for i in recs[1].issues]") == "['owner_lost']"


class TestExecutedNotebook:
    """Papermill: nobody answers a comm."""

    @pytest.fixture
    def execute(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Callable[..., Any]:
        def run(*cells: str) -> nbformat.NotebookNode:
            made = nbformat.v4.new_notebook(
                cells=[nbformat.v4.new_code_cell(textwrap.dedent(c)) for c in cells]
            )
            made.metadata["kernelspec"] = {"name": "python3", "display_name": "p", "language": "python"}
            nbformat.write(made, tmp_path / "in.ipynb")
            with caplog.at_level("INFO", logger="papermill"):
                return papermill.execute_notebook(
                    tmp_path / "in.ipynb",
                    tmp_path / "out.ipynb",
                    cwd=tmp_path,
                    log_output=True,
                    progress_bar=False,
                )

        return run

    @pytest.mark.parametrize(("ipywidgets", "wait"), [(True, "await running"), (False, "running.result()")])
    def test_three_runs_are_one_output_and_at_most_four_lines(
        self, execute: Callable[..., Any], caplog: pytest.LogCaptureFixture, ipywidgets: bool, wait: str
    ) -> None:
        made = execute(
            "pass" if ipywidgets else "import sys; sys.modules['ipywidgets'] = None",
            f"""
            import agentlab as al
            from agentlab.testing.drivers import Toy
            arm = Toy(words=24, every_s=0.05)
            running = al.record(al.Scenario("toy", turns=["hi"]), arm, runs=3, to="study", quiet=None)
            recs = {wait}
            """,
            "print(len(recs), 'measured')",
        )
        (output,) = made.cells[1].outputs
        assert output.output_type == "display_data"
        assert set(output.data) == {"text/plain", "text/html"}
        assert output.data["text/plain"].startswith("done: 3 of 3 runs")
        assert "widgets" not in made.metadata
        assert made.cells[2].outputs[0].text == "3 measured\n"
        logged = [r for r in caplog.records if " of 3 runs" in r.getMessage()]
        assert 1 <= len(logged) <= 4

    def test_a_second_run_of_the_notebook_says_that_nothing_was_to_do(
        self, execute: Callable[..., Any]
    ) -> None:
        cell = """
            import agentlab as al
            from agentlab.testing.drivers import Toy
            toy = al.Scenario("toy", turns=["hi"])
            recs = await al.record(toy, Toy(words=2), runs=1, to="study", quiet=None)
        """
        execute(cell)
        (output,) = execute(cell).cells[0].outputs
        assert (output.name, output.text) == (
            "stdout",
            "agentlab: 1 of 1 already recorded in study; nothing to do\n",
        )


SCRIPT = """
import agentlab as al, asyncio, sys
from pathlib import Path
from agentlab.testing.drivers import Toy

def study():
    arms = {{"quick": Toy(words=2), "slow": Toy(words=2, hold=Path("hold").resolve(), cleanup_s=0.3)}}
    return al.record(al.Scenario("toy", turns=["hi"]), arms, runs=1, order="sequential", to="study",
                     host={host!r}, quiet=None)

async def wait():
    return await study()

if __name__ == "__main__":
    {wait}
"""


class TestScripts:
    def start(self, folder: Path, host: str, wait: str) -> subprocess.Popen[str]:
        (folder / "hold").touch()
        (folder / "script.py").write_text(SCRIPT.format(host=host, wait=wait))
        process = subprocess.Popen(
            [sys.executable, "-X", "dev", "-W", "error", "script.py"],
            cwd=folder,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        wait_until(in_second_run(folder / "study"), 20, "the second run has begun")
        time.sleep(0.1)
        return process

    @pytest.mark.parametrize("host", ["kernel", "process", "inline"])
    @pytest.mark.parametrize(
        ("wait", "error"), [("study().result()", "InterruptedByUser"), ("asyncio.run(wait())", "Interrupted")]
    )
    def test_ctrl_c(self, tmp_path: Path, host: str, wait: str, error: str) -> None:
        process = self.start(tmp_path, host, wait)
        began = time.monotonic()
        for _ in range(3 if "result" in wait else 1):
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: everything in its foreground
            time.sleep(0.05)
        out, err = process.communicate(timeout=10)
        assert time.monotonic() - began < 3
        assert process.returncode in (1, -signal.SIGINT)
        kept = "The study was interrupted; 1 of 2 runs are kept: agentlab.load('study')"
        assert f"agentlab.errors.{error}: {kept}" in err
        assert "1 of 2 runs" in err and out == ""
        assert "Warning" not in err
        recordings = al.load(tmp_path / "study")
        assert [r.info.status for r in recordings] == ["complete", "cancelled"]
        assert recordings[1].issues[0].code == "interrupted"

    @pytest.mark.parametrize("host", ["kernel", "process", "inline"])
    def test_a_script_that_ends_without_waiting_takes_its_study_with_it(
        self, tmp_path: Path, host: str
    ) -> None:
        begun = "any(Path('study').glob('runs/0001-*/events.jsonl'))"
        wait = f"import time; running = study()\n    while not {begun}: time.sleep(0.01)"
        process = self.start(tmp_path, host, wait)
        out, err = process.communicate(timeout=10)
        assert (process.returncode, out) == (0, "")
        assert "Traceback" not in err and "Warning" not in err
        study = tmp_path / "study"

        def ended() -> bool:
            return al.load(study)[1].info.status == "cancelled"

        wait_until(ended, 3, "the run under way is marked")
        assert al.load(study)[1].issues[0].code == "owner_lost"

    def test_a_time_out_leaves_the_study_running(self, tmp_path: Path) -> None:
        (tmp_path / "hold").touch()
        arm = Toy(words=2, hold=tmp_path / "hold")
        running = al.record(
            al.Scenario("toy", turns=["hi"]),
            arm,
            runs=1,
            to=tmp_path / "study",
            host="inline",
            quiet=None,
            progress="none",
        )
        with pytest.raises(TimeoutError, match="the study goes on"):
            running.result(timeout=0.1)
        assert not running.done()
        (tmp_path / "hold").unlink()
        assert running.result(timeout=20)[0].eligible
