"""A notebook's parameters: what it declares, and whether what is set fits; nothing is run."""

from __future__ import annotations

import ast
import difflib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Optional, Union, cast, get_args, get_origin

from .errors import ConfigError

_TAG = "parameters"
_INJECTED = "# Parameters"  # how papermill begins the cell that it puts in
_TYPES: dict[str, Any] = {t.__name__: t for t in (int, float, str, bool, list, dict, tuple)} | {
    "Literal": Literal,
    "Optional": Optional,
    "Union": Union,
}


def declared_parameters(notebook: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a notebook's cell tagged ``parameters`` declares.

    Parameters
    ----------
    notebook : path
        The notebook file.

    Returns
    -------
    dict
        Name to default, in order; empty without such a cell.

    Raises
    ------
    ConfigError
        No readable notebook, or a default that is no literal.
    """
    return {name: default for name, (default, _) in _declared(notebook).items()}


def check_parameters(
    notebook: str | os.PathLike[str] | None = None, parameters: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Refuse unknown and mistyped parameters, before anything is spent.

    papermill only logs an unknown parameter and runs the notebook with the default. Called without arguments
    in the cell after the parameters it checks what papermill put into the running notebook.

    Parameters
    ----------
    notebook : path, optional
        Notebook file; absent: the running notebook.
    parameters : mapping, optional
        What is to be set; absent in a running notebook.

    Returns
    -------
    dict
        Every parameter with the value that will be used.

    Raises
    ------
    ConfigError
        A name that the notebook does not declare, or a value that does not fit its annotation or default.

    Examples
    --------
    >>> check_parameters("10_cache.ipynb", {"rnus": 5})  # doctest: +SKIP
    Traceback (most recent call last):
    agentlab.errors.ConfigError: ... unknown parameter 'rnus', did you mean 'runs'. Nothing was run.
    """
    if notebook is not None:
        return _checked(_declared(notebook), dict(parameters or {}), Path(notebook).name)
    declared, given = _running_notebook()
    return _checked(declared, given, "this notebook")


_Declared = dict[str, tuple[Any, Any]]


def _declared(notebook: str | os.PathLike[str]) -> _Declared:
    path = Path(notebook)
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        tagged = [cell for cell in cells if _TAG in cell.get("metadata", {}).get("tags", ())]
        sources = ["".join(cell["source"]) for cell in tagged if cell["cell_type"] == "code"]
    except OSError as error:
        raise ConfigError(f"notebook {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigError(f"{path} is no Jupyter notebook (format 4)") from None
    return _assignments("\n".join(sources[:1]), path.name)


def _assignments(source: str, where: str) -> _Declared:
    """Read ``name = literal`` and ``name: type = literal``; other statements declare nothing."""
    found: _Declared = {}
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        raise ConfigError(f"{where}: the cell with the parameters is not plain Python") from None
    for statement in statements:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, annotation, value = statement.targets[0], None, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, annotation, value = statement.target, statement.annotation, statement.value
        else:
            continue
        if not isinstance(target, ast.Name):
            continue
        try:
            default = ast.literal_eval(value)
        except ValueError:
            raise ConfigError(f"{where}: the default of parameter {target.id!r} is no literal") from None
        wanted: Any = Any if default is None else type(default)
        try:
            wanted = wanted if annotation is None else _type(annotation)
        except (SyntaxError, TypeError, ValueError):  # makes no sense, or is known to the notebook alone
            wanted = Any
        found[target.id] = (default, wanted)
    return found


def _type(annotation: ast.expr) -> Any:  # noqa: ANN401
    """Turn an annotation into a type; what is not known here is anything."""
    match annotation:
        case ast.Constant(value=None):
            return type(None)
        case ast.Constant(value=str(quoted)):
            return _type(ast.parse(quoted, mode="eval").body)
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="typing"), attr=name):
            return _TYPES.get(name, Any)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return Union[_type(left), _type(right)]  # noqa: UP007
        case ast.Subscript(value=of, slice=inside):
            parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
            outer = _type(of)
            if outer is Literal:
                return Literal[tuple(map(ast.literal_eval, parts))]
            if outer is Optional:
                return Union[_type(inside), None]  # noqa: UP007
            return Any if outer is Any else outer[tuple(map(_inner, parts))]
        case _:
            return Any


def _inner(part: ast.expr) -> Any:  # noqa: ANN401
    dots = isinstance(part, ast.Constant) and part.value is ...
    return ... if dots else _type(part)


def _checked(declared: _Declared, given: dict[str, Any], where: str) -> dict[str, Any]:
    problems: list[str] = []
    if given and not declared:
        problems.append(f"no cell tagged {_TAG!r} with name = value in it, so it takes no parameters")
    for name, value in given.items() if declared else ():
        if name not in declared:
            near = difflib.get_close_matches(name, declared, n=1)
            hint = f", did you mean {near[0]!r}" if near else f", it knows {', '.join(declared)}"
            problems.append(f"unknown parameter {name!r}{hint}")
        elif not _fits(value, declared[name][1]):
            problems.append(f"parameter {name!r} is {value!r}, not {_type_name(declared[name][1])}")
    if problems:
        raise ConfigError(f"{where}: " + "; ".join(problems) + ". Nothing was run.")
    return {name: default for name, (default, _) in declared.items()} | given


def _fits(value: Any, wanted: Any) -> bool:  # noqa: ANN401
    if wanted is Any:
        return True
    kind, parts = get_origin(wanted) or wanted, get_args(wanted)
    if kind is Union:
        return any(_fits(value, part) for part in parts)
    if kind is Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if kind in (int, float):
        return isinstance(value, (int, float) if kind is float else int) and not isinstance(value, bool)
    if kind is tuple:  # a list too: what comes from YAML or a command line knows no other
        return isinstance(value, list | tuple) and _items_fit(cast("Sequence[Any]", value), parts)
    if not isinstance(value, kind):
        return False
    if kind is list and parts:
        return all(_fits(item, parts[0]) for item in value)
    if kind is dict and parts:
        return all(_fits(key, parts[0]) and _fits(item, parts[1]) for key, item in value.items())
    return True


def _items_fit(items: Sequence[Any], parts: tuple[Any, ...]) -> bool:
    if not parts:
        return True
    if parts[-1] is ...:
        return all(_fits(item, parts[0]) for item in items)
    return len(items) == len(parts) and all(map(_fits, items, parts))


def _type_name(wanted: Any) -> str:  # noqa: ANN401
    """Spell a type as one writes it."""
    kind, parts = get_origin(wanted), get_args(wanted)
    if kind is Union:
        return " | ".join(map(_type_name, parts))
    if wanted is type(None):
        return "None"
    if kind is None and isinstance(wanted, type):
        return wanted.__name__
    return str(wanted).removeprefix("typing.")


def _running_notebook() -> tuple[_Declared, dict[str, Any]]:
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        shell = None
    else:
        shell = get_ipython()
    if shell is None:
        raise ConfigError(
            "check_parameters() without arguments works in a notebook only; pass the notebook's path"
        )
    # papermill puts its cell directly behind the one with the defaults; by hand there is none.
    cells = [str(cell) for cell in cast("list[Any]", shell.user_ns["In"])]
    at = next((i for i, cell in enumerate(cells) if cell.startswith(_INJECTED)), 0)
    if at < 1:
        return {}, {}
    injected = {name: default for name, (default, _) in _assignments(cells[at], "this notebook").items()}
    return _assignments(cells[at - 1], "this notebook"), injected
