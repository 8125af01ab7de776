"""Neutral actions: one script drives every agent, whatever its tools are called.

An action says what is done; :func:`resolve` spells it with the tools that a request really offers: by their
known names and the schemas of their arguments, and through the shell where no tool fits.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..errors import ConfigError
from .dialects.base import ModelRequest, Tool
from .dialects.body import mapping

#: Kinds of actions and what each must hold.
ACTIONS: dict[str, tuple[str, ...]] = {
    "read": ("path",),
    "edit": ("path", "old", "new"),
    "write": ("path", "text"),
    "run": ("command",),
    "answer": ("text",),
}
# What an action may hold besides: the file that is read where no command can be run.
_OPTIONAL = {"run": {"path"}}
# Names that agents give to their tools.
_NAMES = {
    "read": ("read", "read_file", "read_files", "view"),
    "edit": ("edit", "replace", "str_replace", "editor", "str_replace_editor"),
    "write": ("write", "write_file", "create_file", "editor", "str_replace_editor"),
    "run": ("bash", "exec_command", "run_shell_command", "run_commands", "execute_command", "shell"),
}
# What a property of a schema stands for; its name in lower case without underscores.
_ROLES = {
    "path": ("path", "paths", "filepath", "filepaths", "absolutepath", "file", "files", "filename"),
    "old": ("old", "oldtext", "oldstring", "oldstr"),
    "new": ("new", "newtext", "newstring", "newstr"),
    "text": ("text", "content", "contents", "filetext"),
    "command": ("command", "commands", "cmd"),
}
# Names of `editor`-like tools for what they are asked to do.
_VERBS = {"read": ("view",), "edit": ("str_replace", "edit"), "write": ("create", "write"), "run": ()}
# An agent that takes no plain text for an end says in its prompt what to run instead.
_SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

Call = tuple[str, dict[str, Any]]


def checked(action: object) -> dict[str, str]:
    """Return an action as plain data.

    Parameters
    ----------
    action : mapping
        ``do`` and what it needs; see :data:`ACTIONS`.

    Returns
    -------
    dict

    Raises
    ------
    ConfigError
        A key is missing, unknown or no text.

    Examples
    --------
    >>> checked({"do": "read", "path": "notes.txt"})["path"]
    'notes.txt'
    """
    plain = dict(cast("Mapping[str, Any]", action)) if isinstance(action, Mapping) else {}
    kind = plain.get("do")
    needs = ACTIONS.get(kind) if isinstance(kind, str) else None
    if needs is None:
        raise ConfigError(f"Step(actions={action!r}): write {{'do': ...}} with one of {', '.join(ACTIONS)}")
    odd = set(plain) - {"do", *needs} - _OPTIONAL.get(str(kind), set())
    if odd or not set(needs) <= set(plain) or not all(isinstance(value, str) for value in plain.values()):
        raise ConfigError(f"Step(actions={action!r}): {kind!r} needs the texts {', '.join(needs)}")
    return cast("dict[str, str]", plain)


def resolve(action: Mapping[str, str], request: ModelRequest) -> Call | str | None:
    """Spell an action for one request.

    Parameters
    ----------
    action : mapping
        See :func:`checked`.
    request : ModelRequest
        Its tools and its prompt decide.

    Returns
    -------
    tuple of (str, dict) or str or None
        A call (name, arguments), a text to answer with, or None: the request offers no tool for it.
    """
    kind = action["do"]
    if kind == "answer":
        if _SUBMIT.encode() not in request.canonical.data:
            return action["text"]
        command = f"echo {_SUBMIT} && printf '%s\\n' {shlex.quote(action['text'])}"
        return _run(command, request.tools)
    values = {key: value for key, value in action.items() if key != "do"}
    if kind == "run":
        call = _run(values["command"], request.tools)
        return call or (
            resolve({"do": "read", "path": values["path"]}, request) if "path" in values else None
        )
    for tool in _named(kind, request.tools):
        arguments = _filled(tool.schema, values, kind)
        if arguments is not None:
            return tool.name, arguments
    return _run(_in_shell(kind, values), request.tools)


def _run(command: str, tools: Sequence[Tool]) -> Call | None:
    """Spell a command: a tool with a shell's name comes first, then any that needs just a command."""
    for tool in [*_named("run", tools), *tools]:
        arguments = _filled(tool.schema, {"command": command}, "run")
        if arguments is not None:
            return tool.name, arguments
    return None


