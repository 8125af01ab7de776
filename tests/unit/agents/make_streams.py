"""Make ``streams/``: what the real agents write on the scripted task, and the trajectory of the one that
writes a file. Run it by hand after a pinned version was raised: ``python tests/unit/agents/make_streams.py``.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from agentlab import Gateway, ScriptedModel, Step
from agentlab.agents.base import Ask, Setup
from agentlab.agents.catalogue import AGENTS

HERE = Path(__file__).parent / "streams"
STEPS = [
    Step(reasoning="I read.", actions=[{"do": "read", "path": "notes.txt"}]),
    Step(actions=[{"do": "edit", "path": "notes.txt", "old": "red", "new": "blue"}]),
    Step(actions=[{"do": "run", "command": "false"}]),
    Step(actions=[{"do": "answer", "text": "Done."}]),
]
MODELS = {"claude_code": "claude-sonnet-4-5", "gemini_cli": "gemini-2.5-pro"}
#: Keys whose values are long and say nothing to a reader.
_LONG = ("tools", "slash_commands", "agents", "skills", "plugins", "mcp_servers")


async def one(name: str, folder: Path) -> None:
    agent = AGENTS[name]
    home, workspace = folder / "home", folder / "workspace"
    home.mkdir()
    workspace.mkdir()
    (workspace / "notes.txt").write_text("colour = red\n")
    async with Gateway(ScriptedModel(STEPS, side="colour"), max_requests=12) as live:
        setup = Setup(
            home=home,
            workspace=workspace,
            executable=agent.locate(),
            dialect=agent.dialects[0],
            base_url=live.base_url(agent.dialects[0]),
            token=live.token,
            model=MODELS.get(name, "scripted"),
            context_tokens=128_000,
            output_tokens=8_192,
            system=None,
            flags=(),
        )
        environment = agent.prepare(setup)
        file = home / "prompt"
        file.write_text("Change the colour.")
        ask = Ask(text=file.read_text(), file=file, turn=1, session=None)
        with file.open() as stdin:
            done = await asyncio.to_thread(
                subprocess.run,
                agent.argv(setup, ask),
                env=environment,
                cwd=workspace,
                stdin=stdin,
                capture_output=True,
                check=False,
            )
    said = done.stdout
    if name == "mini_swe_agent":
        said = (home / "trajectory.json").read_bytes()
    text = said.decode().replace(str(folder), "<FOLDER>")
    parts = [text] if name == "mini_swe_agent" else text.split("\n")
    lines = [json.dumps(_shorter(json.loads(part))) for part in parts if part.startswith("{")]
    (HERE / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def _shorter(value: Any) -> Any:  # noqa: ANN401
    """Cut long texts and lists, so that the files stay readable."""
    if isinstance(value, dict):
        return {k: ([] if k in _LONG else _shorter(v)) for k, v in value.items() if k != "config"}
    if isinstance(value, list):
        return [_shorter(item) for item in value]
    return value[:200] if isinstance(value, str) else value


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for wanted in sys.argv[1:] or AGENTS:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(one(wanted, Path(folder)))
