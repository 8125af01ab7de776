"""A notebook's parameters: what it declares, and whether what is set fits; nothing is run."""

from __future__ import annotations

import ast
import difflib
import json
import os
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from .errors import ConfigError

_TAG = "parameters"
_INJECTED = "# Parameters"  # how papermill begins the cell that it puts in
_TYPES: dict[str, type] = {t.__name__: t for t in (int, float, str, bool, list, dict, tuple)}


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
        found[target.id] = (default, _type(annotation, default))
    return found


def _type(annotation: ast.expr | None, default: Any) -> Any:  # noqa: ANN401
    """Turn an annotation of plain types into one; without it the default's type counts. None: anything."""
    if annotation is None:
        return None if default is None else type(default)
    if isinstance(annotation, ast.Name):
        return _TYPES.get(annotation.id)
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return type(None)
    if isinstance(annotation, ast.Subscript):  # list[str]: the items are not looked at
        return _type(annotation.value, default)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        sides = _type(annotation.left, default), _type(annotation.right, default)
        return None if None in sides else sides[0] | sides[1]
    return None


def _checked(declared: _Declared, given: dict[str, Any], where: str) -> dict[str, Any]:
    problems: list[str] = []
    if given and not declared:
        problems.append(f"it has no cell tagged {_TAG!r}, so it takes no parameters")
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
    if wanted is None:
        return True
    if isinstance(wanted, types.UnionType):
        return any(value is None if part is type(None) else _fits(value, part) for part in wanted.__args__)
    if wanted in (int, float):
        kinds = (int, float) if wanted is float else (int,)
        return isinstance(value, kinds) and not isinstance(value, bool)
    return isinstance(value, wanted)


def _type_name(wanted: Any) -> str:  # noqa: ANN401
    return wanted.__name__ if isinstance(wanted, type) else str(wanted)


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