def _named(kind: str, tools: Sequence[Tool]) -> list[Tool]:
    return [tool for name in _NAMES[kind] for tool in tools if tool.name.lower() == name]


def _filled(schema: Mapping[str, Any], values: Mapping[str, str], kind: str) -> dict[str, Any] | None:
    """Fill a schema's properties; None when a value finds no place or something else is required."""
    left = dict(values)
    filled = _fill(schema, left, kind)
    return None if left else filled


def _fill(schema: Mapping[str, Any], left: dict[str, str], kind: str) -> dict[str, Any] | None:
    """Take values out of what is left as they find a place; what is required comes first."""
    needed = schema.get("required")
    needed = cast("list[Any]", needed) if isinstance(needed, list) else []
    properties = mapping(schema.get("properties"))
    filled: dict[str, Any] = {}
    for name in sorted(properties, key=lambda name: name not in needed):
        value = _value(name, mapping(properties[name]), left, kind, needed=name in needed)
        if value is not None:
            filled[name] = value
        elif name in needed:
            return None
    return filled


def _value(name: str, said: Mapping[str, Any], left: dict[str, str], kind: str, *, needed: bool) -> Any:  # noqa: ANN401
    """Return what belongs into a property, or None."""
    is_list, items, role = _kind(said) == "array", mapping(said.get("items")), _role(name)
    if is_list and _kind(items) == "object":
        rest = dict(left)
        inner = _fill(items, rest, kind)
        if inner is None or len(rest) == len(left):
            return None
        left.clear()
        left.update(rest)
        return [inner]
    if role is not None and role in left and "enum" not in said:
        value = left.pop(role)
        if is_list and name == "command":  # an argument list
            return ["bash", "-lc", value]
        return [value] if is_list else value
    return _other(said, kind) if needed else None


def _other(said: Mapping[str, Any], kind: str) -> str | bool | None:
    """Return a value for what is no part of the action and yet is required, or None."""
    choices = said.get("enum")
    if isinstance(choices, list):
        return next((verb for verb in _VERBS[kind] if verb in choices), None)
    return {"string": f"{kind}, by script", "boolean": False}.get(_kind(said))


def _kind(said: Mapping[str, Any]) -> str:
    """Return the type of a schema; of several the first that is one."""
    kind = said.get("type")
    if isinstance(kind, list):
        kind = next((one for one in cast("list[Any]", kind) if one != "null"), None)
    if kind is None:
        for name in ("anyOf", "oneOf"):
            options = said.get(name)
            for option in cast("list[Any]", options) if isinstance(options, list) else []:
                if _kind(mapping(option)) != "null":
                    return _kind(mapping(option))
    return str(kind).lower()


def _role(name: str) -> str | None:
    plain = re.sub(r"[_-]", "", name).lower()
    return next((role for role, names in _ROLES.items() if plain in names), None)


def _in_shell(kind: str, values: Mapping[str, str]) -> str:
    """Spell an action on a file as a command of GNU tools."""
    path = shlex.quote(values["path"])
    if kind == "read":
        return f"cat {path}"
    if kind == "write":
        return f"printf '%s' {shlex.quote(values['text'])} > {path}"
    old = re.sub(r"([\\/.*^$\[\]])", r"\\\1", values["old"]).replace("\n", r"\n")
    new = re.sub(r"([\\/&])", r"\\\1", values["new"]).replace("\n", r"\n")
    return f"sed -z -i {shlex.quote(f's/{old}/{new}/')} {path}"
