"""Public names are sorted, resolve, and are documented: parameters, units, examples. Modules stay small."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator

import agentlab

from ._source import Module, modules

#: Over 400 lines, looked at twice, and one subject nevertheless.
LONG: dict[str, str] = {}

#: What tells the unit of a number: the end of its name, or a word of its description.
_UNIT_NAMES = re.compile(r"(_s|_ms|_us|_ns|_bytes|_tokens|_usd|_pct|_hz|_per_s)$")
_UNIT_WORDS = re.compile(
    r"\b(seconds?|s|ms|us|ns|bytes|MiB|percent|share|ratio|probability|level|USD|tokens?|inch(es)?|points?|dpi"
    r"|pixels?|0\.\.1|factor|units?|coverage)\b"
)


def test_the_public_names_are_sorted_and_resolve() -> None:
    assert agentlab.__all__ == sorted(agentlab.__all__)
    assert len(set(agentlab.__all__)) == len(agentlab.__all__)
    assert dir(agentlab) == agentlab.__all__
    missing: list[str] = []
    for name in agentlab.__all__:
        try:
            getattr(agentlab, name)
        except (ImportError, AttributeError) as error:
            missing.append(f"agentlab.{name}: {error}")
    assert not missing, "\n".join(missing)


def test_every_export_list_is_true() -> None:
    """Ruff sorts those that are literals."""
    wrong: list[str] = []
    for module in modules():
        loaded = importlib.import_module(f"agentlab.{module.name}".rstrip("."))
        names = getattr(loaded, "__all__", [])
        wrong += [f"{module.where}: __all__ names {n!r}: not there" for n in names if not hasattr(loaded, n)]
    assert not wrong, "\n".join(wrong)


def test_modules_are_small() -> None:
    wrong = [
        f"{module.where}: {module.n_lines} lines; split it by subject"
        for module in modules()
        if module.n_lines > 400 and module.name not in LONG
    ]
    assert not wrong, "\n".join(wrong)
    stale = [name for name in LONG if all(m.name != name or m.n_lines <= 400 for m in modules())]
    assert not stale, f"no longer long: {stale}"


def _public() -> Iterator[tuple[Module, str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    """Give every public class, function and method of a public module."""
    for module in modules():
        if any(part.startswith("_") for part in module.name.split(".")):
            continue
        for node in module.tree.body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if node.name.startswith("_"):
                continue
            yield module, node.name, node
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and not inner.name.startswith(
                    "_"
                ):
                    yield module, f"{node.name}.{inner.name}", inner


def test_everything_public_says_what_it_is_for() -> None:
    wrong = [f"{m.where}: no module docstring" for m in modules() if not ast.get_docstring(m.tree)]
    for module, name, node in _public():
        doc = ast.get_docstring(node) or ""
        first = doc.split("\n\n")[0]
        if not doc:
            wrong.append(f"{module.where}:{node.lineno} {name}: no docstring")
        elif "\n" in first or not first.endswith((".", "?", ":", "``")):
            wrong.append(
                f"{module.where}:{node.lineno} {name}: the first line is no sentence: {first[:60]!r}"
            )
    assert not wrong, "\n".join(wrong)


def _exported() -> Iterator[tuple[str, object]]:
    """Give the names a user types, each with its object, and the public methods of its classes."""
    for name in agentlab.__all__:
        found = getattr(agentlab, name)
        if inspect.ismodule(found) or not callable(found):
            continue
        yield name, found
        for inner, method in vars(found).items() if inspect.isclass(found) else ():
            if not inner.startswith("_") and inspect.isfunction(
                inspect.unwrap(getattr(method, "__func__", method))
            ):
                yield f"{name}.{inner}", getattr(method, "__func__", method)


def _entries(doc: str) -> dict[str, str]:
    """Return parameter -> type line and description, of the numpydoc section."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)", doc, re.M | re.S)
    entries: dict[str, str] = {}
    for block in re.split(r"^(?=\S)", section[1] if section else "", flags=re.M):
        head = block.partition("\n")[0].partition(" : ")[0]
        entries |= {name.strip().lstrip("*"): block for name in head.split(",") if name.strip()}
    return entries


def _parameters(found: object) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(found)  # pyright: ignore[reportArgumentType]
    except ValueError:  # a built-in constructor, as of an exception that adds nothing
        return []
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    if inspect.isclass(found) and issubclass(found, BaseException) and "__init__" not in vars(found):
        return []
    return [p for p in parameters if not p.name.startswith("_")]


def test_every_parameter_of_the_public_surface_is_documented() -> None:
    wrong = [
        f"agentlab.{name}: parameter {parameter.name!r} is not documented"
        for name, found in _exported()
        for parameter in _parameters(found)
        if parameter.name not in _entries(inspect.getdoc(found) or "")
    ]
    assert not wrong, "\n".join(wrong)


def test_numbers_have_units() -> None:
    wrong: list[str] = []
    for name, found in _exported():
        doc = inspect.getdoc(found) or ""
        summary, entries = doc.partition("Parameters\n---")[0], _entries(doc)
        wrong += [
            f"agentlab.{name}: {parameter.name!r} has no unit"
            for parameter in _parameters(found)
            if "float" in str(parameter.annotation)
            and not _UNIT_NAMES.search(parameter.name)
            and not _UNIT_WORDS.search(f"{summary}\n{entries.get(parameter.name, '')}")
        ]
    assert not wrong, "\n".join(wrong)


def test_what_a_user_calls_first_has_an_example() -> None:
    wrong = [
        f"agentlab.{name}: no example in the docstring"
        for name, found in _exported()
        if "." not in name
        and not (inspect.isclass(found) and issubclass(found, BaseException))
        and "Examples\n---" not in (inspect.getdoc(found) or "")
    ]
    assert not wrong, "\n".join(wrong)
