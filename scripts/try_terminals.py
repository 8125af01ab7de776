"""Run every terminal recipe on its real tool once, and print what came of it.

    python scripts/try_terminals.py                        all that are installed, one session each
    python scripts/try_terminals.py --install copilot omp  these, installed first
    python scripts/try_terminals.py --sessions 1 4 10 --to studies/terminals

Nothing is asked of a model and no key is needed. `make test` runs four of them; this is for the others, and
after a version was moved. A study of each tool stays where --to says, else nothing does.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

import agentlab as al
from agentlab.agents.tui.base import TerminalAgent
from agentlab.agents.tui.catalogue import TERMINALS
from agentlab.errors import AgentlabError, StartupError

MIB = 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=f"default: {', '.join(TERMINALS)}")
    parser.add_argument("--sessions", nargs="+", type=int, default=[1], metavar="N")
    parser.add_argument("--runs", type=int, default=1, metavar="N")
    parser.add_argument("--version", metavar="V", help="instead of the pinned one; for one tool")
    parser.add_argument("--install", action="store_true", help="first install what is not there")
    parser.add_argument("--cap", type=float, default=60, metavar="S", help="longest wait for a plateau")
    parser.add_argument("--no-wait", action="store_true", help="do not wait for a quiet machine")
    parser.add_argument("--to", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentlab-try-") as temporary:
        tried = [try_tool(name, given, given.to or Path(temporary)) for name in given.tools or TERMINALS]
    rows = pd.concat(tried, ignore_index=True)
    print(rows.to_string(index=False, na_rep="", float_format="{:.2f}".format))


def try_tool(name: str, given: argparse.Namespace, folder: Path) -> pd.DataFrame:
    about = TERMINALS[name.replace("-", "_")]
    try:
        if given.install and about.version:
            al.install(about.name, version=given.version)
        recordings = record(about, given, folder / about.name)
    except StartupError as error:
        return pd.DataFrame([{"tool": about.name, "issues": str(error)[:80]}])
    except AgentlabError as error:
        recordings = al.load(folder / about.name)
        print(f"{about.name}: {error}")
    return results(about, recordings)


def record(about: TerminalAgent, given: argparse.Namespace, folder: Path) -> al.Recordings:
    about.locate(given.version)
    arm = al.Terminal(
        about.name,
        version=given.version,
        sessions=tuple(given.sessions),
        cap_s=given.cap,
        login_screen=not about.idle,
    )
    how: dict[str, Any] = {
        "runs": given.runs,
        "to": folder,
        "host": "process",
        "progress": "none",
        "exists": "replace",
    }
    if given.no_wait:
        how["quiet"] = None
    print(f"{about.title} ...", flush=True)
    return al.record(al.Scenario("try"), {about.name: arm}, **how).result()


def results(about: TerminalAgent, recordings: al.Recordings) -> pd.DataFrame:
    """One row a run: start-up of its sessions (median), settled memory, what left the tree, how it ended."""
    runs, sessions, memory = (recordings.table(name) for name in ("runs", "sessions", "memory"))
    settled = memory[memory["settled"] & memory["pss_bytes"].notna()].groupby("run_id").last()
    issues = recordings.table("issues").groupby("run_id")["code"].agg(", ".join)
    start = ["paint_ms", "raw_ms", "first_input_ms", "first_input_cpu_s", "n_probes"]
    rows = sessions.groupby("run_id")[start].median()
    rows["ended"] = sessions.groupby("run_id").apply(ending, include_groups=False)
    rows.insert(0, "n", runs.set_index("run_id")["n_sessions"])
    for column in ("total", "anon", "file", "outside_tree"):
        rows[f"{column}_mib"] = settled[f"{column}_bytes"] / MIB
    rows["processes"] = settled["n_processes"]
    rows["issues"] = issues.reindex(rows.index)
    rows.insert(0, "version", recordings.table("sessions").groupby("run_id")["version"].first())
    rows.insert(0, "tool", about.name)
    return rows.reset_index(drop=True).convert_dtypes()


def ending(sessions: pd.DataFrame) -> str:
    ways = sessions["ended_by"].astype(str) + " " + sessions["exit_code"].astype(str)
    return ", ".join(f"{count}x {way}" for way, count in ways.value_counts().items())


if __name__ == "__main__":
    main()
