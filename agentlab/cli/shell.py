"""Say in options what a message says in Python's keywords."""

from __future__ import annotations

import ast
import re
import shlex
from typing import Any, TextIO

#: keyword of Python -> option, where they differ in more than dashes.
_OPTIONS = {
    "auth": "auth-env",
    "headers": "header",
    "key_env": "gateway-key-env",
    "prompt": "timeout",
    "turns": "turn",
    "upstream": "gateway",
    "url": "server",
    "build": "plugin-build",
    "max_total_requests": "max-requests",
    "hold_s": "hold",
    "memory_some_avg10": "max-psi",
}
#: Keywords that are options of a command; those of OpenCode and the like that are not are settings of an arm.
_RECORD = ("to", "exists", "runs", "order", "seed", "host", "keep", "progress", "detach", "gateway", "price")
_OPENCODE = ("model", "agent", "url", "auth", "headers", "build", "retries", "gateway")
_SETTINGS = ("config", "plugins", "permissions", "workspace", "title", "snapshot", "version")
_OURS = (
    "record|OpenCode|AgentCLI|Reference|WebChat|Terminal|Exec|Quiet|Timeouts|Scenario|Gateway|report|export"
    "|compare"
)
#: Drivers whose settings are those of an arm, and options of one that go by another name than elsewhere.
_BY_ARM = ("OpenCode", "AgentCLI", "Reference")
_WEBCHAT = {
    "url": "url",
    "directory": "dir",
    "browser": "chrome",
    "profile": "profile-dir",
    "sampling_us": "sampling-interval",
}

#: A text as Python writes it.
_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_LOAD = re.compile(rf"(?<![\w.])(?:agentlab\.)?load\((?P<path>{_TEXT})\)")
_COMMAND = re.compile(
    r"(?:agentlab\.|al\.)?\b(?P<name>attach|install)"
    rf"\((?:(?P<value>{_TEXT})(?:, version=(?P<version>{_TEXT}))?|\.\.\.)\)"
)
_SCRIPT = re.compile(r"ScriptedModel\.load\((['\"])(?P<value>.*?)\1\)")
_URL = re.compile(r"Gateway\((['\"])(?P<value>[^'\"]*)\1\)")
_PAIR = r"[a-z_][a-z0-9_]*=(?:\.\.\.|SECONDS|'[^']*'|\"[^\"]*\"|\([^()]*\)|[^,()]*)"
_CALL = re.compile(rf"\b(?P<call>{_OURS})\((?:\.\.\., )?(?P<pairs>{_PAIR}(?:, {_PAIR})*)\)")
_KEYWORD = re.compile(
    rf"(?<![-\w])(?P<name>{'|'.join((*_RECORD, 'url', 'auth', 'headers', 'key_env'))})="
    r"(?:(['\"])(?P<value>[^'\"]+)\2)?(?=\W|$)"
)
_SETTING = re.compile(
    rf"(?<![-\w])(?<!--arm NAME )(?P<name>{'|'.join(_SETTINGS)})="
    rf"(?:\.{{3}}|(?P<value>{_TEXT}))?(?=\.?(?:\s|$)|[:;,)])"
)
_PHRASES = {
    "the study ends by itself, or False": "the study ends by itself",
    "Cancel or .cancel() ends it": "with --cancel it is ended",
    "The same record(...) call": "The same command",
    "run the same call again": "run the same command again",
    "use pdf=False": "say --no-pdf",
    "choose one with load(...).where(arm=...)": "choose one with --baseline-arm",
}


def in_shell(message: str) -> str:
    """Return a message of the engine in the words of the command line.

    Parameters
    ----------
    message : str
        E.g. an error's.

    Returns
    -------
    str

    Examples
    --------
    >>> in_shell("x holds another study; choose another folder with to=")
    'x holds another study; choose another folder with --to'
    >>> in_shell("record(runs=0): give a whole number from 1")
    '--runs 0: give a whole number from 1'
    >>> in_shell("kept: agentlab.load('studies/a')")
    'kept: agentlab compare studies/a'
    """
    for python, shell in _PHRASES.items():
        message = message.replace(python, shell)
    message = _LOAD.sub(lambda m: f"agentlab compare {_word(m['path'])}", message)
    message = _COMMAND.sub(_command, message)
    message = _SCRIPT.sub(lambda m: f"--gateway-script {m['value']}", message)
    message = _URL.sub(lambda m: f"--gateway {m['value']}", message)
    message = _CALL.sub(_call, message)
    message = _KEYWORD.sub(lambda m: _flag(m["name"], m["value"] or ""), message)
    return _SETTING.sub(lambda m: f"--arm NAME {m['name']}={m['value'] or ''}", message)


class ShellWords:
    """A stream on which agentlab's own lines, also those of progress, come in the words of the shell.

    Parameters
    ----------
    stream : text stream
        Where they go; all else passes unchanged.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a piece of text.

        Parameters
        ----------
        text : str
            A line that begins with ``agentlab: `` is put into the words of the shell.

        Returns
        -------
        int
        """
        return self._stream.write(in_shell(text) if text.startswith("agentlab: ") else text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._stream, name)


def _word(text: str) -> str:
    """Quote for the shell what Python has quoted; a folder whose name begins with a dash is no option."""
    try:
        value = str(ast.literal_eval(text))
    except (SyntaxError, ValueError):  # it was no text of Python's
        value = text[1:-1]
    return shlex.quote(f"./{value}" if value.startswith("-") else value)


def _command(match: re.Match[str]) -> str:
    line = f"agentlab {match['name']}" + (f" {_word(match['value'])}" if match["value"] else "")
    return f"{line} --version {_word(match['version'])}" if match["version"] else line


def _call(match: re.Match[str]) -> str:
    pairs = [pair.split("=", 1) for pair in re.findall(_PAIR, match["pairs"])]
    return " and ".join(_option(match["call"], name, value) for name, value in pairs)


def _option(call: str, name: str, value: str) -> str:
    value = "" if value == "..." else value
    if call in _BY_ARM and name not in _OPENCODE:
        return f"--arm NAME {name}={value}"
    if call == "WebChat" and name in _WEBCHAT:
        return f"--{_WEBCHAT[name]} {value}".rstrip()
    return _flag(name, value)


def _flag(name: str, value: str = "") -> str:
    flag = "--" + _OPTIONS.get(name, name).replace("_", "-")
    return f"{flag} {value}" if value else flag
