"""Neutral actions: what one script does with the tools of different agents.

The schemas are those that the agents' pinned versions send, without descriptions.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentlab.errors import ConfigError
from agentlab.gateway import ScriptedModel, Step
from agentlab.gateway.actions import resolve
from agentlab.gateway.dialects import DIALECTS
from agentlab.gateway.dialects.base import ModelRequest
from agentlab.gateway.scripted import Model
from agentlab.tools import TOOLS

TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
MAYBE = {"anyOf": [{"type": "string"}, {"type": "null"}]}


def needs(required: str, **properties: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"type": "object", "properties": properties, "required": required.split()}


EDIT = needs("oldText newText", oldText=TEXT, newText=TEXT)
PI = {
    "read": needs("path", path=TEXT, offset=NUMBER),
    "bash": needs("command", command=TEXT, timeout=NUMBER),
    "edit": needs("path edits", path=TEXT, edits={"type": "array", "items": EDIT}),
    "write": needs("path content", path=TEXT, content=TEXT),
}
OPENCODE = {
    "bash": needs("command", command=TEXT, workdir=TEXT),
    "edit": needs(
        "filePath oldString newString", filePath=TEXT, oldString=TEXT, newString=TEXT, replaceAll=FLAG
    ),
    "read": needs("filePath", filePath=TEXT, limit=NUMBER),
    "write": needs("content filePath", content=TEXT, filePath=TEXT),
}
CODEX = {
    "exec_command": needs(
        "cmd", cmd=TEXT, login=FLAG, prefix_rule={"type": "array", "items": TEXT}, workdir=TEXT
    ),
    "view_image": needs("path", path=TEXT),
}
CLAUDE = {
    "Agent": needs("description prompt", description=TEXT, prompt=TEXT),
    "Bash": needs("command", command=TEXT, run_in_background=FLAG),
    "Edit": needs("file_path old_string new_string", file_path=TEXT, old_string=TEXT, new_string=TEXT),
    "Read": needs("file_path", file_path=TEXT, pages=TEXT),
    "Write": needs("file_path content", file_path=TEXT, content=TEXT),
}
GEMINI = {
    "read_file": needs("file_path", file_path={"type": "STRING"}, start_line=NUMBER),
    "replace": needs(
        "file_path instruction old_string new_string",
        file_path=TEXT,
        instruction=TEXT,
        old_string=TEXT,
        new_string=TEXT,
        allow_multiple=FLAG,
    ),
    "write_file": needs("file_path content", file_path=TEXT, content=TEXT),
    "run_shell_command": needs("command", command=TEXT, is_background=FLAG),
}
CLINE = {
    "read_files": needs(
        "files", files={"type": "array", "items": needs("path", path=TEXT, start_line=MAYBE)}
    ),
    "run_commands": needs("commands", commands={"type": "array", "items": TEXT}),
    "editor": needs("path new_text", path=TEXT, old_text=MAYBE, new_text=TEXT, insert_line=NUMBER),
}
SHARED = {tool["name"]: tool["parameters"] for tool in TOOLS}
MINI = {"bash": needs("command", command=TEXT)}
ANCHORS = {
    "edit": needs(
        "path edits", path=TEXT, edits={"type": "array", "items": needs("pos lines", pos=TEXT, lines=TEXT)}
    ),
    "bash": needs("command", command=TEXT),
}
VERBS = {
    "str_replace_editor": needs(
        "command path",
        command={"type": "string", "enum": ["view", "create", "str_replace", "insert"]},
        path=TEXT, file_text=TEXT, old_str=TEXT, new_str=TEXT,
    ),
    "shell": needs("command", command={"type": "array", "items": TEXT}),
}  # fmt: skip

RED, BLUE = "colour = red", "colour = blue"
READ = {"do": "read", "path": "notes.txt"}
CHANGE = {"do": "edit", "path": "notes.txt", "old": RED, "new": BLUE}
WRITE = {"do": "write", "path": "a.txt", "text": "hi\n"}
RUN = {"do": "run", "command": "wc -l notes.txt"}
ANSWER = {"do": "answer", "text": "It's done."}


def request(tools: dict[str, Any], prompt: str = "hi") -> ModelRequest:
    offered = [{"function": {"name": name, "parameters": schema}} for name, schema in tools.items()]
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}], "tools": offered}
    return DIALECTS["chat"].parse(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("tools", "action", "name", "arguments"),
    [
        (PI, READ, "read", {"path": "notes.txt"}),
        (PI, CHANGE, "edit", {"path": "notes.txt", "edits": [{"oldText": RED, "newText": BLUE}]}),
        (PI, RUN, "bash", {"command": "wc -l notes.txt"}),
        (PI, WRITE, "write", {"path": "a.txt", "content": "hi\n"}),
        (OPENCODE, READ, "read", {"filePath": "notes.txt"}),
        (OPENCODE, CHANGE, "edit", {"filePath": "notes.txt", "oldString": RED, "newString": BLUE}),
        (OPENCODE, WRITE, "write", {"filePath": "a.txt", "content": "hi\n"}),
        (CODEX, READ, "exec_command", {"cmd": "cat notes.txt"}),
        (CODEX, RUN, "exec_command", {"cmd": "wc -l notes.txt"}),
        (CLAUDE, READ, "Read", {"file_path": "notes.txt"}),
        (CLAUDE, CHANGE, "Edit", {"file_path": "notes.txt", "old_string": RED, "new_string": BLUE}),
        (CLAUDE, RUN, "Bash", {"command": "wc -l notes.txt"}),
        (GEMINI, READ, "read_file", {"file_path": "notes.txt"}),
        (GEMINI, CHANGE, "replace", {"file_path": "notes.txt", "old_string": RED,
                                     "new_string": BLUE, "instruction": "edit, by script"}),
        (GEMINI, RUN, "run_shell_command", {"command": "wc -l notes.txt"}),
        (CLINE, READ, "read_files", {"files": [{"path": "notes.txt"}]}),
        (CLINE, CHANGE, "editor", {"path": "notes.txt", "old_text": RED, "new_text": BLUE}),
        (CLINE, RUN, "run_commands", {"commands": ["wc -l notes.txt"]}),
        (CLINE, WRITE, "run_commands", {"commands": ["printf '%s' 'hi\n' > a.txt"]}),
        (MINI, READ, "bash", {"command": "cat notes.txt"}),
        (ANCHORS, CHANGE, "bash", {"command": "sed -z -i 's/colour = red/colour = blue/' notes.txt"}),
        (VERBS, READ, "shell", {"command": ["bash", "-lc", "cat notes.txt"]}),
        (VERBS, CHANGE, "str_replace_editor", {"command": "str_replace", "path": "notes.txt",
                                               "old_str": RED, "new_str": BLUE}),
        (VERBS, WRITE, "str_replace_editor", {"command": "create", "path": "a.txt", "file_text": "hi\n"}),
        (VERBS, RUN, "shell", {"command": ["bash", "-lc", "wc -l notes.txt"]}),
        ({"do_it": needs("command", command=TEXT)}, RUN, "do_it", {"command": "wc -l notes.txt"}),
        (PI, {**RUN, "path": "notes.txt"}, "bash", {"command": "wc -l notes.txt"}),
        (SHARED, {**RUN, "path": "notes.txt"}, "read", {"path": "notes.txt"}),
        (SHARED, CHANGE, "edit", {"path": "notes.txt", "old": RED, "new": BLUE}),
        (SHARED, WRITE, "write", {"path": "a.txt", "content": "hi\n"}),
    ],
)  # fmt: skip
def test_an_action_is_spelled_with_the_tools_on_offer(
    tools: dict[str, Any], action: dict[str, str], name: str, arguments: dict[str, Any]
) -> None:
    assert resolve(action, request(tools)) == (name, arguments)


def test_an_answer_is_text_unless_the_agent_wants_a_command_for_it() -> None:
    assert resolve(ANSWER, request(MINI)) == "It's done."
    marker = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    call = resolve(ANSWER, request(MINI, f"Submit with `echo {marker}`."))
    assert isinstance(call, tuple)
    done = subprocess.run(["bash", "-c", call[1]["command"]], capture_output=True, text=True, check=True)
    assert done.stdout == f"{marker}\nIt's done.\n"


@pytest.mark.parametrize(
    "tools", [{}, {"view_image": CODEX["view_image"]}, {"bash": {}}, {"read": needs("id", id=NUMBER)}]
)
def test_what_no_tool_can_do_is_said(tools: dict[str, Any]) -> None:
    script = ScriptedModel([Step(actions=[READ, RUN])], side=None)
    asked = request(tools)
    answer = Model(script).answer(asked, dialect=DIALECTS["chat"], session="s", namespace="n")
    assert answer.reason == "script_no_tool"
    assert "".join(piece.text for _, piece in answer.pieces) == "No tool to read with."
    assert answer.finish == "stop"


@settings(max_examples=25, deadline=None)
@given(
    st.text("ab./*$^[]&\\\n'\" é", min_size=1, max_size=8).filter(lambda text: text.strip("\n")),
    st.text("xy./*&\\\n'\" é", max_size=8),
)
def test_an_edit_in_the_shell_changes_the_file_as_said(tmp_path_factory: Any, old: str, new: str) -> None:  # noqa: ANN401
    file: Path = tmp_path_factory.mktemp("edit") / "it's a file"
    file.write_text(f"<{old}>\n", "utf-8")
    call = resolve({"do": "edit", "path": file.name, "old": old, "new": new}, request(MINI))
    assert isinstance(call, tuple)
    subprocess.run(
        ["bash", "-c", call[1]["command"]], cwd=file.parent, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    assert file.read_text("utf-8") == f"<{new}>\n"


def test_several_actions_are_calls_of_one_reply_in_every_wire() -> None:
    script = ScriptedModel([Step(text="Now.", actions=[READ, RUN, ANSWER])])
    for dialect in DIALECTS.values():
        answer = Model(script).answer(request(PI), dialect=dialect, session="s", namespace="n")
        assert [piece.call[1] for _, piece in answer.pieces if piece.call] == ["read", "bash"]
        assert "".join(p.text for _, p in answer.pieces if p.kind == "text") == "Now.It's done."
        assert answer.finish == dialect.finish("tool_calls")


def test_a_wire_that_cannot_cut_a_call_gets_it_whole_when_its_last_part_is_due() -> None:
    script = ScriptedModel([Step(text="a", actions=[READ, RUN], tokens_per_s=10)])
    cut = Model(script).answer(request(PI), dialect=DIALECTS["chat"], session="s", namespace="n")
    whole = Model(script).answer(request(PI), dialect=DIALECTS["gemini"], session="s", namespace="n")
    assert [piece.text for _, piece in whole.pieces] == [
        "a",
        '{"path":"notes.txt"}',
        '{"command":"wc -l notes.txt"}',
    ]
    assert whole.end_s == cut.end_s
    assert whole.pieces[1][0] == max(
        due for due, piece in cut.pieces if piece.kind == "tool" and piece.index == 0
    )


def test_the_shipped_task_is_read_edit_run_answer() -> None:
    script = ScriptedModel.load("task")
    assert [action["do"] for step in script.steps for action in step.actions] == [
        "read",
        "edit",
        "run",
        "answer",
    ]
    assert ScriptedModel.from_dict(script.to_dict()) == script


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"do": "fly"},
        {"do": "read"},
        {"do": "read", "path": 1},
        {"do": "run", "command": "a", "x": "b"},
        "read",
    ],
)
def test_an_action_that_is_wrong_is_said(action: Any) -> None:  # noqa: ANN401
    with pytest.raises(ConfigError, match="actions"):
        Step(actions=[action])
